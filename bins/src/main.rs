//! `longhaul`: what a person, a script or a slash command asks of the plugin.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
