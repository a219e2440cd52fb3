//! `longhaul statusline`: Claude Code's status line. Only there it reports the size of the context window.

mod line;
mod report;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use longhaul_core::{Env, SessionId};
use longhaul_runtime::{
    ActivityLog, Error, ErrorLog, Home, Relay, git_branch, read_stdin, recalled_passages, waiting_times,
};

use self::line::{LineContext, line};
use self::report::Report;
use super::Exit;
use super::paint::{Colours, render};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Your own status line command; it gets the same input, and its output is shown
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Prints a line, whatever happens: otherwise the status line would be empty.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let input = read_stdin(waiting_times::COMMAND_INPUT).unwrap_or_default();
    let relay =
        (!args.command.is_empty()).then(|| Relay::start(&args.command, input.clone(), waiting_times::USER_STATUS_LINE));
    let report = Report::read(&input);
    let log = ErrorLog::new(env, "statusline");
    // Recorded while the user's command runs, so that it takes no extra time.
    if let Err(error) = record(env, &report) {
        log.write(&error.chain());
    }
    let printed = match relay {
        Some(Ok(relay)) => relay.finish(),
        Some(Err(error)) => {
            log.write(&error.chain());
            None
        }
        None => None,
    };
    let bytes = printed.unwrap_or_else(|| own(env, &report).into_bytes());
    // If the output cannot be written, there is nothing left to do.
    let _ = io::stdout().lock().write_all(&bytes);
    Ok(Exit::Success)
}

fn record(env: &Env, report: &Report) -> Result<(), Error> {
    let Some(context) = report.context(env.now).filter(|_| !env.disabled) else { return Ok(()) };
    Home::of(env)?.store(waiting_times::DATABASE_FOR_STATUS_LINE)?.record_context(&context)?;
    Ok(())
}

fn own(env: &Env, report: &Report) -> String {
    let session = report.session.as_deref().and_then(SessionId::new);
    let found = Home::of(env).ok().zip(session);
    let context = LineContext {
        branch: report.dir.as_deref().and_then(|dir| git_branch(Path::new(dir))),
        bookmarks: found.as_ref().map_or(0, |(home, session)| ActivityLog::bookmarks_since_prompt(home, session)),
        shown: found.as_ref().and_then(|(home, session)| shown(home, session)).unwrap_or_default(),
        now: env.now.0 / 1000,
        shows_cost: longhaul_runtime::config(env).is_ok_and(|(config, _)| config.cost.status_line),
    };
    let colours = if env.no_color { Colours::No } else { Colours::Yes };
    format!("{}\n", render(&line(report, &context, env.columns), colours))
}

/// Returns how many turns and records the session began with, and how many passages were added to its prompts.
fn shown(home: &Home, session: &SessionId) -> Option<[u64; 3]> {
    // Claude Code draws the line again and again: it never waits for a database that another process holds.
    let store = home.database().exists().then(|| home.store(waiting_times::DATABASE_FOR_STATUS_LINE).ok())??;
    let shown = store.shown_to(session.as_str()).ok()?;
    Some([shown.turns, shown.records, recalled_passages(home, session)])
}
