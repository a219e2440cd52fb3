//! `longhaul hook EVENT`: for people who wire hooks by hand.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use longhaul_core::catalog::{CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration, REGISTRATIONS};
use longhaul_core::event::EventName;

use super::Exit;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, as Stop, stop or post-tool-use
    event: String,
    /// The payload is one of Codex
    #[arg(long)]
    codex: bool,
}

/// Becomes the event's own executable: payload, answer and exit status pass through.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (executable, argument) = find(args)?;
    let exe = std::env::current_exe().context("cannot tell where this executable lies")?;
    let program = exe.with_file_name(executable);
    #[expect(clippy::disallowed_methods, reason = "this process becomes the other: nothing is started beside it")]
    let error = Command::new(&program).args(argument).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Returns the event's executable, and what it is told.
fn find(args: &Args) -> anyhow::Result<(&'static str, Option<&'static str>)> {
    let registered: Vec<(EventName, &str, Option<&str>)> = if args.codex {
        let codex = |hook: &CodexRegistration| (hook.event, CODEX_EXECUTABLE, Some(hook.argument));
        CODEX_REGISTRATIONS.iter().map(codex).collect()
    } else {
        REGISTRATIONS.iter().map(|hook| (hook.event, hook.executable, None)).collect()
    };
    let wanted = plain(&args.event);
    let found = registered.iter().find(|(event, ..)| plain(event.as_str()) == wanted);
    let Some((_, executable, argument)) = found else {
        let known: Vec<&str> = registered.iter().map(|(event, ..)| event.as_str()).collect();
        bail!("no such event: {:?}; known are {}", args.event, known.join(", "));
    };
    Ok((executable, *argument))
}

/// Returns a name without what its spellings differ in.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
