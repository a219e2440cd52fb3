use longhaul_core::{Config, Millis};
use longhaul_memory::Kind;
use longhaul_transcript::{Batch, Cursor, SourcedText, ToolCall, Turn};

use super::{Shelf, call};
use crate::tests::{folder, open};
use crate::{RecordId, Store, StoreError, What};

/// Makes a database as version 4 had it.
fn version_4(path: &std::path::Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    for step in &crate::migrations::STEPS[..4] {
        connection.execute_batch(step).unwrap();
    }
    connection.pragma_update(None, "user_version", 4).unwrap();
    connection
        .execute_batch(
            "INSERT INTO sessions (session_id, project, project_key, project_path, prompt_counter, created_at)
             VALUES ('old', 'p', '/p', '/p', 3, 7);
             INSERT INTO details (session_id, origin_session_id, turn_number, input_text, token_count, kind, source_id,
                                  created_at) VALUES ('old', 'old', 2, 'kept', 1, 'tool_input', 't', 8);
             INSERT INTO bookmarks (session_id, created_at, note) VALUES ('old', 9, 'note');",
        )
        .unwrap();
}

#[test]
fn a_database_of_version_4_keeps_everything() {
    let folder = folder();
    let path = folder.path().join("l.db");
    version_4(&path);
    let store = open(&path).unwrap();
    assert_eq!(store.session("old").unwrap().unwrap().prompts, 3);
    assert_eq!(store.bookmarks(None).unwrap()[0].note.as_deref(), Some("note"));
    assert_eq!(store.remember_prompt("old", Some("p"), "next", Millis(10)).unwrap(), Some(3));
    // The transcript had brought the call's input; its output is new.
    store.take_in("old", &[call("t", Kind::Command, "Ran make", 11)], None).unwrap();
    let texts: Vec<String> = store
        .connection
        .prepare("SELECT coalesce(input_text, output_text) FROM details ORDER BY rowid")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(texts, ["kept", "raw output"]);
    let mode =
        |store: &Store| store.connection.query_row("PRAGMA auto_vacuum", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(mode(&store), 0);
    store.vacuum().unwrap();
    assert_eq!(mode(&store), 2);
    assert_eq!(mode(&Shelf::new().store), 2);
    assert_eq!(store.integrity_check().unwrap(), [""; 0]);
}

#[test]
fn damage_is_told_from_other_failures() {
    let shelf = Shelf::new();
    let ids: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    let calls: Vec<_> = ids.iter().map(|id| call(id, Kind::Change, "Edited", 5)).collect();
    shelf.take("s1", &calls);
    shelf.store.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let Shelf { folder, store } = shelf;
    drop(store);
    let path = folder.path().join("l.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The header and the schema stay; every other page is rubbish.
    let whole = bytes.len();
    bytes[40_960..whole].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    match open(&path) {
        Err(error) => assert!(error.is_corrupt(), "{error:?}"),
        Ok(store) => {
            let damage = store.integrity_check();
            assert!(damage.as_ref().map_or_else(StoreError::is_corrupt, |found| !found.is_empty()), "{damage:?}");
        }
    }
    std::fs::write(&path, "not a database at all, but long enough to have a header: ".repeat(20)).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })));
}

/// A transcript with one turn and one call.
fn batch(call: &str) -> Batch {
    let mut call = ToolCall::new(call);
    call.at = Some(Millis(20));
    call.name = Some("Bash".to_owned());
    call.input = Some("from the transcript".to_owned());
    call.output = Some("from the transcript".to_owned());
    let mut turn = Turn::new("u1");
    turn.at = Some(Millis(10));
    turn.prompt = Some(SourcedText::new("u1", Some(Millis(10)), "make it"));
    turn.calls = vec![call];
    let mut batch = Batch::default();
    batch.cursor.offset = 100;
    batch.turns = vec![turn];
    batch
}

#[test]
fn the_transcript_corrects_what_memory_has_put_there() {
    let shelf = Shelf::new();
    shelf.take("s1", &[call("t", Kind::Command, "Ran make", 15)]);
    assert_eq!(shelf.count("SELECT count(*) FROM details WHERE turn_number = 0"), 2);
    let session = shelf.store.session("s1").unwrap().unwrap();
    assert!(shelf.store.ingest(&session, &Cursor::default(), &batch("t"), &Config::default(), Millis(30)).unwrap());
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 2);
    let right = "turn_number = 1 AND coalesce(input_text, output_text) = 'from the transcript'";
    assert_eq!(shelf.count(&format!("SELECT count(*) FROM details WHERE {right}")), 2);
    let turns = shelf.store.turns("s1", None, 5).unwrap().0;
    assert_eq!(turns.len(), 1);
    assert!(turns[0].skeleton.contains("make it"), "{}", turns[0].skeleton);
}

#[test]
fn the_transcript_does_not_bring_back_what_was_forgotten() {
    let shelf = Shelf::new();
    shelf.take("s1", &[call("t", Kind::Command, "Ran make", 15)]);
    shelf.store.forget(RecordId { what: What::Observation, id: 1 }).unwrap();
    let session = shelf.store.session("s1").unwrap().unwrap();
    shelf.store.ingest(&session, &Cursor::default(), &batch("t"), &Config::default(), Millis(30)).unwrap();
    assert_eq!(shelf.count("SELECT count(*) FROM details"), 0);
}
