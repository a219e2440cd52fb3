//! `longhaul hook EVENT`: for people who wire hooks by hand.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use longhaul_core::catalog::{REGISTRATIONS, Registration};

use super::Exit;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, as Stop, stop or post-tool-use
    event: String,
}

/// Becomes the event's own executable: payload, answer and exit status pass through.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let wanted = plain(&args.event);
    let Some(registration) = REGISTRATIONS.iter().find(|registration| plain(name(registration)) == wanted) else {
        let known: Vec<&str> = REGISTRATIONS.iter().map(name).collect();
        bail!("no such event: {:?}; known are {}", args.event, known.join(", "));
    };
    let exe = std::env::current_exe().context("cannot tell where this executable lies")?;
    let program = exe.with_file_name(registration.executable);
    #[expect(clippy::disallowed_methods, reason = "this process becomes the other: nothing is started beside it")]
    let error = Command::new(&program).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

fn name(registration: &Registration) -> &'static str {
    registration.event.as_str()
}

/// Returns a name without what its spellings differ in.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
