//! The activity log: what each hook writes, and that nothing of it is lost.

use std::fs;
use std::thread;

use serde_json::json;

use crate::sandbox::{Sandbox, payload, with};

const SESSION: &str = "s";

fn fire(sandbox: &Sandbox, executable: &str, name: &str, changes: serde_json::Value) -> serde_json::Value {
    let all = with(json!({ "session_id": SESSION }), &changes);
    sandbox.hook(executable, payload(name, all)).json()
}

#[test]
fn a_session_is_written_down_line_by_line() {
    let sandbox = Sandbox::new().at(1000);
    fire(&sandbox, "longhaul-session-start", "SessionStart", json!({}));
    fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({}));
    fire(&sandbox, "longhaul-post-tool-use", "PostToolUse", json!({ "tool_response": "four" }));
    fire(&sandbox, "longhaul-post-tool-use", "PostToolUse", json!({ "tool_response": null }));
    fire(&sandbox, "longhaul-post-tool-use", "PostToolUse-in-subagent", json!({}));
    fire(&sandbox, "longhaul-subagent-start", "SubagentStart", json!({}));
    fire(&sandbox, "longhaul-subagent-stop", "SubagentStop", json!({ "last_assistant_message": "é!" }));
    fire(&sandbox, "longhaul-subagent-stop", "SubagentStop-compaction", json!({}));
    sandbox.hook("longhaul-pre-compact", payload("PreCompact-auto", json!({ "session_id": SESSION })));
    fire(&sandbox, "longhaul-session-start", "SessionStart-compact-interactive", json!({}));
    fire(&sandbox, "longhaul-stop", "Stop", json!({}));
    let without_mark = |line: &String| match line.as_bytes()[0] {
        b'T' => line.rsplit_once(' ').unwrap().0.to_owned(),
        b'K' => "K 1000".to_owned(),
        _ => line.clone(),
    };
    assert_eq!(
        sandbox.log_lines(SESSION).iter().map(without_mark).collect::<Vec<_>>(),
        [
            "S 1000 idle",
            "P 1000",
            "N 1000 14068410012254664993",
            "T 1000 4",
            "T 1000 0",
            "K 1000",
            "A 1000 2",
            "C 1000",
            "B 1000",
            "S 1000 completed"
        ]
    );
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_marker_is_a_bookmark_and_costs_nothing_while_idle() {
    let sandbox = Sandbox::new().at(1000);
    fire(&sandbox, "longhaul-session-start", "SessionStart", json!({}));
    let reply = fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": " · \n" }));
    assert_eq!(reply, json!({ "continue": false, "stopReason": "bookmark set" }));
    assert_eq!(sandbox.log_lines(SESSION), ["S 1000 idle", "B 1000"]);
}

#[test]
fn a_marker_in_a_running_turn_tells_the_model_to_go_on() {
    let sandbox = Sandbox::new();
    fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt_id": "turn" }));
    let marker = json!({ "prompt": "·", "prompt_id": "turn" });
    let reply = fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", marker);
    let context = reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(reply["continue"] == true && context.contains("automatic bookmark"), "{reply}");
}

#[test]
fn after_escape_a_marker_is_no_part_of_the_turn_that_it_ended() {
    let sandbox = Sandbox::new();
    fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt_id": "turn" }));
    // Esc fires no hook: the log still says that a turn runs. The prompt's id tells.
    let marker = json!({ "prompt": "·", "prompt_id": "another" });
    let reply = fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", marker);
    assert_eq!(reply["continue"], false);
}

#[test]
fn a_note_is_kept_with_the_bookmark() {
    let sandbox = Sandbox::new();
    for prompt in ["· before the rewrite", "/longhaul:bookmark all green"] {
        let reply = fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": prompt }));
        assert_eq!(reply["continue"], false);
    }
    let listed = sandbox.longhaul(&["bookmarks", "--json"]).json();
    assert_eq!((&listed[0]["note"], &listed[1]["note"]), (&json!("before the rewrite"), &json!("all green")));
    assert_eq!(sandbox.count_lines(SESSION, "B"), 2);
}

#[test]
fn with_every_job_off_nothing_is_written() {
    let sandbox = Sandbox::new();
    let off = json!({ "enabled": false });
    let config = json!({ "bookmarks": off, "tracker": off, "handoff": off, "limits": { "loops": "off" } });
    sandbox.write_config(&config.to_string());
    fire(&sandbox, "longhaul-session-start", "SessionStart", json!({}));
    fire(&sandbox, "longhaul-post-tool-use", "PostToolUse", json!({}));
    let reply = fire(&sandbox, "longhaul-user-prompt-submit", "UserPromptSubmit", json!({ "prompt": "·" }));
    assert_eq!(reply, json!({ "continue": true }));
    assert!(!sandbox.data_dir().join("sessions").exists());
}

#[test]
fn a_torn_last_line_costs_no_other() {
    let sandbox = Sandbox::new().at(1000);
    sandbox.write_config(r#"{"limits":{"loops":"off"}}"#);
    fs::create_dir_all(sandbox.data_dir().join("sessions")).unwrap();
    fs::write(sandbox.data_dir().join("sessions/s.log"), "T 900 5\nT 95").unwrap();
    fire(&sandbox, "longhaul-post-tool-use", "PostToolUse", json!({ "tool_response": "" }));
    assert_eq!(sandbox.log_lines(SESSION), ["T 900 5", "T 95", "T 1000 0"]);
}

#[test]
fn sixty_four_at_once_again_and_again_lose_and_tear_nothing() {
    let sandbox = Sandbox::new().at(1000);
    sandbox.write_config(r#"{"bookmarks":{"enabled":"turn_end"},"limits":{"loops":"off"}}"#);
    let input = payload("PostToolUse", json!({ "session_id": SESSION, "tool_response": "1234567" }));
    // A line that is torn or lost shows in the first rounds, if at all.
    for round in 1..=4 {
        thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| assert_eq!(sandbox.hook("longhaul-post-tool-use", &input).status, Some(0)));
            }
        });
        let lines = sandbox.log_lines(SESSION);
        assert_eq!(lines.len(), 64 * round);
        assert!(lines.iter().all(|line| line == "T 1000 7"));
    }
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn files_of_sessions_long_over_are_removed_and_the_others_stay() {
    let sandbox = Sandbox::new();
    let sessions = sandbox.data_dir().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    for (name, days) in [("old.log", 8), ("old.json", 8), ("recent.log", 6)] {
        let file = fs::File::create(sessions.join(name)).unwrap();
        let age = std::time::Duration::from_secs(days * 24 * 60 * 60);
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
    }
    fire(&sandbox, "longhaul-session-start", "SessionStart", json!({}));
    let mut left: Vec<_> =
        fs::read_dir(&sessions).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["recent.log", "s.json", "s.log"]);
}
