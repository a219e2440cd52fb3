//! The hooks of Gemini CLI, Qwen Code and opencode, with recorded payloads, through `longhaul hook --agent`.

mod adapter_strings;
mod foreign;
mod hook_arguments;
mod install;
mod lists;
mod odd_payloads;
mod opencode_module;
mod private;

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox, payload, with};

/// A session of an agent in a sandbox.
struct Agent {
    sandbox: Sandbox,
    name: &'static str,
    id: &'static str,
}

impl Agent {
    fn new(name: &'static str) -> Self {
        Self { sandbox: Sandbox::new(), name, id: "5b4406db-ca72" }
    }

    /// Sends a recorded payload, with the members of `changes` in it, after which the agent goes on.
    fn send(&self, recorded: &str, changes: Value) -> Outcome {
        let outcome = self.outcome(recorded, changes);
        assert_eq!(outcome.json()["continue"], true);
        outcome
    }

    /// Sends a recorded payload, with the members of `changes` in it.
    fn outcome(&self, recorded: &str, changes: Value) -> Outcome {
        let all = with(json!({ "session_id": self.id, "cwd": self.sandbox.project() }), &changes);
        let event = recorded.split('-').next().unwrap();
        let text = payload(&format!("{}/{recorded}", self.name), all);
        let mut command = self.sandbox.executable("longhaul");
        let outcome = Outcome::of(command.args(["hook", "--agent", self.name, event]), text.as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        outcome
    }

    fn longhaul(&self, arguments: &[&str]) -> String {
        let mut command = self.sandbox.executable("longhaul");
        let outcome = Outcome::of(command.args(arguments).current_dir(self.sandbox.project()), b"");
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        outcome.stdout
    }

    #[track_caller]
    fn is(&self, status: &str) {
        let rows: Value = serde_json::from_str(&self.longhaul(&["status", "--json"])).unwrap();
        let id = format!("{}:{}", self.name, self.id);
        let row = rows.as_array().unwrap().iter().find(|row| row["session"] == id.as_str());
        let row = row.unwrap_or_else(|| panic!("{id} is not in {rows}"));
        assert_eq!((&row["status"], &row["client"]), (&status.into(), &self.name.into()), "{row}");
    }

    #[track_caller]
    fn finds(&self, query: &str, text: &str) {
        let found = self.longhaul(&["memory", "search", query]);
        assert!(found.contains(text), "{query}: {found}");
    }

    /// Returns what a new session of Claude Code in the project is shown.
    fn heir(&self) -> String {
        let text = payload("SessionStart", json!({ "session_id": "heir", "cwd": self.sandbox.project() }));
        let reply = self.sandbox.hook("longhaul-session-start", text).json();
        reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn a_session_of_gemini_is_tracked_remembered_and_handed_over() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.is("idle");
    gemini.send("BeforeAgent", json!({ "prompt": "where are the beans kept?" }));
    gemini.is("working");
    gemini.send("Notification", json!({}));
    gemini.is("blocked");
    gemini.send("AfterTool", json!({ "tool_input": { "command": "cat beans.txt" } }));
    gemini.is("working");
    gemini.send("AfterTool-failed", json!({ "tool_input": { "command": "cargo test" } }));
    gemini.send("AfterAgent", json!({ "prompt_response": "The beans are kept in the blue jar." }));
    gemini.is("completed");
    gemini.finds("beans", "beans kept");
    gemini.finds("blue jar", "blue jar");
    gemini.finds("beans.txt", "beans.txt");
    gemini.longhaul(&["handoff", "write", "--session", "gemini:5b4406db-ca72"]);
    let shown = gemini.heir();
    assert!(
        shown.contains("where are the beans kept?") && shown.contains("The beans are kept in the blue jar."),
        "{shown}"
    );
    gemini.send("SessionEnd-exit", json!({}));
    let rows: Value = serde_json::from_str(&gemini.longhaul(&["status", "--json"])).unwrap();
    assert!(!rows.to_string().contains("gemini:"), "{rows}");
    assert_eq!(gemini.sandbox.error_log(), "");
}

#[test]
fn after_a_clear_gemini_is_shown_the_handoff_with_the_first_prompt() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "where are the beans kept?" }));
    gemini.send("AfterAgent", json!({ "prompt_response": "The beans are kept in the blue jar." }));
    gemini.send("SessionEnd-clear", json!({}));
    let start = gemini.send("SessionStart-clear", json!({ "session_id": "next" })).json();
    assert_eq!(start["hookSpecificOutput"], Value::Null, "it would be ignored");
    let prompt = |text: &str| gemini.send("BeforeAgent", json!({ "session_id": "next", "prompt": text })).json();
    let shown = prompt("and where now?")["hookSpecificOutput"].clone();
    assert_eq!(shown["hookEventName"], "BeforeAgent");
    assert!(shown["additionalContext"].as_str().unwrap().contains("in the blue jar."), "{shown}");
    let again = prompt("and now?");
    assert!(!again.to_string().contains("Last reply"), "it is shown once: {again}");
}

