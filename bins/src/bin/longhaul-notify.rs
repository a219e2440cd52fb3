//! `longhaul-notify SESSION STATE TIME`: started by a hook and detached. Reports a change of a session to the user, if the
//! state lasts. `longhaul-notify --test [WAY]…` sends a test.

use std::process::ExitCode;

fn main() -> ExitCode {
    let env = longhaul_runtime::env();
    if env.disabled {
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((first, ways)) if first == "--test" => longhaul_notifications::run_trial(&env, ways),
        _ => longhaul_notifications::run_detached(&env, &args),
    }
}
