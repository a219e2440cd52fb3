//! `longhaul bookmark NOTE`: sets a bookmark with a note, in the session of this pane or in the only one.

use anyhow::{Context, bail};
use longhaul_activity_log::LogLine;
use longhaul_core::{Env, SessionId};
use longhaul_inject::{Terminal, TypeWhen, printable};
use longhaul_runtime::{ActivityLog, Home, Order, Outcome, Receipt, SessionRecord, inject};

use super::session_target::only_running;
use super::sessions::only_one;
use super::{Exit, out};

/// The maximum length of a note, in characters.
const NOTE_CHARS: usize = 500;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The note
    #[arg(required = true, value_name = "NOTE")]
    note: Vec<String>,
    /// The session whose id begins with ID, instead of the one in this pane, or the only one that runs
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let record = find_session(env, &home, args.session.as_deref())?;
    let note = set(env, &home, &record, &args.note.join(" "))?;
    out::message(&format!("Bookmark set in session {}: {note}", record.session));
    Ok(Exit::Success)
}

/// Types a bookmark into a session and waits until it is confirmed. Returns the note without control characters.
pub(crate) fn set(env: &Env, home: &Home, record: &SessionRecord, note: &str) -> anyhow::Result<String> {
    let (config, _) = longhaul_runtime::config(env)?;
    if !config.bookmarks.enabled {
        bail!("bookmarks are disabled: set bookmarks.enabled to true in the configuration");
    }
    let terminal = record.terminal.clone().with_context(|| {
        let why = record.no_terminal.as_deref().unwrap_or("its terminal is unknown");
        format!("cannot type into session {}: {why}", record.session)
    })?;
    let note: String = printable(note).chars().take(NOTE_CHARS).collect();
    let note = note.trim().to_owned();
    let session = SessionId::new(&record.session).context("the session's record has no id")?;
    let log = ActivityLog::open(home, &session)?;
    log.append(&[LogLine::Injection { at: env.now }])?;
    let order = Order {
        session: session.clone(),
        terminal,
        client_pid: record.client_pid,
        text: format!("{} {note}", config.bookmarks.marker.as_str()).trim_end().to_owned(),
        want: TypeWhen::Either,
        want_by_chord: None,
        agents_may_ask: false,
        agents_run: false,
        patience: config.inject.patience(),
        deadline: None,
        allow_blind: config.inject.allow_blind,
    };
    match inject(env, home, &log, &order, Receipt::Bookmark, log.ticket()?)? {
        Outcome::Confirmed => Ok(note),
        Outcome::Superseded => bail!("another bookmark was set in session {session} at the same time: try again"),
        Outcome::AnotherSession => {
            bail!("no bookmark was set in session {session}: its terminal shows another session now, as after /clear")
        }
        Outcome::GaveUp(why) => bail!("no bookmark was set in session {session}: {why}"),
    }
}

/// Finds the session: the one that is named, or the one that runs this command, or the one in this pane, or the only one that
/// runs.
fn find_session(env: &Env, home: &Home, prefix: Option<&str>) -> anyhow::Result<SessionRecord> {
    let records = SessionRecord::all(home);
    if let Some(prefix) = prefix {
        return only_one(prefix, records, |record| &record.session);
    }
    let own = env.client_session.as_deref().and_then(SessionId::new);
    let here = Terminal::detect(env);
    let is_own = |record: &&SessionRecord| Some(record.session.as_str()) == own.as_ref().map(SessionId::as_str);
    let is_here = |record: &&SessionRecord| record.terminal.is_some() && record.terminal.as_ref() == here.as_ref().ok();
    if let Some(found) = records.iter().find(is_own).or_else(|| records.iter().find(is_here)) {
        return Ok(found.clone());
    }
    let only = only_running(env, home)?.map(|target| target.record);
    only.context(
        "no Claude Code session was found in this pane, and not exactly one runs: run this in the pane of a session, or name \
         one with --session ID (`longhaul status --json` lists them)",
    )
}
