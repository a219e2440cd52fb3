//! What no hook tells: Esc, a refused and a granted permission. The client's own record does.

use longhaul_core::Millis;

use crate::{Agent, Trigger};

/// What the client's own record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRecord {
    /// The client's process.
    pub pid: u32,
    /// The session it shows now.
    pub session: String,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The pane, `%<digits>`, if it runs in tmux.
    pub pane: Option<String>,
    /// What it does.
    pub status: ClientStatus,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// Since when.
    pub since: Millis,
}

/// What a client does, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientStatus {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Busy,
    /// A dialog is open.
    Waiting,
}

/// How long after a hook an older record is silent. Later, the client has had time to say otherwise and still does not.
const SETTLED_MS: u64 = 3_000;

/// Returns what the record tells that the row does not know.
///
/// `last_hook` is when a hook last told something of the session: the newest word wins, so a record that is older than a
/// hook of the last seconds is silent. A turn that failed stays shown as such although the client is idle.
pub fn reconcile(agent: &Agent, last_hook: Millis, record: &ClientRecord, now: Millis) -> Option<Trigger> {
    let is_outdated = record.since < last_hook && now.since(last_hook) < SETTLED_MS;
    let is_shown_failure = agent.failed && record.status == ClientStatus::Idle;
    if record.session != agent.session || is_outdated || is_shown_failure {
        return None;
    }
    let trigger = match record.status {
        ClientStatus::Idle if agent.stopped => Trigger::ClientIdleAfterStop,
        ClientStatus::Idle => Trigger::ClientIdle,
        ClientStatus::Busy => Trigger::ClientBusy,
        // The user opened the model picker or the config: nobody waits but he himself.
        ClientStatus::Waiting if record.waiting_for.as_deref() == Some("dialog open") => Trigger::ClientInDialog,
        ClientStatus::Waiting => Trigger::ClientWaiting,
    };
    crate::next(agent.status, trigger).map(|_| trigger)
}
