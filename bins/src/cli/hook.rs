//! `longhaul hook EVENT`: runs a hook, for hooks that are configured by hand and for other agents.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, bail};
use longhaul_core::catalog::{
    AGENT_EXECUTABLE, CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration, REGISTRATIONS,
};

use super::{Exit, agent_name};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, written as the agent does (PostToolUse) or with hyphens (post-tool-use)
    event: String,
    /// The payload comes from Codex
    #[arg(long, conflicts_with = "agent")]
    codex: bool,
    /// The payload comes from this agent
    #[arg(long, value_name = "NAME", value_parser = agent_name::parse)]
    agent: Option<&'static longhaul_agents::Agent>,
}

/// An event's name, its executable, and the arguments of that.
type Row = (&'static str, &'static str, Vec<&'static str>);

/// Replaces this process by the executable of the event: payload, answer and exit status pass through.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (executable, arguments) = find(args)?;
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let program = exe.with_file_name(executable);
    #[expect(clippy::disallowed_methods, reason = "this process is replaced: no child process is started")]
    let error = Command::new(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", program.display()))
}

/// Returns the event's executable and its arguments.
fn find(args: &Args) -> anyhow::Result<(&'static str, Vec<&'static str>)> {
    let registered: Vec<Row> = match args.agent {
        Some(agent) => {
            let row = |theirs| (theirs, AGENT_EXECUTABLE, vec![agent.name, theirs]);
            agent.events.iter().map(|rule| row(rule.theirs)).collect()
        }
        None if args.codex => {
            let row = |hook: &'static CodexRegistration| (hook.event.as_str(), CODEX_EXECUTABLE, vec![hook.argument]);
            CODEX_REGISTRATIONS.iter().map(row).collect()
        }
        None => REGISTRATIONS.iter().map(|hook| (hook.event.as_str(), hook.executable, Vec::new())).collect(),
    };
    let wanted = plain(&args.event);
    let known: Vec<&str> = registered.iter().map(|(event, ..)| *event).collect();
    let Some((_, executable, arguments)) = registered.into_iter().find(|(event, ..)| plain(event) == wanted) else {
        bail!("no such event: {:?}; use one of {}", args.event, known.join(", "));
    };
    Ok((executable, arguments))
}

/// Returns a name in lower case and without separators.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
