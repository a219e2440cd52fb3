//! What runs in the background.

use super::wire::BackgroundTaskWire;

/// Something that runs in the background while the main loop goes on or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundTask {
    /// The task's id; for a subagent, its `agent_id`.
    pub id: String,
    /// `subagent`, `shell`, …
    pub kind: String,
}

impl BackgroundTask {
    /// Returns the tasks that have not ended.
    pub(super) fn list(wire: Option<Vec<BackgroundTaskWire>>) -> Option<Vec<Self>> {
        let running = |task: &BackgroundTaskWire| task.status.as_deref().is_none_or(|status| status == "running");
        let task =
            |task: BackgroundTaskWire| Self { id: task.id.unwrap_or_default(), kind: task.kind.unwrap_or_default() };
        Some(wire?.into_iter().filter(running).map(task).collect())
    }

    /// Returns whether the task can ask a person something; a shell command cannot.
    pub fn may_ask(&self) -> bool {
        !matches!(self.kind.as_str(), "shell" | "bash")
    }
}
