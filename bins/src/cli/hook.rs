//! `longhaul hook EVENT`: runs a hook, for hooks that are configured by hand and for other agents.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::Context;
use longhaul_core::catalog::{HOOK_EXECUTABLE, REGISTRATIONS};
use longhaul_core::{Env, reply};
use longhaul_runtime::{ErrorLog, read_stdin, waiting_times};

use super::{Exit, install, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The event, as the agent writes it (PostToolUse) or with hyphens (post-tool-use)
    event: String,
    /// The payload comes from Codex: the same as `--agent codex`
    #[arg(long, conflicts_with = "agent")]
    codex: bool,
    /// The payload comes from this agent
    #[arg(long, value_name = "NAME", value_parser = install::parse_agent)]
    agent: Option<&'static longhaul_agents::Agent>,
}

/// Returns whether an agent runs a hook, so that every answer must be one that it understands: some read a failure as an
/// order to stop. A person has a terminal as standard input.
pub(crate) fn is_called_by_agent(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|command| command == "hook") && !std::io::stdin().is_terminal()
}

/// Runs a hook for an agent, which is answered in any case.
pub(crate) fn run_for_agent(env: &Env, args: &Args) -> ExitCode {
    run(args).map_or_else(|error| refuse(env, &format!("{error:#}")), |_| ExitCode::SUCCESS)
}

/// Answers that nothing is to be done, and logs the first line of the problem.
pub(crate) fn refuse(env: &Env, problem: &str) -> ExitCode {
    ErrorLog::new(env, "hook").write(problem.lines().next().unwrap_or_default());
    let _ = read_stdin(waiting_times::UNUSED_PAYLOAD);
    // If the agent no longer reads, it needs no answer.
    let _ = out::line(reply::PLAIN);
    ExitCode::SUCCESS
}

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
    let agent = args.agent.or_else(|| install::codex_agent().filter(|_| args.codex));
    let known: Vec<(&str, (&str, Vec<&str>))> = match agent {
        Some(agent) => {
            let events = agent.events.iter();
            events.map(|rule| (rule.theirs, (HOOK_EXECUTABLE, vec![agent.name, rule.argument]))).collect()
        }
        None => {
            let hooks = REGISTRATIONS.iter();
            hooks.map(|hook| (hook.event.as_str(), (hook.executable, hook.arguments.to_vec()))).collect()
        }
    };
    let names: Vec<&str> = known.iter().map(|(event, _)| *event).collect();
    let found = known.into_iter().find(|(event, _)| plain(event) == plain(&args.event));
    let unknown = || format!("no such event: {:?}; use one of {}", args.event, names.join(", "));
    Ok(found.with_context(unknown)?.1)
}

/// Returns a name in lower case and without separators.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}
