//! `kill -9` at random points, while others write to the same database.

use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use longhaul_activity_log::LogLine;
use serde_json::json;

use super::{Session, bash, check_whole, stored_calls};
use crate::dice::Dice;
use crate::sandbox::Sandbox;

const SESSIONS: u64 = 6;
const HOOKS: u64 = 25;

#[test]
fn under_load_nothing_that_was_answered_is_lost() {
    let sandbox = Sandbox::new();
    let answered: Vec<String> = thread::scope(|scope| {
        let sandbox = &sandbox;
        let threads: Vec<_> = (0..SESSIONS).map(|number| scope.spawn(move || some_killed(sandbox, number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answered.len() > 20, "some must live to tell: {}", answered.len());
    for number in 0..SESSIONS {
        let session = Session::new(&sandbox, &format!("s{number}"));
        session.turn(&format!("last-{number}"));
        let lines = sandbox.log_lines(&session.id);
        let whole = lines.iter().filter(|line| LogLine::parse(line.as_bytes()).is_some()).count();
        assert_eq!(whole, lines.len(), "a line is torn: {lines:?}");
    }
    let stored = stored_calls(&sandbox);
    for id in answered.iter().cloned().chain((0..SESSIONS).map(|number| format!("last-{number}"))) {
        assert!(stored.contains(&id), "{id} was answered, and is not stored");
    }
    check_whole(&sandbox);
}

/// Fires hooks of one session, some of which are killed; returns the tool calls of those that lived.
fn some_killed(sandbox: &Sandbox, number: u64) -> Vec<String> {
    let session = Session::new(sandbox, &format!("s{number}"));
    let mut dice = Dice(number);
    let mut answered = Vec::new();
    for hook in 0..HOOKS {
        let id = format!("call-{number}-{hook}");
        let (name, changes) = match dice.roll(6) {
            0 => ("Stop", json!({})),
            1 => ("UserPromptSubmit", json!({ "prompt": "go" })),
            2 => ("SessionStart", json!({ "source": "resume" })),
            _ => ("PostToolUse", bash(&id)),
        };
        let (mut command, payload) = session.hook(name, &changes);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
        if dice.roll(2) == 0 {
            // The moment is what is tried here, so it is left to chance and not waited for.
            thread::sleep(Duration::from_micros(dice.roll(20_000)));
            let _ = child.kill();
        }
        if child.wait().unwrap().success() && name == "PostToolUse" {
            answered.push(id);
        }
    }
    answered
}
