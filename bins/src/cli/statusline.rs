//! `longhaul statusline`: the client's status line, which is the one place where it tells how large the window is.

mod line;
mod report;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use longhaul_core::{Env, SessionId};
use longhaul_runtime::{ActivityLog, Error, ErrorLog, Home, Relay, git_branch, read_stdin};

use self::line::{Around, line};
use self::report::Report;
use super::Exit;
use super::paint::{Colours, render};

/// How long the client's report is waited for.
const INPUT_LIMIT: Duration = Duration::from_secs(1);

/// How long the user's own command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(2);

/// How long another process's write is waited for: the next render comes soon.
const STORE_PATIENCE: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Your own status line: gets the same input, and is shown in place of ours
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Prints a line, whatever happens: a status line that fails would be an empty one.
pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let input = read_stdin(INPUT_LIMIT).unwrap_or_default();
    let relay = (!args.command.is_empty()).then(|| Relay::start(&args.command, input.clone(), COMMAND_LIMIT));
    let report = Report::read(&input);
    let log = ErrorLog::new(env, "statusline");
    // While the user's command runs: recording costs it no time.
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
    // Nobody is left to tell if it cannot be written.
    let _ = io::stdout().lock().write_all(&bytes);
    Ok(Exit::Success)
}

fn record(env: &Env, report: &Report) -> Result<(), Error> {
    let Some(context) = report.context(env.now).filter(|_| !env.disabled) else { return Ok(()) };
    Home::of(env)?.store(STORE_PATIENCE)?.record_context(&context)?;
    Ok(())
}

fn own(env: &Env, report: &Report) -> String {
    let session = report.session.as_deref().and_then(SessionId::new);
    let bookmarks = |home: Home| session.map(|session| ActivityLog::bookmarks_since_prompt(&home, &session));
    let around = Around {
        branch: report.dir.as_deref().and_then(|dir| git_branch(Path::new(dir))),
        bookmarks: Home::of(env).ok().and_then(bookmarks).unwrap_or_default(),
        now: env.now.0 / 1000,
    };
    let colours = if env.no_color { Colours::No } else { Colours::Yes };
    format!("{}\n", render(&line(report, &around, env.columns), colours))
}
