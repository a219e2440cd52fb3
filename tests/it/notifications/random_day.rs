//! Six sessions with random events, through the real executables: the log accounts for every change, and nothing is sent
//! twice. Five hundred such days, with a simulated clock, are a test of the crate `notify`.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::Status;
use longhaul_tracker::{Trigger, next};
use serde_json::json;

use super::Stage;
use crate::dice::Dice;

const SESSIONS: [&str; 6] = ["s1", "s2", "s3", "s4", "s5", "s6"];
const EVENTS: usize = 60;

#[test]
fn every_change_is_accounted_for_and_nothing_is_sent_twice() {
    let stage = Stage::new(
        r#"{"blocked": {"ways": ["command", "ntfy"]}, "completed": {"ways": ["command"], "min_seconds": 0}, "command": ["COMMAND"]}"#,
    );
    let mut dice = Dice(21);
    let mut states: BTreeMap<&str, Status> = BTreeMap::new();
    let mut rows = 0;
    for _ in 0..EVENTS {
        let session = SESSIONS[dice.index(SESSIONS.len())];
        let (trigger, event, changes) = match dice.roll(5) {
            0 | 1 => (Trigger::PermissionRequested, "PermissionRequest", json!({ "tool_name": "Write" })),
            2 => (Trigger::ToolUsed, "PostToolUse", json!({ "tool_name": "Write" })),
            3 => (Trigger::Stopped, "Stop", json!({ "background_tasks": [] })),
            _ => (Trigger::Prompt, "UserPromptSubmit", json!({ "prompt": "go on" })),
        };
        // A session begins with a prompt.
        let (trigger, event, changes) = match states.contains_key(session) {
            true => (trigger, event, changes),
            false => (Trigger::Prompt, "UserPromptSubmit", json!({ "prompt": "go on" })),
        };
        stage.fire(session, event, changes);
        let before = *states.entry(session).or_insert(Status::Idle);
        if let Some(after) = next(before, trigger) {
            states.insert(session, after);
            rows += match after {
                Status::Blocked => 2,
                Status::Completed => 1,
                Status::Working | Status::Idle => 0,
            };
        }
    }
    let results = stage.results(rows);
    let log = stage.log();
    let keys: BTreeSet<String> =
        log.iter().map(|row| format!("{} {} {} {}", row["session"], row["at_ms"], row["state"], row["way"])).collect();
    assert_eq!(keys.len(), rows);
    let sent = results.iter().filter(|(_, result, _)| result == "sent").count();
    assert_eq!(stage.recorded().len(), sent);
    let failed = results.iter().filter(|(way, result, _)| way == "ntfy" && result == "failed").count();
    let suppressed = results.iter().filter(|(_, result, why)| result == "suppressed" && !why.is_empty()).count();
    assert_eq!(sent + failed + suppressed, rows, "{results:#?}");
    // What still waits at the end has lasted.
    for (session, _) in states.iter().filter(|(_, status)| **status == Status::Blocked) {
        let last = log.iter().rfind(|row| row["session"] == *session && row["way"] == "command").unwrap();
        assert_eq!((&last["state"], &last["result"]), (&json!("blocked"), &json!("sent")), "{session}");
    }
    assert_eq!(stage.sandbox.error_log(), "");
}
