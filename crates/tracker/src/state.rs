//! The state machine of a session's status: what an event or a notification changes.

use longhaul_core::Status;

/// For how many seconds after a question for permission the client's late notification of it is ignored.
pub const NOTIFICATION_LAG_SECONDS: u64 = 45;

/// An event that can change a session's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trigger {
    /// A prompt was submitted.
    Prompt,
    /// The main conversation used a tool.
    ToolUsed,
    /// A subagent used a tool; if it had opened a dialog, the dialog has been answered.
    SubagentToolUsed,
    /// A dialog asks for permission.
    PermissionRequested,
    /// Claude Code notified the user that it waits for an answer.
    Notified,
    /// The turn ended.
    Stopped,
    /// The turn ended, and subagents still run.
    StoppedWhileOthersRun,
    /// The turn ended in an error.
    Failed,
    /// A subagent has returned.
    SubagentReturned,
    /// A teammate has nothing to do.
    TeammateIdle,
    /// The user looked at the pane.
    Seen,
    /// Claude Code's own record says that no turn is running.
    ClientIdle,
    /// Claude Code's own record says that no turn is running, and Stop had fired for the last one.
    ClientIdleAfterStop,
    /// Claude Code's own record says that a turn is running.
    ClientBusy,
    /// Claude Code's own record says that the turn waits for an answer.
    ClientWaiting,
    /// Claude Code's own record says that the user has opened a dialog.
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

/// Returns the trigger for a turn that ended for `reason`, as the module inside Claude Code receives it.
///
/// Returns `None` for an end that a hook reports, too.
pub fn turn_ended(reason: &str) -> Option<Trigger> {
    // The user pressed Esc, which no hook reports.
    (reason == "aborted").then_some(Trigger::ClientIdle)
}

/// What a notification of Claude Code asks the user for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifiedDialog {
    /// Permission. A hook has usually reported it before, at once.
    Permission,
    /// Something else, which no other hook reports.
    Other,
}

/// Returns what a notification of the type `kind` asks for, so that the session is blocked; `None` if it asks for nothing.
///
/// A notification without a type comes from a version that has no types.
pub fn notified_dialog(kind: Option<&str>) -> Option<NotifiedDialog> {
    match kind {
        Some("permission_prompt") | None => Some(NotifiedDialog::Permission),
        Some("elicitation_dialog") => Some(NotifiedDialog::Other),
        Some(_) => None,
    }
}

/// Returns the status that `trigger` changes `status` to, or `None` where it changes nothing.
///
/// `None` for a tool call while working is the hot path: the caller must then use neither the database nor tmux.
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

/// The statuses that a trigger changes, and the status that they become.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The statuses that the trigger changes.
    pub from: Vec<Status>,
    /// The status that they become.
    pub to: Status,
}

/// Returns the transition of `trigger`, or `None` where it never changes anything.
///
/// The condition of the database statement is made from it, so that the statement always agrees with [`next`].
pub fn transition(trigger: Trigger) -> Option<Transition> {
    let to = Status::ALL.into_iter().find_map(|status| next(status, trigger))?;
    let from = Status::ALL.into_iter().filter(|status| next(*status, trigger).is_some()).collect();
    Some(Transition { from, to })
}
