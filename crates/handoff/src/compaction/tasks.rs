//! The task list of a session, as its tool calls wrote it.

use longhaul_core::one_line;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CompactionCall, shown, text_at};
use crate::skeleton::file_of;

/// The maximum length of a task, and of the name of its state, in characters.
const TASK_CHARS: usize = 400;
const STATE_CHARS: usize = 20;

/// The folder in which the client keeps plans.
const PLANS: &str = "/.claude/plans/";

/// The newest task list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TaskList {
    /// Every task, also those that are done: they may be opened again.
    pub(super) items: Vec<Task>,
    /// The path of the newest plan.
    pub(super) plan: Option<String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Task {
    /// Its id; empty in a list that is always written as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    pub(super) text: String,
    state: String,
}

impl Task {
    fn new(id: String, text: &str, state: &str) -> Self {
        let state = if state.is_empty() { "pending" } else { state };
        Self { id, text: one_line(text, TASK_CHARS), state: one_line(state, STATE_CHARS) }
    }

    pub(super) fn line(&self) -> String {
        let state = if self.state == "in_progress" { "in progress" } else { &self.state };
        let id = if self.id.is_empty() { String::new() } else { format!("#{} ", self.id) };
        shown(&format!("{id}{state}: {}", self.text))
    }

    fn is_open(&self) -> bool {
        !matches!(self.state.as_str(), "completed" | "deleted" | "cancelled")
    }
}

impl TaskList {
    /// Takes in a call, in the order of calls.
    pub(super) fn add(&mut self, call: &CompactionCall<'_>) {
        if call.is_error {
            return;
        }
        match call.tool {
            // The list is a `plan` in Codex, whose `update_plan` is recorded under the first name.
            "TodoWrite" | "update_plan" => ["todos", "plan"].iter().for_each(|key| self.replace(call.input, key)),
            "TaskCreate" => self.create(call),
            "TaskUpdate" => self.update(call.input),
            "ExitPlanMode" => self.plan = text_at(call.input, "planFilePath").or_else(|| self.plan.take()),
            "Write" | "Edit" | "MultiEdit" => {
                let plan = file_of(call.input).filter(|path| path.contains(PLANS) && path.ends_with(".md"));
                self.plan = plan.or_else(|| self.plan.take());
            }
            _ => {}
        }
    }

    /// Returns the tasks that are not done.
    pub(super) fn open(&self) -> Vec<&Task> {
        self.items.iter().filter(|task| task.is_open()).collect()
    }

    /// Replaces the whole list.
    fn replace(&mut self, input: &str, key: &str) {
        let items = input.split_once(&format!("\"{key}\"")).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        let Some(mut rest) = items.and_then(|rest| rest.trim_start().strip_prefix('[')) else { return };
        self.items.clear();
        // Item by item, so that a list whose middle was cut out still gives those before the cut.
        loop {
            rest = rest.trim_start_matches([',', ' ', '\n', '\r', '\t']);
            let mut items = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let Some(Ok(item)) = items.next() else { break };
            rest = &rest[items.byte_offset()..];
            let text = item.get("content").or_else(|| item.get("step")).or(Some(&item)).and_then(Value::as_str);
            let state = item.get("status").and_then(Value::as_str).unwrap_or_default();
            self.items.extend(text.map(|text| Task::new(String::new(), text, state)));
        }
    }

    fn create(&mut self, call: &CompactionCall<'_>) {
        let Some(subject) = text_at(call.input, "subject") else { return };
        // Another tool may have written the list before.
        self.items.retain(|task| !task.id.is_empty());
        let id = created_id(call.output).unwrap_or_else(|| (self.items.len() + 1).to_string());
        self.items.retain(|task| task.id != id);
        self.items.push(Task::new(id, &subject, ""));
    }

    fn update(&mut self, input: &str) {
        let id = text_at(input, "taskId").unwrap_or_default();
        let Some(task) = self.items.iter_mut().find(|task| task.id == id && !id.is_empty()) else { return };
        let (text, state) = (text_at(input, "subject"), text_at(input, "status"));
        *task = Task::new(id, text.as_deref().unwrap_or(&task.text), state.as_deref().unwrap_or(&task.state));
    }

    pub(super) fn heading(&self) -> String {
        match self.items.iter().filter(|task| task.state == "completed").count() {
            0 => "[Open tasks]".to_owned(),
            done => format!("[Open tasks; {done} more are done]"),
        }
    }
}

/// Returns the id of a task from the output of the call that created it: JSON, or `Task #3 created …`.
fn created_id(output: &str) -> Option<String> {
    let json = serde_json::from_str::<Value>(output).ok();
    let task = json.as_ref().and_then(|json| json.get("task"));
    let said = || {
        let digits = output.trim_start().strip_prefix("Task #")?;
        Some(digits.chars().take_while(char::is_ascii_digit).collect())
    };
    task.and_then(|task| text_at(&task.to_string(), "id")).or_else(said).filter(|id: &String| !id.is_empty())
}
