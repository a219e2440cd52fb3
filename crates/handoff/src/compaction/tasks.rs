//! The task list of a session, as its tool calls wrote it.

use longhaul_core::one_line;
use serde::{Deserialize, Serialize};

use super::{CompactionCall, shown, text_at};
use crate::skeleton::file_of;

/// The maximum length of a task, in characters.
const TASK_CHARS: usize = 400;

/// The folder in which the client keeps plans.
const PLANS: &str = "/.claude/plans/";

/// The newest task list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TaskList {
    pub(super) open: Vec<Task>,
    done: usize,
    /// The path of the newest plan.
    pub(super) plan: Option<String>,
    /// The number of tasks that were created one by one.
    #[serde(skip)]
    created: usize,
}

/// A task that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Task {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
    pub(super) text: String,
    state: String,
}

impl Task {
    pub(super) fn line(&self) -> String {
        let state = if self.state == "in_progress" { "in progress" } else { &self.state };
        let id = if self.id.is_empty() { String::new() } else { format!("#{} ", self.id) };
        shown(&format!("{id}{state}: {}", self.text))
    }
}

#[derive(Deserialize)]
struct Item {
    #[serde(alias = "step")]
    content: String,
    #[serde(default)]
    status: String,
}

impl TaskList {
    /// Takes in a call, in the order of calls.
    pub(super) fn add(&mut self, call: &CompactionCall<'_>) {
        if let Some(plan) = file_of(call.input).filter(|path| path.contains(PLANS) && path.ends_with(".md")) {
            self.plan = Some(plan);
        }
        if call.is_error {
            return;
        }
        match call.tool {
            // The list is a `plan` in Codex, whose `update_plan` is recorded under the first name.
            "TodoWrite" | "update_plan" => ["todos", "plan"].iter().for_each(|key| self.replace(call.input, key)),
            "TaskCreate" => self.create(call),
            "TaskUpdate" => self.update(call.input),
            "ExitPlanMode" => self.plan = text_at(call.input, "planFilePath").or_else(|| self.plan.take()),
            _ => {}
        }
    }

    /// Replaces the whole list.
    fn replace(&mut self, input: &str, key: &str) {
        let items = input.split_once(&format!("\"{key}\"")).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        let Some(items) = items.and_then(|rest| rest.trim_start().strip_prefix('[')) else { return };
        (self.open, self.done) = (Vec::new(), 0);
        // Item by item, so that a list whose middle was cut out still gives those before the cut.
        let mut rest = items;
        loop {
            rest = rest.trim_start_matches([',', ' ', '\n', '\r', '\t']);
            let mut items = serde_json::Deserializer::from_str(rest).into_iter::<Item>();
            let Some(Ok(item)) = items.next() else { break };
            rest = &rest[items.byte_offset()..];
            self.put(String::new(), &item.content, item.status);
        }
    }

    fn put(&mut self, id: String, text: &str, state: String) {
        match state.as_str() {
            "completed" | "deleted" | "cancelled" => self.done += usize::from(state == "completed"),
            _ => {
                let state = if state.is_empty() { "pending".to_owned() } else { state };
                self.open.push(Task { id, text: one_line(text, TASK_CHARS), state });
            }
        }
    }

    fn create(&mut self, call: &CompactionCall<'_>) {
        let Some(subject) = text_at(call.input, "subject") else { return };
        if self.open.iter().any(|task| task.id.is_empty()) {
            // Another tool wrote the list before.
            (self.open, self.done) = (Vec::new(), 0);
        }
        self.created += 1;
        let id = created_id(call.output).unwrap_or_else(|| self.created.to_string());
        self.open.retain(|task| task.id != id);
        self.put(id, &subject, String::new());
    }

    fn update(&mut self, input: &str) {
        let id = text_at(input, "taskId").unwrap_or_default();
        let Some(at) = self.open.iter().position(|task| task.id == id) else { return };
        if let Some(subject) = text_at(input, "subject") {
            self.open[at].text = one_line(&subject, TASK_CHARS);
        }
        if let Some(state) = text_at(input, "status") {
            let task = self.open.remove(at);
            match state.as_str() {
                "completed" => self.done += 1,
                "deleted" => {}
                _ => self.open.insert(at, Task { state, ..task }),
            }
        }
    }

    pub(super) fn heading(&self) -> String {
        match self.done {
            0 => "[Open tasks]".to_owned(),
            done => format!("[Open tasks; {done} more are done]"),
        }
    }
}

/// Returns the id of a task from the output of the call that created it: `Task #3 created …`, or JSON.
fn created_id(output: &str) -> Option<String> {
    let after = output.split_once('#').map(|(_, rest)| rest);
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    after.map(digits).filter(|id| !id.is_empty()).or_else(|| text_at(output, "id"))
}
