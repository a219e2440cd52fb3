//! A transcript that is rewritten while it is read.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::{Session, check_whole};
use crate::dice::Dice;
use crate::sandbox::Sandbox;

/// Returns a transcript of `turns` turns.
fn transcript(turns: usize) -> String {
    let entry = |kind: &str, uuid: String, parent: Value, content: Value| {
        let at = "2026-11-14T08:00:00.000Z";
        let entry = json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": false, "sessionId": "s", "timestamp": at,
            "message": { "role": kind, "content": content, "model": "claude-opus-5-5" },
        });
        format!("{entry}\n")
    };
    let turn = |number: usize| {
        let parent = if number == 0 { Value::Null } else { json!(format!("a{}", number - 1)) };
        let asked = entry("user", format!("u{number}"), parent, json!(format!("question {number}")));
        let text = json!([{ "type": "text", "text": format!("answer {number} {}", "x".repeat(500)) }]);
        asked + &entry("assistant", format!("a{number}"), json!(format!("u{number}")), text)
    };
    (0..turns).map(turn).collect()
}

#[test]
fn in_the_end_every_turn_is_stored_once() {
    const TURNS: usize = 40;
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s");
    let whole = transcript(TURNS);
    let path = session.transcript();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut dice = Dice(3);
            while !done.load(Ordering::Relaxed) {
                // In place, cut anywhere; or another file by the same name.
                let end = dice.index(whole.len());
                if dice.roll(2) == 0 {
                    fs::write(&path, &whole[..end]).unwrap();
                } else {
                    let other = path.with_extension("new");
                    fs::write(&other, &whole[..end]).unwrap();
                    fs::rename(&other, &path).unwrap();
                }
            }
        });
        for number in 0..30 {
            session.fire("UserPromptSubmit", json!({ "prompt": format!("question {number}") }));
            session.fire("Stop", json!({ "last_assistant_message": "" }));
        }
        done.store(true, Ordering::Relaxed);
    });
    fs::write(&path, &whole).unwrap();
    session.fire("Stop", json!({ "last_assistant_message": "" }));
    let said = sandbox.rows("SELECT reply FROM turns WHERE reply LIKE 'answer %'");
    for number in 0..TURNS {
        let beginning = format!("answer {number} ");
        assert_eq!(said.iter().filter(|text| text.starts_with(&beginning)).count(), 1, "{beginning}");
    }
    assert!(said.iter().all(|text| text.len() > 500), "none is cut");
    check_whole(&sandbox);
}
