//! The indexes and counts are kept by code: they must agree with the records, whoever writes, changes or deletes those.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};

use super::Shelf;
use super::import_from::{moved, turns};
use crate::{Moved, RecordId, Store, What};

/// Fails if an index of trigrams or a count differs from what the rows say.
pub(crate) fn assert_consistent(store: &Store) {
    for index in ["prompt_trigrams", "observation_trigrams"] {
        let check = format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)");
        store.connection.execute(&check, []).unwrap_or_else(|error| panic!("{index}: {error}"));
    }
    let wrong = "SELECT count(*) FROM projects p
                 WHERE observations <> (SELECT count(*) FROM observations o WHERE o.project_id = p.id)";
    assert_eq!(store.connection.query_row(wrong, [], |row| row.get::<_, i64>(0)), Ok(0));
}

#[test]
fn indexes_agree_with_the_records() {
    let mut shelf = Shelf::new();
    let summary = Summary::new("by rule");
    shelf.store.remember_prompt("s1", None, "asked before", Millis(5)).unwrap();
    shelf.store.write_summary("s1", 1, &summary, MadeBy::Rule, Millis(5)).unwrap();
    let note: Moved<(String, String)> = moved("n1", 7, ("title".to_owned(), "text".to_owned()));
    let bulk = shelf.store.bulk().unwrap();
    bulk.move_in("claude-mem", "s1", &turns(), 1).unwrap().unwrap();
    bulk.move_note_in("claude-mem", "/q", "q", &note).unwrap();
    bulk.write_past_summary("s1", 1, &Summary::new("again"), Millis(9)).unwrap();
    drop(bulk);
    assert_consistent(&shelf.store);
    shelf.store.forget(RecordId { what: What::Observation, id: 1 }).unwrap();
    shelf.store.forget(RecordId { what: What::Prompt, id: 1 }).unwrap();
    assert_consistent(&shelf.store);
    shelf.store.forget_project("/q", Millis(20)).unwrap();
    assert_consistent(&shelf.store);
    shelf.store.forget_everything(Millis(20)).unwrap();
    assert_consistent(&shelf.store);
}