#[test]
fn the_context_of_gemini_is_read_from_its_transcript() {
    let gemini = Agent::new("gemini");
    let transcript = gemini.sandbox.path("chat.jsonl");
    fs::write(&transcript, "{\"type\":\"gemini\",\"tokens\":{\"input\":11815},\"model\":\"gemini-3.8-flash\"}\n")
        .unwrap();
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({}));
    gemini.send("AfterAgent", json!({ "transcript_path": transcript }));
    let database = gemini.sandbox.database();
    let sql = "SELECT model, used_tokens, window_tokens FROM context WHERE session_id = 'gemini:5b4406db-ca72'";
    let row: (String, i64, i64) =
        database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    assert_eq!(row, ("gemini-3.8-flash".to_owned(), 11815, 1_048_576));
}

#[test]
fn a_session_of_qwen_is_tracked_remembered_and_handed_over() {
    let qwen = Agent::new("qwen");
    qwen.send("SessionStart", json!({}));
    qwen.is("idle");
    qwen.send("UserPromptSubmit", json!({ "prompt": "where are the beans kept?" }));
    qwen.is("working");
    qwen.send("PermissionRequest", json!({}));
    qwen.is("blocked");
    qwen.send("PostToolUse", json!({ "tool_input": { "command": "cat beans.txt" } }));
    qwen.is("working");
    qwen.send("UserPromptSubmit-tool-result", json!({}));
    qwen.send("PostToolUseFailure", json!({}));
    qwen.send("Stop", json!({ "last_assistant_message": "The beans are kept in the blue jar." }));
    qwen.is("completed");
    qwen.finds("blue jar", "blue jar");
    qwen.finds("beans.txt", "beans.txt");
    qwen.longhaul(&["handoff", "write", "--session", "qwen:5b4406db-ca72"]);
    let shown = qwen.heir();
    assert!(shown.contains("where are the beans kept?") && shown.contains("in the blue jar."), "{shown}");
    assert_eq!(qwen.sandbox.error_log(), "");
}

