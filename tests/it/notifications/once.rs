//! Exactly once, whatever is started twice or killed.

use serde_json::json;

use super::{Stage, now_ms, result};
use crate::poll::{DEADLINE, wait_until};

const BLOCKED: &str = r#"{"blocked": ["command"], "command": ["COMMAND", "first"]}"#;

#[test]
fn a_session_that_waits_is_reported_once_with_what_it_waits_for() {
    let stage = Stage::new(BLOCKED);
    stage.block("s1", "cargo publish");
    assert_eq!(stage.results(1), [result("command", "sent", "")]);
    let project = "project";
    let line = format!("first|blocked|s1|{project}|{project} waits for you|wants to run: cargo publish, after 0s");
    assert_eq!(stage.recorded(), std::slice::from_ref(&line));
    assert_eq!(stage.log()[0]["text"], "project waits for you: wants to run: cargo publish, after 0s");
    // A hook that runs twice starts the process twice.
    assert_eq!(stage.again(&stage.newest()).status, Some(0));
    assert_eq!(stage.recorded(), [line]);
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn without_a_way_no_process_is_started() {
    let stage = Stage::new(r#"{"completed": ["command"], "min_seconds": 0, "command": ["COMMAND"]}"#);
    stage.block("s1", "make");
    assert_eq!(stage.log().len(), 0);
    stage.fire("s1", "PostToolUse", json!({ "tool_name": "Bash" }));
    stage.fire("s1", "Stop", json!({ "background_tasks": [] }));
    assert_eq!(stage.results(1), [result("command", "sent", "")]);
    assert!(stage.recorded()[0].starts_with("completed|s1|project|project has finished|The turn took "));
}

#[test]
fn a_process_that_is_killed_never_sends_twice_and_is_in_the_log() {
    let stage = Stage::new(BLOCKED);
    stage.block("s1", "make");
    wait_until(DEADLINE, "the row", || stage.log().len() == 1);
    // Killed in the delay: nothing was sent, and another process for the same change sends it once.
    let database = stage.sandbox.database();
    stage.results(1);
    let args = stage.newest();
    let set = |result: &str| {
        let sql = "UPDATE notifications SET result = ?1, ended_ms = NULL";
        assert_eq!(database.execute(sql, [result]).unwrap(), 1);
    };
    set("waiting");
    stage.again(&args);
    assert_eq!(stage.recorded().len(), 2);
    // Killed while it was sent: it is not known whether it was, so that it is not sent again.
    set("sending");
    stage.again(&args);
    assert_eq!(stage.recorded().len(), 2);
    database.execute("UPDATE notifications SET at_ms = ?1", [now_ms() as i64 - 100_000]).unwrap();
    assert_eq!(stage.log()[0]["result"], "interrupted");
}

#[test]
fn a_turn_that_failed_and_a_limit_have_rules_of_their_own() {
    let stage = Stage::new(r#"{"completed": ["command"], "limit": ["command"], "command": ["COMMAND"]}"#);
    for (session, error) in [("s1", "server_error"), ("s2", "rate_limit")] {
        stage.fire(session, "UserPromptSubmit", json!({ "prompt": "go on" }));
        stage.fire(session, "StopFailure", json!({ "error": error }));
    }
    stage.results(2);
    let mut recorded = stage.recorded();
    recorded.sort();
    assert_eq!(
        recorded,
        [
            "failed|s1|project|project has failed|server_error, after 0s",
            "limit|s2|project|project has reached a limit|rate_limit, after 0s"
        ]
    );
}
