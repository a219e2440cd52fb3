//! Background tasks of a session.

use super::wire::BackgroundTaskWire;

/// A task that runs in the background of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundTask {
    /// The task's id; for a subagent, its `agent_id`.
    pub id: String,
    /// The kind of task: `subagent`, `shell`, …
    pub kind: String,
    /// Its command, or else its description; empty where the payload has neither.
    pub about: String,
}

impl BackgroundTask {
    /// Returns the tasks that are still running; `None` where the payload has no list.
    pub(super) fn list(wire: Option<Vec<BackgroundTaskWire>>) -> Option<Vec<Self>> {
        let running = |task: &BackgroundTaskWire| task.status.as_deref().is_none_or(|status| status == "running");
        let task = |task: BackgroundTaskWire| Self {
            id: task.id.unwrap_or_default(),
            kind: task.kind.unwrap_or_default(),
            about: task.command.or(task.description).unwrap_or_default(),
        };
        Some(wire?.into_iter().filter(running).map(task).collect())
    }

    /// Returns whether the task can open a permission dialog; a shell command cannot.
    pub fn may_ask(&self) -> bool {
        !matches!(self.kind.as_str(), "shell" | "bash")
    }

    /// Returns whether the turn is not over while the task runs.
    ///
    /// A shell command may run forever, and a teammate waits between its tasks for messages of its lead.
    pub fn keeps_turn_open(&self) -> bool {
        self.may_ask() && self.kind != "teammate"
    }
}
