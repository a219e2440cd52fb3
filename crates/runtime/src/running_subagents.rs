//! The running subagents of a session, each of which can open a dialog at any time.

use std::collections::BTreeSet;

use longhaul_core::SessionId;
use longhaul_core::event::BackgroundTask;

use crate::files::word;
use crate::{Error, Home, bounded_read, files};

/// Number of bytes read from the end of the file.
const MAX_TAIL: usize = 64 * 1024;

/// Records that a subagent started.
///
/// The file is `sessions/<id>.agents`. Its lines are `+ id` (started), `- id` (returned) and `= id…` (exactly these are
/// running).
pub(crate) fn began(home: &Home, session: &SessionId, id: &str) -> Result<(), Error> {
    append(home, session, &format!("+ {}", word(id)))
}

/// Records that a subagent returned.
pub(crate) fn returned(home: &Home, session: &SessionId, id: &str) -> Result<(), Error> {
    append(home, session, &format!("- {}", word(id)))
}

/// Records which subagents are still running at the end of a turn, as Claude Code reports them.
pub(crate) fn still_running(home: &Home, session: &SessionId, tasks: &[BackgroundTask]) -> Result<(), Error> {
    // Most sessions never start a subagent, so that there is nothing to correct.
    if tasks.is_empty() && !home.session_file(session, "agents").exists() {
        return Ok(());
    }
    set(home, session, tasks.iter())
}

fn set<'a>(home: &Home, session: &SessionId, tasks: impl Iterator<Item = &'a BackgroundTask>) -> Result<(), Error> {
    let ids = tasks.filter(|task| task.may_ask()).map(|task| format!(" {}", word(&task.id)));
    append(home, session, &format!("={}", ids.collect::<String>()))
}

/// Returns whether a subagent of the session is running, as far as is known.
pub(crate) fn any_running(home: &Home, session: &SessionId) -> bool {
    let Ok(file) = bounded_read::open(&home.session_file(session, "agents")) else { return false };
    let Ok((tail, whole)) = files::tail(&file, MAX_TAIL) else { return true };
    let text = String::from_utf8_lossy(&tail);
    let lines = text.lines().skip(usize::from(!whole));
    let mut running = BTreeSet::new();
    for line in lines {
        let mut words = line.split(' ');
        match words.next() {
            Some("+") => running.extend(words),
            Some("-") => words.for_each(|id| _ = running.remove(id)),
            Some("=") => running = words.collect(),
            _ => {}
        }
    }
    !running.is_empty()
}

fn append(home: &Home, session: &SessionId, line: &str) -> Result<(), Error> {
    files::append_line(&home.session_file(session, "agents"), line)
}
