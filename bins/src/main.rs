//! `longhaul`: the command line, for users, scripts and slash commands.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
