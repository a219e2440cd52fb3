//! What is cut off: a hook that is killed before it has left the baton, a turn whose subagents never return, a session that
//! ends with a raised limit.

use std::io::Write;
use std::process::Stdio;

use longhaul_core::event::predicates::INTERRUPTED;
use serde_json::{Value, json};

use super::{Session, goes_on, stops};
use crate::poll::{DEADLINE, wait_for};
use crate::sandbox::payload;

/// Returns a session that has spent more than its limit, and whose hook was killed while it waited for the database.
fn killed_before_the_baton() -> Session {
    let session = Session::past_its_limit();
    let database = session.sandbox.database();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut hook = session.sandbox.executable("longhaul-post-tool-use");
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let changes = json!({
        "session_id": session.id, "cwd": session.sandbox.project(), "transcript_path": session.transcript("spender.jsonl"),
    });
    hook.stdin.take().unwrap().write_all(payload("PostToolUse", changes).as_bytes()).unwrap();
    wait_for(DEADLINE, "the stop", || (account(&session)["is_stopped"] == true).then_some(()));
    hook.kill().unwrap();
    // On a slow machine it has given up meanwhile, which leaves the same.
    hook.wait().unwrap();
    drop(database);
    assert_eq!(batons(&session), [""; 0]);
    session
}

fn account(session: &Session) -> Value {
    let path = session.sandbox.data_dir().join("sessions/spender.limits");
    serde_json::from_slice(&std::fs::read(path).unwrap_or_default()).unwrap_or_default()
}

/// Returns the triggers of the batons.
fn batons(session: &Session) -> Vec<String> {
    session.sandbox.rows("SELECT reason FROM handoff_log WHERE project_path IS NOT NULL")
}

#[test]
fn a_hook_that_is_killed_before_the_baton_leaves_it_to_the_next_one() {
    for event in ["PostToolUse", "UserPromptSubmit", "SessionEnd-prompt_input_exit"] {
        let session = killed_before_the_baton();
        session.fire(event, json!({}));
        assert_eq!(batons(&session), ["limit"], "{event}");
        let shown = session.fire_as("next", "SessionStart", json!({ "source": "startup" })).to_string();
        assert!(shown.contains("port the parser"), "{event}: {shown}");
    }
    let session = killed_before_the_baton();
    stops(&session.use_tool(), "limits.session");
    assert_eq!(session.longhaul(&["status", "--json"]).json()[0]["status"], "blocked");
}

#[test]
fn a_refused_prompt_leaves_no_second_baton() {
    let session = killed_before_the_baton();
    stops(&session.use_tool(), "limits.session");
    session.sandbox.database().execute("DELETE FROM handoff_log WHERE project_path IS NOT NULL", []).unwrap();
    stops(&session.prompt("go on"), "limits.session");
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    assert_eq!(batons(&session), [""; 0], "another session has taken it");
}

#[test]
fn a_turn_that_goes_on_after_a_stop_leaves_a_baton_of_its_own() {
    let session = killed_before_the_baton();
    stops(&session.use_tool(), "limits.session");
    session.sandbox.database().execute("DELETE FROM handoff_log WHERE project_path IS NOT NULL", []).unwrap();
    goes_on(&session.prompt(" !!go on"));
    session.spend(1_000);
    stops(&session.prompt("and now"), "limits.session");
    assert_eq!(batons(&session), ["limit"]);
}

/// Returns a session that may run two subagents, and runs two.
fn with_two_subagents() -> Session {
    let session = Session::working(&json!({ "limits": { "subagents": { "at_once": 2 } } }));
    for n in [1, 2] {
        launch(&session);
        session.fire("SubagentStart", json!({ "agent_id": format!("a{n}") }));
    }
    assert!(is_denied(&launch(&session)));
    session
}

fn launch(session: &Session) -> Value {
    session.fire("PreToolUse-Agent", json!({}))
}

fn is_denied(answer: &Value) -> bool {
    answer["hookSpecificOutput"]["permissionDecision"] == "deny"
}

fn interrupt(session: &Session) {
    let content = json!([{ "type": "text", "text": format!("{INTERRUPTED} for tool use]") }]);
    let line = json!({ "type": "user", "isSidechain": false, "message": { "role": "user", "content": content } });
    session.append("spender.jsonl", &line);
}

#[test]
fn subagents_of_a_turn_that_was_cut_off_do_not_count_in_the_next_one() {
    let begins = json!({ "source": "resume" });
    for (event, changes) in [("SessionStart", begins), ("StopFailure", json!({})), ("UserPromptSubmit", json!({}))] {
        let session = with_two_subagents();
        if event == "UserPromptSubmit" {
            interrupt(&session);
        }
        session.fire(event, changes);
        assert!(!is_denied(&launch(&session)), "{event}");
    }
}

#[test]
fn subagents_count_while_they_may_run() {
    // A prompt that is typed while the turn runs, what a task reports, a bookmark, a compaction.
    let compacted = json!({ "source": "compact" });
    for (event, changes, is_cut_off) in [
        ("UserPromptSubmit", json!({ "prompt": "faster" }), false),
        ("UserPromptSubmit-task-notification", json!({}), true),
        ("UserPromptSubmit", json!({ "prompt": "·" }), true),
        ("SessionStart", compacted, true),
    ] {
        let session = with_two_subagents();
        if is_cut_off {
            interrupt(&session);
        }
        session.fire(event, changes);
        assert!(is_denied(&launch(&session)), "{event}");
    }
    // One that runs on in the background counts again with its next call.
    let session = with_two_subagents();
    interrupt(&session);
    session.prompt("more");
    session.fire("PostToolUse-in-subagent", json!({ "agent_id": "a1" }));
    assert!(!is_denied(&launch(&session)) && is_denied(&launch(&session)));
}

#[test]
fn a_raised_limit_is_raised_until_the_session_ends() {
    let session = Session::working(&json!({ "limits": { "session": 1 } }));
    session.spend(60_000);
    stops(&session.use_tool(), "limits.session");
    let raise = || session.longhaul(&["limit", "raise", "5"]);
    let resume = || session.fire("SessionStart", json!({ "source": "resume" }));

    assert_eq!(raise().status, Some(0));
    goes_on(&session.prompt("go on"));
    session.fire("SessionStart", json!({ "source": "compact" }));
    goes_on(&session.use_tool());
    session.fire("SessionEnd-prompt_input_exit", json!({}));
    let ended = raise();
    assert!(ended.stderr.contains("no limit has stopped a session"), "{ended:?}");
    resume();
    stops(&session.prompt("go on"), "$1.20 of $1");

    // The client was killed, and has sent no SessionEnd.
    assert_eq!(raise().status, Some(0));
    goes_on(&session.prompt("go on"));
    resume();
    stops(&session.prompt("go on"), "$1.20 of $1");

    assert_eq!(raise().status, Some(0));
    session.fire("SessionEnd-clear", json!({}));
    session.fire_as("cleared", "SessionStart", json!({ "source": "clear" }));
    session.spend_in("cleared.jsonl", "cleared", "claude-opus-5-5", 60_000);
    stops(&session.fire_as("cleared", "PostToolUse", json!({})), "$1.20 of $1");
}
