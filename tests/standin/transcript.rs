//! The transcript, as far as the client's readers look at it: prompts, replies with their usage, tools, blocked stops.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::hooks::Outcome;
use crate::record::new_id;

/// What a reply says of the context that it was made from.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Usage {
    pub(crate) tokens: u64,
    pub(crate) model: String,
}

impl Default for Usage {
    fn default() -> Self {
        Self { tokens: 13_505, model: "claude-opus-5-5".to_owned() }
    }
}

impl Usage {
    /// Returns the members that the client writes. Most of a context is read from the cache.
    fn members(&self) -> Value {
        let new = self.tokens / 10;
        json!({
            "input_tokens": new,
            "cache_creation_input_tokens": new,
            "cache_read_input_tokens": self.tokens - 2 * new,
            "output_tokens": if self.tokens == 0 { 0 } else { 9 },
            "service_tier": "standard",
        })
    }
}

/// How the transcript is kept.
#[derive(Default)]
pub(crate) struct Transcript {
    /// Whether there is one at all.
    pub(crate) kept: bool,
    pub(crate) usage: Usage,
    /// The entry that the next one hangs from.
    pub(crate) leaf: Option<String>,
}

/// An entry that is ready to be written, with the file that it belongs to: a late one must not follow `/clear`.
pub(crate) struct Entry {
    path: PathBuf,
    line: Option<String>,
}

impl App {
    /// Writes a person's prompt.
    pub(crate) fn write_prompt(&mut self, text: &str) {
        let prompt = json!({
            "type": "user",
            "message": { "role": "user", "content": text },
            "permissionMode": "default",
            "origin": { "kind": "human" },
            "promptSource": "typed",
        });
        self.write(prompt);
    }

    /// Returns the entry of a reply in words, to be written now or later.
    pub(crate) fn reply_entry(&mut self, text: &str, tokens: Option<u64>) -> Entry {
        self.assistant(json!({ "type": "text", "text": text }), "end_turn", tokens)
    }

    /// Writes the reply that the client makes up itself where the model gave none.
    pub(crate) fn write_api_error(&mut self, text: &str, error: &str) {
        let usage = Usage { tokens: 0, model: "<synthetic>".to_owned() };
        let reply = json!({
            "type": "assistant",
            "message": message(&usage, &json!({ "type": "text", "text": text }), "stop_sequence"),
            "error": error,
            "isApiErrorMessage": true,
        });
        self.write(reply);
    }

    /// Writes the call of a tool and what it returned.
    pub(crate) fn write_tool(&mut self, id: &str, name: &str, input: &Value, response: &Value, tokens: Option<u64>) {
        let call = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
        let entry = self.assistant(call, "tool_use", tokens);
        self.append(entry);
        let content = response.as_str().map_or_else(|| response.to_string(), str::to_owned);
        let result = json!({ "tool_use_id": id, "type": "tool_result", "content": content, "is_error": false });
        self.write(json!({
            "type": "user",
            "message": { "role": "user", "content": [result] },
            "toolUseResult": response,
        }));
    }

    /// Writes that the person pressed Esc.
    pub(crate) fn write_interruption(&mut self) {
        let text = json!([{ "type": "text", "text": "[Request interrupted by user]" }]);
        self.write(json!({ "type": "user", "message": { "role": "user", "content": text } }));
    }

    /// Writes what the hooks of a Stop did, and the reason for going on where one of them gave it.
    pub(crate) fn write_stop(&mut self, outcomes: &[Outcome], reason: Option<&str>) {
        let tool_use_id = new_id();
        let blocking = outcomes.iter().find(|outcome| reason.is_some() && outcome.blocks());
        if let (Some(reason), Some(outcome)) = (reason, blocking) {
            self.write(json!({
                "type": "user",
                "message": { "role": "user", "content": format!("Stop hook feedback:\n{reason}") },
                "isMeta": true,
            }));
            self.write(json!({
                "type": "attachment",
                "attachment": {
                    "type": "hook_blocking_error",
                    "hookName": "Stop",
                    "toolUseID": tool_use_id,
                    "hookEvent": "Stop",
                    "blockingError": { "blockingError": reason, "command": outcome.command },
                },
            }));
        }
        if !outcomes.is_empty() {
            let commands: Vec<Value> = outcomes
                .iter()
                .map(|outcome| json!({ "command": outcome.command, "durationMs": outcome.ms }))
                .collect();
            self.write(json!({
                "type": "system",
                "subtype": "stop_hook_summary",
                "hookCount": commands.len(),
                "hookInfos": commands,
                "hookErrors": reason.into_iter().collect::<Vec<_>>(),
                "preventedContinuation": false,
                "stopReason": "",
                "hasOutput": outcomes.iter().any(|outcome| !outcome.stdout.is_empty()),
                "level": "suggestion",
                "toolUseID": tool_use_id,
            }));
        }
    }

    /// Writes `entry`, where a transcript is kept.
    pub(crate) fn append(&self, entry: Entry) {
        let Some(line) = entry.line else { return };
        if let Err(error) = append(&entry.path, &line) {
            self.log.append("transcript_failed", json!({ "error": error.to_string() }));
        }
    }

    fn assistant(&mut self, content: Value, stop_reason: &str, tokens: Option<u64>) -> Entry {
        let mut usage = self.transcript.usage.clone();
        usage.tokens = tokens.unwrap_or(usage.tokens);
        self.entry(json!({ "type": "assistant", "message": message(&usage, &content, stop_reason) }))
    }

    fn write(&mut self, entry: Value) {
        let entry = self.entry(entry);
        self.append(entry);
    }

    /// Returns `entry` with the members that all have, as the newest of this session.
    fn entry(&mut self, entry: Value) -> Entry {
        let path = self.transcript_path();
        if !self.transcript.kept {
            return Entry { path, line: None };
        }
        let id = new_id();
        let mut line = json!({
            "parentUuid": self.transcript.leaf.replace(id.clone()),
            "isSidechain": false,
            "promptId": self.prompt_id,
            "uuid": id,
            "timestamp": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.325",
            "gitBranch": "HEAD",
        });
        if let (Value::Object(line), Value::Object(entry)) = (&mut line, entry) {
            line.extend(entry);
        }
        Entry { path, line: Some(format!("{line}\n")) }
    }
}

fn message(usage: &Usage, content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": format!("msg_{}", new_id().replace('-', "")),
        "type": "message",
        "role": "assistant",
        "model": usage.model,
        "content": [content],
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage.members(),
    })
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}
