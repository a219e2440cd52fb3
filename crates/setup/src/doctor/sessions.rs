//! Checks sessions: whether their transcripts still exist, and whether text can be typed into their terminals.

use std::path::PathBuf;

use longhaul_core::{Env, SessionId};
use longhaul_runtime::{Home, SessionRecord, bounded_read, is_headless, running_clients, transcript_place};

use super::facts::{Facts, written};
use super::judge::{NAMED, ago};
use super::{Finding, Level};
use crate::paths::InstallPaths;

/// The facts about one session.
#[derive(Debug, Clone)]
pub struct SessionFacts {
    /// Its record.
    pub record: SessionRecord,
    /// When a hook of the session last ran.
    pub last_hook: Option<u64>,
    /// The size of its transcript; `None` if it does not exist.
    pub transcript_bytes: Option<u64>,
}

impl SessionFacts {
    /// Collects the facts about the sessions whose ids begin with `prefix`, the newest first.
    pub fn collect(home: &Home, prefix: &str) -> Vec<Self> {
        let records = SessionRecord::all(home).into_iter().filter(|record| record.session.starts_with(prefix));
        let facts = records.map(|record| Self {
            last_hook: log_of(home, &record).and_then(|log| written(&log)),
            transcript_bytes: record
                .transcript
                .as_ref()
                .and_then(|path| Some(transcript_place(path)?.metadata().ok()?.len())),
            record,
        });
        facts.collect()
    }
}

/// Returns a session's activity log.
fn log_of(home: &Home, record: &SessionRecord) -> Option<PathBuf> {
    Some(home.session_file(&SessionId::new(&record.session)?, "log"))
}

/// Returns the sessions that were used and whose transcript does not exist, with its path.
pub(super) fn stale(paths: &InstallPaths) -> Vec<(String, PathBuf)> {
    let is_stale = |record: &SessionRecord| {
        let log = log_of(&paths.data, record)
            .and_then(|log| bounded_read::bytes(&log, bounded_read::LARGE).ok())
            .unwrap_or_default();
        // Before the first prompt there is no transcript. Codex's prompts have no line in the log, but its tool calls do.
        let was_used = log.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"P ") || line.starts_with(b"T "));
        was_used && record.transcript.as_ref().is_some_and(|path| transcript_place(path).is_none())
    };
    let records = SessionRecord::all(&paths.data).into_iter().filter(is_stale);
    records.filter_map(|record| Some((record.session, record.transcript?))).collect()
}

/// Returns the running sessions of people into whose terminal nothing can be typed, with the reason.
pub(super) fn untypable(env: &Env, paths: &InstallPaths) -> Vec<(String, String)> {
    let clients = running_clients(env).into_iter().filter(|client| !is_headless(env, client.pid));
    let records = clients.filter_map(|client| SessionRecord::load(&paths.data, &SessionId::new(&client.session)?));
    records.filter_map(|record| Some((record.session, record.no_terminal?))).collect()
}

/// Reports sessions that get no bookmarks.
pub(super) fn terminals(facts: &Facts) -> Vec<Finding> {
    let note = |(session, why): &(String, String)| {
        let what = format!("session {session} gets no bookmarks: {why}; snapshots of the files are taken all the same");
        Finding::note("terminal", what)
    };
    facts.untypable.iter().take(NAMED).map(note).collect()
}

/// Checks one session.
pub fn about(facts: &SessionFacts, now: u64) -> Vec<Finding> {
    let record = &facts.record;
    let heard = facts.last_hook.map_or("no hook has run".to_owned(), |at| format!("last hook {}", ago(now, at)));
    let mut found =
        vec![Finding::ok("session", format!("{}: started {}, {heard}", record.session, ago(now, record.started_at)))];
    found.push(match (&record.transcript, facts.transcript_bytes) {
        (None, _) => Finding::note("transcript", "Claude Code did not report the path of the transcript"),
        (Some(path), Some(bytes)) => Finding::ok("transcript", format!("{}, {bytes} bytes", path.display())),
        (Some(path), None) => missing(&record.session, path.display().to_string(), facts.last_hook.is_some()),
    });
    match (&record.terminal, &record.no_terminal) {
        (Some(_), _) => found.push(Finding::ok("terminal", "text can be typed into it")),
        (None, why) => {
            let why = why.as_deref().unwrap_or("the reason is not recorded");
            found.push(Finding::note("terminal", format!("text cannot be typed into it: {why}")));
        }
    }
    found
}

/// Reports a transcript that does not exist.
pub(super) fn missing(session: &str, path: String, was_used: bool) -> Finding {
    let what = format!("the transcript of session {session} does not exist: {path}");
    let fix =
        "nothing more can be read from it: restore the file, or ignore this; it is no longer reported after a week";
    let level = if was_used { Level::Warning } else { Level::Note };
    Finding { check: "transcript", level, what, fix: Some(fix.to_owned()) }
}
