//! The question of a dialog, as it was when the session changed.

use longhaul_runtime::{read_stdin, waiting_times};
use longhaul_tracker::Agent;
use serde_json::Value;

/// Who has opened a dialog, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// The subagent that has opened it; `None` for the main conversation.
    pub(crate) asked_by: Option<String>,
    /// What it asks for, in words.
    pub(crate) wants: Option<String>,
}

impl Question {
    /// Reads the question from the standard input; `None` if there is none.
    pub(crate) fn read() -> Option<Self> {
        let input: Value = serde_json::from_slice(&read_stdin(waiting_times::NOTIFICATION_QUESTION).ok()?).ok()?;
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self { asked_by: text("asked_by"), wants: text("wants") })
    }

    /// Returns the question that the row of a session holds now.
    pub(crate) fn of(agent: &Agent) -> Self {
        Self { asked_by: agent.asked_by.clone(), wants: agent.wants.clone() }
    }
}
