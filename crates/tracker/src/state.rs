//! The state machine: what an event makes of a session.

use longhaul_core::Status;

/// What can happen to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// A prompt was submitted.
    Prompt,
    /// The main loop used a tool.
    ToolUsed,
    /// A subagent used a tool: a dialog of its own, if there was one, has been answered.
    SubagentToolUsed,
    /// A dialog asks for permission.
    PermissionRequested,
    /// The client says, some seconds later, that it waits for an answer.
    Notified,
    /// The turn is over.
    Stopped,
    /// The turn is over, and subagents still run.
    StoppedWhileOthersRun,
    /// The turn ended in an error.
    Failed,
    /// A subagent has returned.
    SubagentReturned,
    /// A teammate has nothing to do.
    TeammateIdle,
    /// Somebody looked at the pane.
    Seen,
    /// The client's own record says that no turn runs.
    ClientIdle,
    /// The same, and a Stop had come for the turn.
    ClientIdleAfterStop,
    /// The client's own record says that a turn runs.
    ClientBusy,
    /// The client's own record says that a question of the turn is open.
    ClientWaiting,
    /// The client's own record says that a dialog is open which the user opened.
    ClientInDialog,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 16] = [
        Self::Prompt,
        Self::ToolUsed,
        Self::SubagentToolUsed,
        Self::PermissionRequested,
        Self::Notified,
        Self::Stopped,
        Self::StoppedWhileOthersRun,
        Self::Failed,
        Self::SubagentReturned,
        Self::TeammateIdle,
        Self::Seen,
        Self::ClientIdle,
        Self::ClientIdleAfterStop,
        Self::ClientBusy,
        Self::ClientWaiting,
        Self::ClientInDialog,
    ];
}

/// Returns what the end of a turn means, by the reason that the client's module is told; `None` where a hook tells of it.
pub fn turn_ended(reason: &str) -> Option<Trigger> {
    // Esc, of which no hook tells.
    (reason == "aborted").then_some(Trigger::ClientIdle)
}

/// Returns what `trigger` makes of a session in `status`, or `None` where it changes nothing.
///
/// `None` on a tool call while working is the hot path: the caller must then touch neither database nor tmux.
pub fn next(status: Status, trigger: Trigger) -> Option<Status> {
    use Status::{Blocked, Completed, Idle, Working};
    let to = match (trigger, status) {
        (Trigger::Prompt | Trigger::ToolUsed | Trigger::ClientBusy, _) => Working,
        (Trigger::SubagentToolUsed | Trigger::SubagentReturned, Blocked) => Working,
        (Trigger::PermissionRequested | Trigger::Notified | Trigger::Failed, Working) => Blocked,
        (Trigger::ClientWaiting, _) => Blocked,
        (Trigger::ClientInDialog, Working) => Blocked,
        (Trigger::Stopped, Working | Blocked) => Completed,
        (Trigger::ClientIdleAfterStop, Working | Blocked) => Completed,
        (Trigger::ClientIdle, Working | Blocked) => Idle,
        (Trigger::TeammateIdle, _) => Idle,
        (Trigger::Seen, Completed) => Idle,
        (Trigger::SubagentToolUsed | Trigger::SubagentReturned, Working | Idle | Completed)
        | (Trigger::PermissionRequested | Trigger::Notified | Trigger::Failed, Blocked | Idle | Completed)
        | (Trigger::ClientInDialog, Blocked | Idle | Completed)
        | (Trigger::Stopped | Trigger::ClientIdleAfterStop | Trigger::ClientIdle, Idle | Completed)
        | (Trigger::Seen, Working | Blocked | Idle)
        | (Trigger::StoppedWhileOthersRun, Working | Blocked | Idle | Completed) => return None,
    };
    (to != status).then_some(to)
}

/// What a trigger does, as a guarded statement needs it: from which statuses, to which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The statuses that change.
    pub from: Vec<Status>,
    /// What they become.
    pub to: Status,
}

/// Returns what `trigger` does, or `None` where it never changes anything.
///
/// The database's guard is made of this, so that it cannot say anything else than [`next`].
pub fn transition(trigger: Trigger) -> Option<Transition> {
    let to = Status::ALL.into_iter().find_map(|status| next(status, trigger))?;
    let from = Status::ALL.into_iter().filter(|status| next(*status, trigger).is_some()).collect();
    Some(Transition { from, to })
}
