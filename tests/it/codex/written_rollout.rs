//! Rollouts that a test writes line by line, as Codex 0.166 does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Codex, SESSION};

/// A rollout that is being written.
#[derive(Clone)]
pub(super) struct Rollout {
    pub(super) text: String,
    /// The number of its next line.
    pub(super) next_line: u64,
}

impl Rollout {
    /// Begins the first rollout of the session.
    pub(super) fn first() -> Self {
        Self::with_base(0, Value::Null)
    }

    /// Begins the rollout after a rewind to the line `end` of an earlier one.
    pub(super) fn after_rewind(earlier: &str, end: u64) -> Self {
        Self::with_base(end, json!({ "thread_id": earlier, "end_ordinal_exclusive": end, "end_byte_offset": 1 }))
    }

    fn with_base(first_line: u64, base: Value) -> Self {
        let rollout = Self { text: String::new(), next_line: first_line };
        let meta = json!({ "id": SESSION, "session_id": SESSION, "cwd": "/home/dev/project", "history_base": base });
        rollout.line("session_meta", meta)
    }

    /// Adds a prompt and its reply.
    pub(super) fn turn(self, asked: &str, replied: &str) -> Self {
        let id = |text: &str| {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        };
        let message = |role: &str, kind: &str, text: &str| {
            json!({ "type": "message", "id": format!("msg_{}", id(text)), "role": role,
                    "content": [{ "type": kind, "text": text }],
                    "internal_chat_message_metadata_passthrough": { "turn_id": format!("turn-{}", id(asked)) } })
        };
        self.line("response_item", message("user", "input_text", asked))
            .line("response_item", message("assistant", "output_text", replied))
            .line("event_msg", json!({ "type": "task_complete", "turn_id": format!("turn-{}", id(asked)) }))
    }

    /// Takes the last turns back, as versions before 0.153 do.
    pub(super) fn rolled_back(self, turns: usize) -> Self {
        self.line("event_msg", json!({ "type": "thread_rolled_back", "num_turns": turns }))
    }

    pub(super) fn line(mut self, kind: &str, payload: Value) -> Self {
        let at = format!("2026-11-15T09:{:02}:{:02}.000Z", self.next_line / 60, self.next_line % 60);
        let line = json!({ "timestamp": at, "ordinal": self.next_line, "type": kind, "payload": payload });
        self.text.push_str(&format!("{line}\n"));
        self.next_line += 1;
        self
    }
}

impl Codex {
    /// Returns the file of a later rollout of the session.
    pub(super) fn later_rollout(&self, id: &str) -> PathBuf {
        self.rollout.with_file_name(format!("rollout-2026-11-15T09-00-00-{SESSION}_{id}.jsonl"))
    }

    /// Returns the prompts that are part of the conversation, in order.
    pub(super) fn live_prompts(&self) -> Vec<String> {
        self.sandbox.rows("SELECT prompt FROM turns WHERE prompt IS NOT NULL AND replaced = 0 ORDER BY number")
    }
}
