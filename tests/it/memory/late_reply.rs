//! A reply that comes after its prompt was forgotten: it is not kept, and belongs to no other prompt.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::Session;
use crate::past::{Past, holding};
use crate::sandbox::Sandbox;

/// 2026-11-01, 00:00 UTC: where the transcripts begin, with a minute for each entry.
const MIDNIGHT: u64 = 1_793_491_200_000;
const MINUTE: u64 = 60_000;

fn at(sandbox: Sandbox, minute: u64) -> Sandbox {
    sandbox.at(MIDNIGHT + minute * MINUTE).with_env("TZ", "UTC")
}

fn forget(sandbox: &Sandbox, id: &str) {
    let forgotten = sandbox.longhaul(&["memory", "forget", id, "--yes"]);
    assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
}

/// Returns what was replied to each prompt, by the index of passages.
fn replies(sandbox: &Sandbox) -> Vec<String> {
    sandbox.rows(
        "SELECT passage || ': ' || count(*) FROM turns WHERE passage IS NOT NULL GROUP BY passage ORDER BY passage",
    )
}

#[test]
fn a_late_reply_is_not_taken_for_one_to_the_prompt_before() {
    let sandbox = at(Sandbox::new(), 0);
    let session = Session::new(&sandbox, "aaaa");
    session.prompt("why does the importer stall?");
    session.stop("The rates hold the lock.");
    let sandbox = at(sandbox, 5);
    let session = Session::new(&sandbox, "aaaa");
    session.prompt.store(1, Ordering::Relaxed);
    session.prompt("what opens the vault?");
    forget(&sandbox, "P2");
    session.stop("The word is zanzibar.");
    let first = sandbox.longhaul(&["memory", "get", "P1"]).stdout;
    assert!(first.contains("The rates hold the lock.") && !first.contains("zanzibar"), "{first}");
    assert!(holding(&sandbox.data_dir(), "zanzibar").is_empty());
    // What is asked next is kept as ever.
    let sandbox = at(sandbox, 9);
    let session = Session::new(&sandbox, "aaaa");
    session.prompt.store(2, Ordering::Relaxed);
    session.prompt("and how large is a chunk?");
    session.stop("A chunk has 500 rows.");
    let next = sandbox.longhaul(&["memory", "get", "P3"]).stdout;
    assert!(next.contains("A chunk has 500 rows."), "{next}");
    assert_eq!(replies(&sandbox), ["1: 1", "3: 1"]);
}

#[test]
fn a_transcript_does_not_bring_back_a_forgotten_prompt_and_its_reply() {
    let sandbox = at(Sandbox::new(), 0);
    let mut past = Past::new(&sandbox, "aaaa");
    let transcript = json!({ "transcript_path": past.path });
    let fire = |sandbox: &Sandbox, name: &str, mut changes: serde_json::Value| {
        changes.as_object_mut().unwrap().extend(transcript.as_object().unwrap().clone());
        Session::new(sandbox, "aaaa").fire(name, changes);
    };
    past.prompt("why does the importer stall?");
    fire(&sandbox, "UserPromptSubmit", json!({ "prompt": "why does the importer stall?", "prompt_id": "p1" }));
    past.reply("The rates hold the lock.");
    fire(&sandbox, "Stop", json!({ "last_assistant_message": "The rates hold the lock." }));
    let sandbox = at(sandbox, 2);
    fire(&sandbox, "UserPromptSubmit", json!({ "prompt": "what opens the vault, xanadu?", "prompt_id": "p2" }));
    let second = sandbox.rows("SELECT 'P' || max(id) FROM prompts").remove(0);
    forget(&sandbox, &second);
    past.prompt("what opens the vault, xanadu?").reply("The word is zanzibar.");
    fire(&sandbox, "Stop", json!({ "last_assistant_message": "The word is zanzibar." }));
    assert_eq!(replies(&sandbox), ["1: 1"]);
    for word in ["xanadu", "zanzibar"] {
        assert!(holding(&sandbox.data_dir(), word).is_empty(), "{word}: {:?}", holding(&sandbox.data_dir(), word));
    }
    assert_eq!(sandbox.rows("SELECT reply FROM turns WHERE reply IS NOT NULL"), ["The rates hold the lock."]);
}
