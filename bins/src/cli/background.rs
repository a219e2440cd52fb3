//! The processes that hooks start in the background: commands that no person types. They are in this executable, because each
//! of its own would have another copy of SQLite, and no hook may link what they need.

use std::process::ExitCode;

use longhaul_core::Env;
use longhaul_runtime::{injector, worker};

/// Runs the process that `command` names, with its arguments; `None` if it names none.
pub(crate) fn run(command: &str, arguments: impl Iterator<Item = String>) -> Option<ExitCode> {
    Some(match command {
        // Types a text, or the next step of a chain, as soon as the session is idle.
        "run-injector" => injector::run(arguments),
        // Reports a change of a session to the user, if the state lasts.
        "run-notify" => unless_disabled(|env| {
            let arguments: Vec<String> = arguments.collect();
            match arguments.split_first() {
                Some((first, ways)) if first == "--test" => longhaul_notifications::run_trial(env, ways),
                _ => longhaul_notifications::run_detached(env, &arguments),
            }
        }),
        // Takes a snapshot of the work tree around the current folder.
        "run-snapshot" => unless_disabled(|env| {
            let arguments: Vec<String> = arguments.collect();
            longhaul_snapshot_store::run_detached(env, &arguments, std::env::current_dir().ok())
        }),
        // Exchanges records of shared projects with other machines.
        "run-sync" => unless_disabled(|env| longhaul_sync_engine::run(env, &arguments.collect::<Vec<_>>())),
        // The viewer and its API.
        worker::COMMAND => longhaul_worker::main(arguments),
        _ => return None,
    })
}

fn unless_disabled(run: impl FnOnce(&Env) -> ExitCode) -> ExitCode {
    let env = longhaul_runtime::env();
    if env.disabled { ExitCode::SUCCESS } else { run(&env) }
}
