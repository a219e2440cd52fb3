//! `longhaul hook EVENT`: runs a hook, for hooks that are configured by hand.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use longhaul_core::catalog::{CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration, REGISTRATIONS};
use longhaul_core::event::EventName;

use super::Exit;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, written as Claude Code does (PostToolUse) or with hyphens (post-tool-use)
    event: String,
    /// The payload comes from Codex
    #[arg(long)]
    codex: bool,
}

/// Replaces this process by the executable of the event: payload, answer and exit status pass through.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (executable, argument) = find(args)?;
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let program = exe.with_file_name(executable);
    #[expect(clippy::disallowed_methods, reason = "this process is replaced: no child process is started")]
    let error = Command::new(&program).args(argument).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Returns the event's executable and its argument.
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
        bail!("no such event: {:?}; use one of {}", args.event, known.join(", "));
    };
    Ok((executable, *argument))
}

/// Returns a name in lower case and without separators.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
