//! `longhaul-snapshot SESSION KIND TIME PROMPT-ID pinned|-`: started by a hook and detached. Takes a snapshot of the work
//! tree around the current folder.

use std::process::ExitCode;

fn main() -> ExitCode {
    let env = longhaul_runtime::env();
    if env.disabled {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    longhaul_snapshot_store::run_detached(&env, &args, std::env::current_dir().ok())
}
