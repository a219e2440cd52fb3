//! Agents that run Claude Code's hooks as their own.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::sandbox::{Sandbox, payload};

/// Returns the names of the payloads of such agents, each with the executable that Claude Code runs for the event.
fn foreign() -> Vec<(String, &'static str)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/payloads/foreign");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = files.filter_map(|file| Some(file.strip_suffix(".json")?.to_owned()));
    let executable = |name: &str| match name.split_once('-').unwrap().1 {
        "SessionStart" => "longhaul-session-start",
        "UserPromptSubmit" => "longhaul-user-prompt-submit",
        "PostToolUse" | "postToolUse" => "longhaul-post-tool-use",
        other => panic!("{other} is in no test"),
    };
    names.map(|name| (format!("foreign/{name}"), executable(&name))).collect()
}

#[test]
fn the_hooks_of_claude_code_leave_other_agents_alone() {
    let sandbox = Sandbox::new();
    let mut all = foreign();
    assert!(all.len() >= 12, "{all:?}");
    all.push(("qwen/SessionStart".to_owned(), "longhaul-session-start"));
    all.push(("qwen/UserPromptSubmit".to_owned(), "longhaul-user-prompt-submit"));
    all.push(("gemini/SessionStart".to_owned(), "longhaul-session-start"));
    for (name, executable) in all {
        let outcome = sandbox.hook(executable, payload(&name, json!({ "cwd": sandbox.project() })));
        assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), r#"{"continue":true}"#), "{name}");
    }
    // Their folders may be elsewhere.
    let moved = json!({ "cwd": sandbox.project(), "transcript_path": "/srv/state/projects/x/chats/5b44.jsonl" });
    let outcome = sandbox.hook("longhaul-session-start", payload("qwen/SessionStart", moved));
    assert_eq!(outcome.stdout.trim(), r#"{"continue":true}"#);
    assert_eq!(sandbox.error_log(), "");
    assert!(!sandbox.data_dir().exists(), "nothing is stored");
}

#[test]
fn a_tool_of_claude_code_may_have_a_time_in_its_input() {
    let sandbox = Sandbox::new();
    let input = json!({ "command": "date", "timestamp": "now", "hook_source": "x" });
    let text = payload("PostToolUse", json!({ "cwd": sandbox.project(), "session_id": "own", "tool_input": input }));
    assert_eq!(sandbox.hook("longhaul-post-tool-use", text).status, Some(0));
    assert_eq!(sandbox.count_lines("own", "T"), 1);
}
