//! The same calls with the same results: Claude is told, then the user; nothing is stopped unless that is set.

use serde_json::{Value, json};

use super::{Session, goes_on, stops};
use crate::sandbox::Outcome;

fn call(session: &Session, command: &str, output: &str) -> Value {
    let changes = json!({
        "tool_use_id": format!("t{}", session.sandbox.log_lines(session.id).len()),
        "tool_input": { "command": command }, "tool_response": { "stdout": output }, "duration_ms": 20,
    });
    session.fire("PostToolUse", changes)
}

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

#[test]
fn claude_is_told_once_and_then_the_user_and_nothing_is_stopped() {
    let session = Session::working(&json!({}));
    for n in 1..=12 {
        let answer = call(&session, "make test", "FAILED");
        goes_on(&answer);
        let told = context(&answer);
        assert_eq!(
            told.contains("call of Bash") && told.contains("5 times in a row, since 12:00"),
            n == 5,
            "{n}: {answer}"
        );
        let message = answer["systemMessage"].as_str().unwrap_or_default();
        assert_eq!(message.contains("turns in circles: the same call of Bash"), n == 10, "{n}: {answer}");
    }
    let status = || session.longhaul(&["status", "--json"]).json();
    assert!(status()[0]["reason"].as_str().unwrap().starts_with("looping: "), "{}", status());
    assert!(session.longhaul(&["status"]).stdout.contains("(looping)"));
    // Something else ends it.
    call(&session, "cat src/lib.rs", "fn main() {}");
    assert_eq!(status()[0]["reason"], Value::Null);
}

#[test]
fn a_call_that_fails_in_the_same_way_is_the_same_call() {
    let session = Session::working(&json!({}));
    let fail = || session.fire("PostToolUseFailure-Bash", json!({}));
    let told: Vec<bool> = (1..=6).map(|_| context(&fail()).contains("5 times in a row")).collect();
    assert_eq!(told, [false, false, false, false, true, false]);
}

#[test]
fn a_subagent_is_told_of_its_own_calls() {
    let session = Session::working(&json!({}));
    let call = |agent: &str| {
        let changes =
            json!({ "agent_id": agent, "tool_input": { "command": "ls" }, "tool_response": { "stdout": "a" } });
        context(&session.fire("PostToolUse-in-subagent", changes)).contains("5 times in a row")
    };
    let told: Vec<bool> = (1..=5).map(|_| call("a1") | call("a2")).collect();
    assert_eq!(told, [false, false, false, false, true]);
}

#[test]
fn what_is_switched_off_is_not_noticed() {
    let session = Session::working(&json!({ "limits": { "loops": "off" } }));
    for _ in 0..6 {
        assert_eq!(context(&call(&session, "make", "FAILED")), "");
    }
}

#[test]
fn another_agent_is_stopped_without_a_bookmark() {
    let config = json!({ "limits": { "loops": "stop" }, "bookmarks": { "thresholds": { "min_tool_calls": 5 } } });
    let session = Session::new(&config);
    let call = json!({
        "session_id": "01a1de69-9a48-7213-b664-b016f981bf57", "hook_event_name": "PostToolUse", "turn_id": "t",
        "cwd": session.sandbox.project(), "tool_name": "Bash", "tool_use_id": "c", "tool_input": { "command": "make" },
        "tool_response": "FAILED", "model": "gpt-5-codex", "permission_mode": "default",
    });
    let answers = (1..=10).map(|_| {
        let mut hook = session.sandbox.executable("longhaul");
        Outcome::of(hook.args(["hook", "--codex", "post-tool-use"]), call.to_string().as_bytes()).json()
    });
    let stopped: Vec<bool> = answers.map(|answer| answer["continue"] == false).collect();
    assert_eq!(stopped, [[false; 9].as_slice(), &[true]].concat());
    let lines = session.sandbox.log_lines("codex_01a1de69-9a48-7213-b664-b016f981bf57");
    assert!(!lines.is_empty() && !lines.iter().any(|line| line.starts_with(['I', 'G', 'B'])), "{lines:?}");
}

#[test]
fn a_private_turn_leaves_no_mark_of_its_calls() {
    let session = Session::new(&json!({}));
    session.prompt("<private>my salary</private>");
    for _ in 0..6 {
        assert_eq!(context(&call(&session, "cat salary", "4200")), "");
    }
    let lines = session.sandbox.log_lines(session.id);
    let calls: Vec<&String> = lines.iter().filter(|line| line.starts_with('T')).collect();
    assert!(calls.len() == 6 && calls.iter().all(|line| line.split(' ').count() == 3), "{lines:?}");
}

#[test]
fn a_loop_is_stopped_if_that_is_set() {
    let session = Session::working(&json!({ "limits": { "loops": "stop" } }));
    for _ in 1..10 {
        goes_on(&call(&session, "make", "FAILED"));
    }
    stops(&call(&session, "make", "FAILED"), "turns in circles: the same call of Bash with the same result, 10 times");
    // The call is a sign of work, and the turn is over all the same.
    let status = session.longhaul(&["status", "--json"]).json();
    assert_eq!(status[0]["status"], "blocked", "{status}");
    assert!(status[0]["reason"].as_str().unwrap().starts_with("looping: "), "{status}");
    goes_on(&session.prompt("try something else"));
}
