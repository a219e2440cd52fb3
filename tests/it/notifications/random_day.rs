//! Six sessions with random events, through the real executables: the log accounts for every change, and nothing is sent
//! twice. Their subagents ask, too, before and after them. Five hundred such days, with a simulated clock, are a test of the crate `notify`.

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
        r#"{"blocked": ["command", "ntfy"], "completed": ["command"], "min_seconds": 0, "command": ["COMMAND"]}"#,
    );
    let mut dice = Dice(21);
    let mut states: BTreeMap<&str, Status> = BTreeMap::new();
    // The sessions whose last dialog is that of a subagent, and those in which the main conversation has asked.
    let (mut last_by_subagent, mut main_asked) = (BTreeSet::new(), BTreeSet::new());
    let mut rows = 0;
    for _ in 0..EVENTS {
        let session = SESSIONS[dice.index(SESSIONS.len())];
        let (trigger, event, changes) = match dice.roll(6) {
            0 | 1 => (Trigger::PermissionRequested, "PermissionRequest", json!({ "tool_name": "Write" })),
            2 => (Trigger::ToolUsed, "PostToolUse", json!({ "tool_name": "Write" })),
            5 => (Trigger::PermissionRequested, "PermissionRequest", json!({ "tool_name": "Write", "agent_id": "a1" })),
            3 => (Trigger::Stopped, "Stop", json!({ "background_tasks": [] })),
            _ => (Trigger::Prompt, "UserPromptSubmit", json!({ "prompt": "go on" })),
        };
        // A session begins with a prompt.
        let (trigger, event, changes) = match states.contains_key(session) {
            true => (trigger, event, changes),
            false => (Trigger::Prompt, "UserPromptSubmit", json!({ "prompt": "go on" })),
        };
        let by_subagent = changes.get("agent_id").is_some();
        stage.fire(session, event, changes);
        let before = *states.entry(session).or_insert(Status::Idle);
        let asks = trigger == Trigger::PermissionRequested;
        // A tool call of the main conversation does not answer the dialog of a subagent.
        if trigger == Trigger::ToolUsed && last_by_subagent.contains(session) {
            continue;
        }
        // The main conversation that asks behind a subagent is reported, too.
        if asks && before == Status::Blocked && !by_subagent && last_by_subagent.contains(session) {
            rows += 2;
            main_asked.insert(session);
        }
        if asks {
            if by_subagent {
                last_by_subagent.insert(session)
            } else {
                last_by_subagent.remove(session)
            };
        }
        if let Some(after) = next(before, trigger) {
            states.insert(session, after);
            match after {
                Status::Blocked if by_subagent => main_asked.remove(session),
                Status::Blocked => main_asked.insert(session),
                Status::Working | Status::Completed | Status::Idle => last_by_subagent.remove(session),
            };
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
        let result = if main_asked.contains(session) { "sent" } else { "suppressed" };
        assert_eq!((&last["state"], &last["result"]), (&json!("blocked"), &json!(result)), "{session}");
    }
    assert_eq!(stage.sandbox.error_log(), "");
}
