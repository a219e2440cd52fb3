//! What no hook tells: Esc, a refused and a granted permission. The client's own record does.

use longhaul_core::Millis;

use crate::{Agent, Trigger};

/// What the client's own record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The client's process.
    pub pid: u32,
    /// The session it shows now.
    pub session: String,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The pane, `%<digits>`, if it runs in tmux.
    pub pane: Option<String>,
    /// What it does.
    pub status: RecordStatus,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// Since when.
    pub since: Millis,
}

/// What a client does, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStatus {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Busy,
    /// A dialog is open.
    Waiting,
}

/// Returns what the record tells that the row does not know.
///
/// `last_hook` is when a hook last told something of the session: the newest word wins, so an older record is silent.
pub fn reconcile(agent: &Agent, last_hook: Millis, record: &Record) -> Option<Trigger> {
    if record.session != agent.session || record.since < last_hook {
        return None;
    }
    let trigger = match record.status {
        RecordStatus::Idle if agent.stopped => Trigger::ClientIdleAfterStop,
        RecordStatus::Idle => Trigger::ClientIdle,
        RecordStatus::Busy => Trigger::ClientBusy,
        // The user opened the model picker or the config: nobody waits but he himself.
        RecordStatus::Waiting if record.waiting_for.as_deref() == Some("dialog open") => Trigger::ClientInDialog,
        RecordStatus::Waiting => Trigger::ClientWaiting,
    };
    crate::next(agent.status, trigger).map(|_| trigger)
}
