//! The clock is set back by an hour, in the middle of everything.

use serde_json::json;

use super::{Session, check_whole, stored_calls};
use crate::sandbox::Sandbox;

const NOON: u64 = 1_794_744_000_000;
const HOUR: u64 = 3_600_000;

/// Moves the clock of everything in the sandbox.
fn at(sandbox: Sandbox, ms: u64) -> Sandbox {
    sandbox.at(ms)
}

fn status(sandbox: &Sandbox, session: &str) -> String {
    let sql = format!("SELECT status FROM agents WHERE session_id = '{session}'");
    sandbox.rows(&sql).concat()
}

#[test]
fn after_it_every_job_goes_on() {
    let sandbox = Sandbox::new().at(NOON);
    let session = Session::started(&sandbox, "s");
    session.turn("before");
    session.fire("UserPromptSubmit", json!({ "prompt": "go on", "prompt_id": "p" }));
    assert_eq!(status(&sandbox, "s"), "working");

    let sandbox = at(sandbox, NOON - HOUR);
    let session = Session::new(&sandbox, "s");
    session.fire("PermissionRequest", json!({}));
    assert_eq!(status(&sandbox, "s"), "blocked");
    session.call("meanwhile");
    assert_eq!(status(&sandbox, "s"), "working");
    session.fire("Stop", json!({ "last_assistant_message": "done" }));
    assert_eq!(status(&sandbox, "s"), "completed");
    assert_eq!(stored_calls(&sandbox), ["before", "meanwhile"]);
    // Without a terminal, the work since the prompt has a snapshot without a bookmark.
    let set = sandbox.count_lines("s", "B");
    session.fire("UserPromptSubmit", json!({ "prompt": "·" }));
    assert_eq!(sandbox.count_lines("s", "B"), set + 1);
    assert_eq!(sandbox.longhaul(&["bookmarks", "--json"]).json().as_array().unwrap().len(), 1);

    let sandbox = at(sandbox, NOON + HOUR);
    let session = Session::new(&sandbox, "s");
    session.turn("after");
    assert_eq!(stored_calls(&sandbox), ["before", "meanwhile", "after"]);
    check_whole(&sandbox);
    let log = sandbox.error_log();
    assert!(log.lines().all(|line| line.contains("no bookmarks: ")), "{log}");
}

#[test]
fn a_baton_that_was_left_before_is_still_taken() {
    let sandbox = Sandbox::new().at(NOON);
    let old = Session::started(&sandbox, "old");
    old.fire("UserPromptSubmit", json!({ "prompt": "remember the plan" }));
    old.fire("Stop", json!({ "last_assistant_message": "I do." }));
    old.fire("SessionEnd-clear", json!({}));
    let sandbox = at(sandbox, NOON - HOUR);
    let shown = Session::new(&sandbox, "new").fire("SessionStart", json!({ "source": "clear" }));
    assert!(shown.to_string().contains("remember the plan"), "{shown}");
}

#[test]
fn a_session_that_looks_as_if_it_began_tomorrow_is_neither_old_nor_dead() {
    let sandbox = Sandbox::new().at(NOON + 24 * HOUR);
    Session::new(&sandbox, "ahead").fire("SessionStart", json!({ "source": "startup" }));
    let sandbox = at(sandbox, NOON);
    Session::new(&sandbox, "now").fire("SessionStart", json!({ "source": "startup" }));
    assert_eq!(status(&sandbox, "ahead"), "idle");
    let page = sandbox.longhaul(&["status"]);
    assert_eq!(page.status, Some(0), "{page:?}");
}