#[test]
fn after_a_compaction_qwen_is_given_back_what_its_summary_lacks() {
    let qwen = Agent::new("qwen");
    let file = |name: &str| json!({ "tool_name": "write_file", "tool_input": { "file_path": qwen.sandbox.project().join(name) } });
    let run = |command: &str| json!({ "tool_input": { "command": command } });
    let with_id = |mut call: Value, id: &str| {
        call["tool_use_id"] = id.into();
        call
    };
    qwen.send("SessionStart", json!({}));
    qwen.send("UserPromptSubmit", json!({ "prompt": "now write the parser" }));
    let calls = [file("src/lost.rs"), file("src/named.rs"), run("make parser"), run("make named")];
    for (number, call) in calls.into_iter().enumerate() {
        qwen.send("PostToolUse", with_id(call, &format!("toolu_{number}")));
    }
    qwen.send("PreCompact", json!({ "trigger": "auto" }));
    let summary = "<state_snapshot>src/named.rs was written, `make named` was run.</state_snapshot>";
    qwen.send("PostCompact", json!({ "trigger": "auto", "compact_summary": summary }));
    let answer = qwen.send("SessionStart", json!({ "source": "compact" })).json();
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    for part in ["[The request at hand] now write the parser\n", " src/lost.rs (written)\n", "- make parser\n"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert!(!text.contains("named"), "{text}");
    assert_eq!(qwen.sandbox.error_log(), "");
}

#[test]
fn a_session_of_opencode_is_tracked_remembered_and_handed_over() {
    let opencode = Agent::new("opencode");
    opencode.send("session.start", json!({}));
    opencode.is("idle");
    opencode.send("chat.message", json!({ "prompt": "where are the beans kept?" }));
    opencode.is("working");
    opencode.send("permission.asked", json!({}));
    opencode.is("blocked");
    opencode.send("permission.replied", json!({}));
    opencode.is("working");
    opencode.send("tool.execute.after", json!({ "tool_input": { "command": "cat beans.txt" } }));
    opencode.send("tool.execute.after-failed", json!({}));
    opencode.send("tool.execute.after-mcp", json!({}));
    opencode.send("session.idle", json!({ "last_assistant_message": "The beans are kept in the blue jar." }));
    opencode.is("completed");
    opencode.finds("blue jar", "blue jar");
    opencode.finds("beans.txt", "beans.txt");
    opencode.longhaul(&["handoff", "write", "--session", "opencode:5b4406db-ca72"]);
    let shown = opencode.heir();
    assert!(shown.contains("where are the beans kept?") && shown.contains("in the blue jar."), "{shown}");
    opencode.send("session.end", json!({}));
    assert_eq!(opencode.sandbox.error_log(), "");
}

#[test]
fn a_new_session_of_an_agent_is_shown_the_memory() {
    let qwen = Agent::new("qwen");
    qwen.send("SessionStart", json!({}));
    qwen.send("UserPromptSubmit", json!({ "prompt": "where are the beans kept?" }));
    qwen.send("PostToolUse", json!({}));
    qwen.send("Stop", json!({ "last_assistant_message": "The beans are kept in the blue jar." }));
    let reply = qwen.send("SessionStart", json!({ "session_id": "another" })).json();
    let output = &reply["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "SessionStart");
    assert!(output["additionalContext"].as_str().unwrap().contains("beans"), "{reply}");
}

#[test]
fn a_wrong_payload_is_answered_and_logged() {
    let gemini = Agent::new("gemini");
    for (arguments, text) in [
        (["hook", "--agent", "gemini", "AfterTool"], "not JSON"),
        (["hook", "--agent", "gemini", "AfterTool"], r#"{"session_id":"a","hook_event_name":"BeforeTool"}"#),
    ] {
        let mut command = gemini.sandbox.executable("longhaul");
        let outcome = Outcome::of(command.args(arguments), text.as_bytes());
        assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), r#"{"continue":true}"#));
    }
    assert_eq!(gemini.sandbox.error_log().lines().count(), 2, "{}", gemini.sandbox.error_log());
}

#[test]
fn a_baton_command_is_no_work() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "where are the beans kept?" }));
    gemini.send("AfterAgent", json!({ "prompt_response": "The beans are kept in the blue jar." }));
    gemini.is("completed");
    let command = json!({ "prompt": "/tl", "timestamp": "2026-11-16T17:40:00.000Z" });
    let answer = gemini.outcome("BeforeAgent", command).json();
    assert_eq!(answer["continue"], false, "{answer}");
    assert!(answer["stopReason"].as_str().unwrap().contains("handed over"), "{answer}");
    gemini.is("completed");
    assert!(gemini.heir().contains("The beans are kept in the blue jar."));
}
