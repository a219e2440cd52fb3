//! Sessions: whether what they said of themselves is still so.

use std::path::PathBuf;

use longhaul_core::SessionId;
use longhaul_runtime::{Home, SessionRecord, bounded_read, transcript_place};

use super::facts::written;
use super::judge::ago;
use super::{Finding, Level};
use crate::paths::Places;

/// What is known of one session.
#[derive(Debug, Clone)]
pub struct SessionFacts {
    /// Its record.
    pub record: SessionRecord,
    /// When a hook last left a trace.
    pub last_hook: Option<u64>,
    /// How long its transcript is; `None` where it is not there.
    pub transcript_bytes: Option<u64>,
}

impl SessionFacts {
    /// Returns what is known of the sessions whose ids begin with `prefix`, the newest first.
    pub fn look(home: &Home, prefix: &str) -> Vec<Self> {
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

/// Returns the sessions whose transcript is not where they said, though something was said in them.
pub(super) fn stale(places: &Places) -> Vec<(String, PathBuf)> {
    let is_stale = |record: &SessionRecord| {
        let log = log_of(&places.data, record)
            .and_then(|log| bounded_read::bytes(&log, bounded_read::LARGE).ok())
            .unwrap_or_default();
        // Before the first prompt there is no transcript yet. Of Codex's prompts no line tells, of its calls one does.
        let was_used = log.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"P ") || line.starts_with(b"T "));
        was_used && record.transcript.as_ref().is_some_and(|path| transcript_place(path).is_none())
    };
    let records = SessionRecord::all(&places.data).into_iter().filter(is_stale);
    records.filter_map(|record| Some((record.session, record.transcript?))).collect()
}

/// Judges one session.
pub fn about(facts: &SessionFacts, now: u64) -> Vec<Finding> {
    let record = &facts.record;
    let heard = facts.last_hook.map_or("no hook has fired".to_owned(), |at| format!("last hook {}", ago(now, at)));
    let mut found =
        vec![Finding::ok("session", format!("{}: started {}, {heard}", record.session, ago(now, record.started_at)))];
    found.push(match (&record.transcript, facts.transcript_bytes) {
        (None, _) => Finding::note("transcript", "the client did not say where its transcript is"),
        (Some(path), Some(bytes)) => Finding::ok("transcript", format!("{}, {bytes} bytes", path.display())),
        (Some(path), None) => missing(&record.session, path.display().to_string(), facts.last_hook.is_some()),
    });
    match (&record.terminal, &record.no_terminal) {
        (Some(_), _) => found.push(Finding::ok("terminal", "can be typed into")),
        (None, why) => {
            let why = why.as_deref().unwrap_or("nobody knows why");
            found.push(Finding::note("terminal", format!("cannot be typed into: {why}")));
        }
    }
    found
}

/// Judges a transcript that is not there.
pub(super) fn missing(session: &str, path: String, was_used: bool) -> Finding {
    let what = format!("session {session} said its transcript is {path}, where there is none");
    let mend = "nothing more of it can be taken in: put the file back, or leave it; the record goes within a week";
    let level = if was_used { Level::Warning } else { Level::Note };
    Finding { check: "transcript", level, what, mend: Some(mend.to_owned()) }
}
