//! `longhaul-sync exchange`: started by a hook and detached. Exchanges records of shared projects with other machines.
//! `longhaul sync …` becomes this executable for the commands that need the engine.

use std::process::ExitCode;

fn main() -> ExitCode {
    let env = longhaul_runtime::env();
    if env.disabled {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    longhaul_sync_engine::run(&env, &args)
}
