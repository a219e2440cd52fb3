//! Changes that no hook reports: Esc, a denied permission, a granted permission. Claude Code's own record shows them.

use longhaul_core::Millis;

use crate::{Agent, Trigger};

/// The record that a running Claude Code writes about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientRecord {
    /// The process id of Claude Code.
    pub pid: u32,
    /// The session that it shows now.
    pub session: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// The tmux pane (`%<digits>`) in which it runs, if any.
    pub pane: Option<String>,
    /// What it does.
    pub status: ClientStatus,
    /// What it waits for, if it waits.
    pub waiting_for: Option<String>,
    /// The time since which the status holds.
    pub since: Millis,
}

impl ClientRecord {
    /// Returns the record of the client `pid`, which shows `session` and has had `status` since `since`.
    ///
    /// Its working directory and its pane are unknown.
    pub fn new(pid: u32, session: impl Into<String>, status: ClientStatus, since: Millis) -> Self {
        Self { pid, session: session.into(), cwd: None, pane: None, status, waiting_for: None, since }
    }
}

/// The status in a client's own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientStatus {
    /// No turn is running.
    Idle,
    /// A turn is running.
    Busy,
    /// A dialog is open.
    Waiting,
}

/// How long after a hook an older record is ignored. After this time, a record that has not changed is up to date.
const SETTLED_MS: u64 = 3_000;

/// Time without a hook after which the transcript of a session without a record is searched for an interrupt.
const SILENT_MS: u64 = 10_000;

/// Returns whether a session without a record may have been interrupted: it should work, and no hook has reported anything
/// for some time. Its transcript then shows whether it was.
pub fn may_be_interrupted(agent: &Agent, last_hook: Millis, now: Millis) -> bool {
    agent.status.is_running() && now.since(last_hook) >= SILENT_MS
}

/// Returns the change that the record shows and the row does not have yet, or `None` where there is none.
///
/// `last_hook` is the time of the last hook that reported the session's status. A record that is older than a hook of the
/// last seconds is ignored. A failed turn stays shown while the client is idle. If the last hook seems to be in the future,
/// the clock was set back, and the times say nothing: the record is believed.
pub fn reconcile(agent: &Agent, last_hook: Millis, record: &ClientRecord, now: Millis) -> Option<Trigger> {
    let is_set_back = last_hook.since(now) > SETTLED_MS;
    let is_outdated = record.since < last_hook && now.since(last_hook) < SETTLED_MS && !is_set_back;
    let is_shown_failure = agent.failed && record.status == ClientStatus::Idle;
    if record.session != agent.session || is_outdated || is_shown_failure {
        return None;
    }
    let trigger = match record.status {
        ClientStatus::Idle if agent.stopped => Trigger::ClientIdleAfterStop,
        ClientStatus::Idle => Trigger::ClientIdle,
        ClientStatus::Busy => Trigger::ClientBusy,
        // The user opened this dialog, such as the model picker: the session does not wait for an answer.
        ClientStatus::Waiting if record.waiting_for.as_deref() == Some("dialog open") => Trigger::ClientInDialog,
        ClientStatus::Waiting => Trigger::ClientWaiting,
    };
    crate::next(agent.status, trigger).map(|_| trigger)
}

/// A client that is attached to a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The id of the pane that is active in it, such as `%3`.
    pub pane: String,
    /// Whether its terminal has the focus; `None` where that is not reported.
    pub focused: Option<bool>,
    /// The time since the last key, in seconds.
    pub idle_seconds: u64,
}

/// Returns whether the user has seen the end of a completed session's turn, `seconds` or more ago.
///
/// That its pane is on a screen is not enough: nobody may sit in front of it. The terminal must have the focus, or else a
/// key must have been pressed since.
pub fn has_been_seen(agent: &Agent, viewers: &[Viewer], now: u64, seconds: u64) -> bool {
    let Some(pane) = &agent.pane else { return false };
    let age = now.saturating_sub(agent.updated_at);
    let looks = |viewer: &Viewer| viewer.focused.unwrap_or(viewer.idle_seconds < age);
    age >= seconds && viewers.iter().any(|viewer| viewer.pane == pane.id && looks(viewer))
}
