//! `longhaul notify`: lists the notifications that were sent or not, with the reason, and sends a test.

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use longhaul_core::config::{Choice, NotifyWay};
use longhaul_core::{Env, Millis, short_session};
use longhaul_inject::{TerminalCommand, printable};
use longhaul_runtime::{Home, now, waiting_times};
use longhaul_store::{Notification, NotifyResult};
use serde_json::json;

use super::{Exit, out, paint};

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
    Log(LogArgs),
}

#[derive(clap::Args)]
pub(crate) struct LogArgs {
    /// List at most this many notifications: the newest ones, with the newest at the end
    #[arg(long, short = 'n', default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Test { way } => test(env, way.as_deref()),
        Command::Log(args) => log(env, args),
    }
}

fn test(env: &Env, way: Option<&str>) -> anyhow::Result<Exit> {
    let (config, _) = longhaul_runtime::config(env)?;
    if way.is_none() && config.notify.ways().next().is_none() {
        bail!("no way is enabled: set notify.blocked in the configuration, or name a way, such as `terminal`");
    }
    // Another process, because it is killed if it takes too long.
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    let argv = [exe.to_string_lossy().into_owned(), "run-notify".to_owned(), "--test".to_owned()]
        .into_iter()
        .chain(way.map(str::to_owned))
        .collect();
    let status = longhaul_runtime::run_shown(&TerminalCommand { argv, stdin: None }, waiting_times::ALL_WAYS_IN_TEST)?;
    Ok(if status { Exit::Success } else { Exit::Problem })
}

fn log(env: &Env, args: &LogArgs) -> anyhow::Result<Exit> {
    let rows = match Home::of(env)?.existing_store()? {
        Some(store) => store.notifications(usize::try_from(args.limit).unwrap_or(usize::MAX))?,
        None => Vec::new(),
    };
    let now = now(env);
    if args.json {
        out::json(&rows.iter().map(|row| to_json(row, now)).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        out::message("No notifications yet. `longhaul notify test` sends one.");
    } else {
        let header = ["TIME", "SESSION", "PROJECT", "STATE", "WAY", "RESULT", "TEXT OR REASON"].map(str::to_owned);
        let lines: Vec<[String; 7]> = std::iter::once(header).chain(rows.iter().map(|row| columns(row, now))).collect();
        for line in paint::columns(&lines, &[]) {
            out::line(&line)?;
        }
    }
    Ok(Exit::Success)
}

fn columns(row: &Notification, now: Millis) -> [String; 7] {
    let time = timestamp(row.event.at).to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    [
        time,
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
        "at": timestamp(row.event.at).to_string(),
        "at_ms": row.event.at.0,
        "ended_ms": row.ended.map(|at| at.0),
    })
}

fn timestamp(at: Millis) -> Timestamp {
    i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or_default()
}
