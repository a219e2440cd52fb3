//! `longhaul notify`: lists the notifications that were sent or not, with the reason, and sends a test.

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use longhaul_core::config::NotifyWay;
use longhaul_core::{Env, Millis, short_session};
use longhaul_inject::{TerminalCommand, printable};
use longhaul_runtime::{Home, now, waiting_times};
use longhaul_store::{Notification, NotifyResult};
use serde_json::json;

use super::paint::{self, local_time, utc_time};
use super::{Exit, out};

/// How long after the change of a session its notification has a result.
const DONE_MS: u64 = 60_000;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Send a test notification; exit 1 if it fails
    Test {
        /// The way in which it is sent; by default every way that the configuration names
        #[arg(value_parser = PossibleValuesParser::new(NotifyWay::ALL.iter().map(|way| way.as_str())))]
        way: Option<String>,
    },
    /// List the notifications that were sent, suppressed (and why) or failed
    Log {
        /// List at most this many notifications: the newest ones, with the newest at the end
        #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
        limit: u64,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(env: &Env, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Test { way } => test(env, way.as_deref()),
        Command::Log { limit, json } => log(env, *limit, *json).map(|()| Exit::Success),
    }
}

fn test(env: &Env, way: Option<&str>) -> anyhow::Result<Exit> {
    let (config, _) = longhaul_runtime::config(env)?;
    if way.is_none() && config.notify.ways().next().is_none() {
        bail!("no way is enabled: set notify.blocked in the configuration, or name a way, such as `terminal`");
    }
    // Another process, because it is killed if it takes too long.
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let exe = exe.to_string_lossy();
    let words = [exe.as_ref(), "run-notify", "--test"].into_iter().chain(way);
    let test = TerminalCommand { argv: words.map(str::to_owned).collect(), stdin: None };
    let is_sent = longhaul_runtime::run_shown(&test, waiting_times::ALL_WAYS_IN_TEST)?;
    Ok(if is_sent { Exit::Success } else { Exit::Problem })
}

fn log(env: &Env, limit: u64, as_json: bool) -> anyhow::Result<()> {
    let rows = match Home::of(env)?.existing_store()? {
        Some(store) => store.notifications(usize::try_from(limit).unwrap_or(usize::MAX))?,
        None => Vec::new(),
    };
    let now = now(env);
    let none = "No notifications yet. `longhaul notify test` sends one.";
    out::list(
        as_json,
        &rows,
        |row| to_json(row, now),
        none,
        || {
            let header = ["TIME", "SESSION", "PROJECT", "STATE", "WAY", "RESULT", "TEXT OR REASON"];
            paint::table(header, rows.iter().map(|row| columns(row, now)), &[])
        },
    )
}

fn columns(row: &Notification, now: Millis) -> [String; 7] {
    [
        local_time(row.event.at),
        short_session(&row.event.session).to_owned(),
        printable(row.project.as_deref().unwrap_or("-")),
        row.event.state.as_str().to_owned(),
        row.way.as_str().to_owned(),
        result(row, now).to_owned(),
        printable(row.why.as_deref().or(row.text.as_deref()).unwrap_or_default()),
    ]
}

/// Returns the result. A process that was killed leaves a row without one.
fn result(row: &Notification, now: Millis) -> &'static str {
    match row.result {
        NotifyResult::Waiting | NotifyResult::Sending if now.since(row.event.at) > DONE_MS => "interrupted",
        result => result.as_str(),
    }
}

fn to_json(row: &Notification, now: Millis) -> serde_json::Value {
    json!({
        "session": row.event.session,
        "project": row.project,
        "state": row.event.state.as_str(),
        "way": row.way.as_str(),
        "result": result(row, now),
        "why": row.why,
        "text": row.text,
        "at": utc_time(row.event.at),
        "at_ms": row.event.at.0,
        "ended_ms": row.ended.map(|at| at.0),
    })
}
