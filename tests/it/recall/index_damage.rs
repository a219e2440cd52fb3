//! A search index that is damaged: built again from the records, also where that is interrupted.

use rusqlite::Connection;
use serde_json::json;

use super::{first, memory, remembering};
use crate::sandbox::{Sandbox, payload};

fn database(sandbox: &Sandbox) -> Connection {
    Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap()
}

/// Overwrites every page of the index.
fn damage(sandbox: &Sandbox) {
    database(sandbox).execute("UPDATE passage_terms_data SET block = x'00' WHERE id > 10", []).unwrap();
}

#[test]
fn a_damaged_index_is_built_again_by_a_search() {
    let sandbox = remembering();
    damage(&sandbox);
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
    assert_eq!(first(&sandbox, &["Heizmatten"])["type"], "prompt");
}

#[test]
fn a_rebuild_that_cannot_begin_leaves_the_index_to_the_next_search() {
    let sandbox = remembering();
    damage(&sandbox);
    let fails = "CREATE TRIGGER fails BEFORE UPDATE ON passage_backlog BEGIN SELECT RAISE(ABORT, 'no room'); END";
    database(&sandbox).execute_batch(fails).unwrap();
    let failed = memory(&sandbox, &["search", "importer"]);
    assert!(failed.stderr.contains("corruption"), "{failed:?}");
    database(&sandbox).execute_batch("DROP TRIGGER fails").unwrap();
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}

#[test]
fn a_rebuild_that_is_interrupted_goes_on_later() {
    let sandbox = remembering();
    damage(&sandbox);
    // Emptying the index succeeds, and no step of the building.
    let fails = "CREATE TRIGGER fails BEFORE UPDATE ON passage_backlog WHEN new.todo < old.todo
                 BEGIN SELECT RAISE(ABORT, 'killed'); END";
    database(&sandbox).execute_batch(fails).unwrap();
    assert_ne!(memory(&sandbox, &["search", "importer"]).status, Some(0));
    // It stands in a reply only: no older index has it.
    let unbuilt = memory(&sandbox, &["search", "exchange rates"]);
    assert!(unbuilt.stderr.contains("nothing found"), "{unbuilt:?}");
    let rows = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH '\"=wp\"'";
    let indexed: i64 = database(&sandbox).query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(indexed, 0, "nothing is in the index that its progress does not say");
    database(&sandbox).execute_batch("DROP TRIGGER fails").unwrap();
    assert_eq!(memory(&sandbox, &["upkeep"]).status, Some(0));
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}

#[test]
fn a_prompt_finds_a_damaged_index_and_nothing_is_lost() {
    let sandbox = remembering();
    damage(&sandbox);
    let all = json!({ "session_id": "dddd-4444", "cwd": sandbox.project(), "prompt_id": "p1",
                      "prompt": "what made the importer stall?", "transcript_path": "/nowhere.jsonl" });
    let outcome = sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", all));
    assert_eq!((outcome.status, outcome.json()["continue"].as_bool()), (Some(0), Some(true)), "{outcome:?}");
    assert!(!sandbox.data_dir().join("longhaul.db.damaged-1").exists());
    assert_eq!(first(&sandbox, &["exchange rates lock"])["id"], "P1");
}
