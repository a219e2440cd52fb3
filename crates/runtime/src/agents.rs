//! Which subagents of a session run: they can open a dialog at any moment.

use std::collections::BTreeSet;

use longhaul_core::SessionId;
use longhaul_core::event::BackgroundTask;

use crate::files::word;
use crate::{Error, Home, bounded_read, files};

/// What is read of the file's end.
const MAX_TAIL: usize = 64 * 1024;

/// `sessions/<id>.agents`, a line each: `+ id` a subagent began, `- id` it returned, `= id…` just these run.
pub(crate) fn began(home: &Home, session: &SessionId, id: &str) -> Result<(), Error> {
    append(home, session, &format!("+ {}", word(id)))
}

/// Notes that a subagent returned.
pub(crate) fn returned(home: &Home, session: &SessionId, id: &str) -> Result<(), Error> {
    append(home, session, &format!("- {}", word(id)))
}

/// Notes what the client says runs still, at the end of a turn.
pub(crate) fn still_running(home: &Home, session: &SessionId, tasks: &[BackgroundTask]) -> Result<(), Error> {
    // Most sessions never have a subagent: nothing to correct then.
    if tasks.is_empty() && !home.session_file(session, "agents").exists() {
        return Ok(());
    }
    set(home, session, tasks.iter())
}

fn set<'a>(home: &Home, session: &SessionId, tasks: impl Iterator<Item = &'a BackgroundTask>) -> Result<(), Error> {
    let ids = tasks.filter(|task| task.may_ask()).map(|task| format!(" {}", word(&task.id)));
    append(home, session, &format!("={}", ids.collect::<String>()))
}

/// Returns whether any subagent of the session runs, as far as is known.
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
