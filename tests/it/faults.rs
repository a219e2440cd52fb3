//! Faults: every hook answers, nothing that is stored is lost or half written, and the next hook continues.

mod clock;
mod crowd;
mod damaged;
mod disk;
mod hanging_tmux;
mod killed;
mod obstructed_home;
mod payloads;
mod rewritten;
mod run_twice;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use longhaul_core::catalog::REGISTRATIONS;
use serde_json::{Value, json};

use crate::poll::SLACK;
use crate::sandbox::{Outcome, Sandbox, part_of_event, payload, with};

/// A session whose hooks are called one by one, with every job on.
struct Session<'a> {
    sandbox: &'a Sandbox,
    id: String,
}

impl<'a> Session<'a> {
    fn new(sandbox: &'a Sandbox, id: &str) -> Self {
        if !sandbox.data_dir().join("config.json").exists() {
            // A snapshot is taken by another process, which would write to the folders that a test replaces.
            let config = r#"{"continuation":{"at":"on"},"guard":{"compact_percent":0.76,"deny_percent":0.85},"snapshots":{"enabled":false}}"#;
            sandbox.write_config(config);
        }
        Self { sandbox, id: id.to_owned() }
    }

    /// A session that has begun.
    fn started(sandbox: &'a Sandbox, id: &str) -> Self {
        let session = Self::new(sandbox, id);
        session.fire("SessionStart", json!({ "source": "startup" }));
        session
    }

    fn transcript(&self) -> PathBuf {
        self.sandbox.path(&format!("{}.jsonl", self.id))
    }

    /// Returns the command for the hook of a recorded payload, and that payload as this session's.
    fn hook(&self, name: &str, changes: &Value) -> (Command, String) {
        let event = name.split('-').next().unwrap();
        let registration = REGISTRATIONS.iter().find(|registration| registration.event.as_str() == event).unwrap();
        let all = json!({
            "session_id": self.id, "cwd": self.sandbox.project(), "transcript_path": self.transcript(),
        });
        let mut command = self.sandbox.executable(&part_of_event(registration.event));
        command.env("CLAUDE_PROJECT_DIR", self.sandbox.project());
        (command, payload(name, with(all, changes)))
    }

    /// Fires a hook, which must answer.
    #[track_caller]
    fn fire(&self, name: &str, changes: Value) -> Value {
        let (mut command, payload) = self.hook(name, &changes);
        let outcome = Outcome::of(&mut command, payload.as_bytes());
        if name.starts_with("PreCompact") {
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
            return Value::Null;
        }
        answer(&outcome)
    }

    #[track_caller]
    fn call(&self, id: &str) -> Value {
        self.fire("PostToolUse", bash(id))
    }

    /// Goes through a turn with one tool call of that id.
    #[track_caller]
    fn turn(&self, id: &str) {
        self.fire("UserPromptSubmit", json!({ "prompt": format!("do {id}"), "prompt_id": id }));
        self.call(id);
        self.fire("Stop", json!({ "last_assistant_message": format!("{id} is done") }));
    }
}

/// Returns what makes a recorded PostToolUse a command of its own.
fn bash(id: &str) -> Value {
    json!({ "tool_name": "Bash", "tool_use_id": id, "tool_input": { "command": format!("run {id}") },
            "tool_response": { "stdout": "x".repeat(300), "stderr": "" } })
}

/// Returns the answer, as every fault has to leave it: one JSON object, status 0, nothing on stderr.
#[track_caller]
fn answer(outcome: &Outcome) -> Value {
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let answer = outcome.json();
    assert!(answer["continue"].is_boolean(), "{outcome:?}");
    answer
}

/// Does `work` and fails where it takes longer than the client waits.
#[track_caller]
fn in_time<T>(event: &str, work: impl FnOnce() -> T) -> T {
    let registration = REGISTRATIONS.iter().find(|registration| registration.event.as_str() == event).unwrap();
    let started = Instant::now();
    let done = work();
    let limit = Duration::from_secs(registration.timeout_seconds) + SLACK;
    assert!(started.elapsed() < limit, "{event} took {:?}", started.elapsed());
    done
}

/// Returns the tool calls that have been taken in, by their ids.
fn stored_calls(sandbox: &Sandbox) -> Vec<String> {
    sandbox.rows("SELECT tool_use_id FROM observations WHERE tool_use_id IS NOT NULL ORDER BY id")
}

/// Fails where anything that is stored is half written, or stored twice.
#[track_caller]
fn check_whole(sandbox: &Sandbox) {
    assert_eq!(sandbox.rows("PRAGMA integrity_check"), ["ok"]);
    let mut calls = stored_calls(sandbox);
    let all = calls.len();
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), all, "something is stored twice");
    for path in files(&sandbox.data_dir().join("sessions")) {
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read(&path).unwrap();
            assert!(serde_json::from_slice::<Value>(&text).is_ok(), "{} is half written", path.display());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}
