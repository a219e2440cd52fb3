//! What is read of a damaged database, and what becomes of it in the new one.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Summary};
use rusqlite::Connection;

use super::{Shelf, call};
use crate::{NewBookmark, NewNote, Salvaged, Sanitizer, Store, StoreError, What};

const PAGE: usize = 4096;
const NOW: Millis = Millis(2_000_000_000_000);
const BEGAN: u64 = 1_700_000_000_000;
const RECORDS: usize = 180;

/// Fills a database with 180 records: 60 prompts, some of them long, 100 calls, 14 notes and 6 summaries.
fn fill(store: &Store) {
    for number in 0..60_u64 {
        let session = format!("old{}", number % 6);
        if number < 6 {
            let new = crate::NewSession { at: Millis(BEGAN + number), ..crate::tests::new_session(&session) };
            store.register_session(&new).unwrap();
        }
        let prompt = format!("prompt {number} {}", "of some length ".repeat(if number % 7 == 0 { 600 } else { 5 }));
        store.count_prompt(&session, Some(&prompt)).unwrap();
        let at = Millis(BEGAN + 1000 * number);
        store.remember_prompt(&session, Some(&format!("id{number}")), &prompt, at).unwrap().unwrap();
    }
    for number in 0..100_u64 {
        let id = format!("call{number}");
        let observed =
            call(&id, Kind::Command, &format!("Ran program{number} with its arguments"), BEGAN + 100 * number);
        store.take_in(&format!("old{}", number % 6), &[observed], None).unwrap();
    }
    for number in 0..14 {
        let (title, text) = (format!("note {number}"), format!("text of note {number}"));
        let note = NewNote {
            session: None,
            project_key: "/p",
            project: "p",
            title: &title,
            text: &text,
            at: Millis(BEGAN + number),
        };
        store.save_note(&note).unwrap();
    }
    for number in 0..6 {
        let mut summary = Summary::default();
        summary.request = format!("summary {number}");
        store.write_summary(&format!("old{number}"), 10, &summary, MadeBy::Rule, Millis(BEGAN + number)).unwrap();
    }
    let sql = "INSERT INTO snapshots (session_id, created_at, kind, pinned, tree_key, commit_id)
               VALUES ('old1', ?1, 'prompt', 0, 'repository-1/tree_2', 'abc')";
    store.connection.execute(sql, [BEGAN as i64]).unwrap();
    store.add_bookmark(&NewBookmark { session: "old1", created_at: BEGAN, ..NewBookmark::default() }).unwrap();
    let sql = "INSERT INTO known_ids VALUES ('a call', 'repeat', 'call1'), ('old1', 'private', NULL);
               UPDATE observations SET repeats = 1 WHERE tool_use_id = 'call1'";
    store.connection.execute_batch(sql).unwrap();
    store.reserve_tokens(1, "2026-11-14", 10, 100).unwrap().unwrap();
}

/// Returns a full database as one file.
fn full(dir: &Path) -> PathBuf {
    let path = dir.join("full.db");
    fill(&super::open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    path
}

fn damage(from: &Path, page: usize, byte: impl Fn(usize) -> u8) -> PathBuf {
    let mut bytes = fs::read(from).unwrap();
    for (at, old) in bytes[page * PAGE..(page + 1) * PAGE].iter_mut().enumerate() {
        *old = byte(at);
    }
    let path = from.with_file_name("damaged.db");
    fs::write(&path, bytes).unwrap();
    path
}

fn salvage(shelf: &Shelf, path: &Path, key: &str) -> Option<Salvaged> {
    shelf.store.salvage(path, key, Sanitizer::default(), NOW).unwrap()
}

fn records(salvaged: &Salvaged) -> usize {
    salvaged.prompts + salvaged.observations + salvaged.summaries
}

fn stored(shelf: &Shelf) -> usize {
    ["prompts", "observations", "session_summaries"]
        .iter()
        .map(|table| shelf.count(&format!("SELECT count(*) FROM {table}")) as usize)
        .sum()
}

#[test]
fn one_damaged_page_costs_at_most_what_was_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let full = full(dir.path());
    let pages = fs::metadata(&full).unwrap().len() as usize / PAGE;
    let step = pages / 20;
    let mut whole = 0;
    for (round, page) in (0..pages).step_by(step).enumerate() {
        let damaged = match round % 3 {
            0 => damage(&full, page, |_| 0xa5),
            1 => damage(&full, page, |_| 0),
            _ => damage(&full, page, |at| ((at * 7919) >> 3) as u8),
        };
        let shelf = Shelf::new();
        let salvaged = salvage(&shelf, &damaged, "key").unwrap();
        assert_eq!(records(&salvaged), stored(&shelf), "page {page}: {salvaged:?}");
        // What can be read is back: a page has at most 40 rows, and an overflow page is of one.
        let lost = RECORDS - stored(&shelf);
        let said = salvaged.damaged_pages + salvaged.damaged_rows;
        assert!(lost <= 40 && (lost == 0 || said > 0), "page {page} of {pages}: {lost} are lost: {salvaged:?}");
        whole += usize::from(lost == 0);
        if round % 5 == 0 {
            shelf.is_sound();
            let query = longhaul_memory::Query::parse("arguments");
            let found = shelf.store.search(&crate::SearchQuery { query: Some(&query), limit: 5, ..Default::default() });
            assert_eq!(found.unwrap().len(), 5);
        }
    }
    assert!(whole * 2 > pages / step, "{whole}");
}

#[test]
fn a_whole_file_comes_back_once_beside_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let full = full(dir.path());
    let shelf = Shelf::new();
    // A session that goes on has been asked again, and numbers are taken.
    shelf.session("old1", "/p", NOW.0 - 10);
    shelf.store.count_prompt("old1", Some("and now?")).unwrap();
    shelf.store.remember_prompt("old1", Some("new"), "and now?", Millis(NOW.0 - 5)).unwrap();
    shelf.take("old1", &[call("new call", Kind::Command, "Ran something new", NOW.0 - 4)]);
    let salvaged = salvage(&shelf, &full, "key").unwrap();
    assert_eq!((salvaged.prompts, salvaged.observations, salvaged.summaries), (60, 114, 6));
    assert_eq!((salvaged.bookmarks, salvaged.snapshots), (1, 1));
    assert_eq!((salvaged.damaged_pages, salvaged.damaged_rows, salvaged.missing_tables), (0, 0, 0));
    assert_eq!(stored(&shelf), RECORDS + 2);
    let numbers = shelf.count("SELECT max(prompt_number) FROM prompts WHERE prompt = 'and now?'");
    assert_eq!(numbers, 11, "after the ten that it had before");
    assert_eq!(shelf.count("SELECT prompt_number FROM observations WHERE tool_use_id = 'new call'"), 11);
    assert_eq!(shelf.count("SELECT prompt_counter FROM sessions WHERE session_id = 'old1'"), 11);
    assert_eq!(shelf.count("SELECT observations FROM projects WHERE project_key = '/p'"), 115);
    shelf.is_sound();
    // What is forgotten then does not come back.
    let note = shelf.count("SELECT id FROM observations WHERE title = 'note 3'");
    assert!(shelf.store.forget(crate::RecordId { what: What::Observation, id: note }).unwrap());
    assert_eq!(salvage(&shelf, &full, "key"), None);
    assert_eq!(stored(&shelf), RECORDS + 1);
    // The same file under another key, as if its content had changed: only the note is not known here.
    assert_eq!(records(&salvage(&shelf, &full, "other").unwrap()), 1);
    assert_eq!(stored(&shelf), RECORDS + 2);
    assert_eq!(shelf.count("SELECT count(*) FROM known_ids WHERE scope = 'old1' AND id = 'private'"), 1);
    assert_eq!(shelf.store.model_spending("2026-11-14").unwrap().total(), 0, "nobody waits for that request");
    let call = shelf.count("SELECT id FROM observations WHERE tool_use_id = 'call1'");
    assert!(shelf.store.forget(crate::RecordId { what: What::Observation, id: call }).unwrap());
    let forgotten = "SELECT count(*) FROM known_ids WHERE id IN ('call1', 'repeat') AND same_as IS NULL";
    assert_eq!(shelf.count(forgotten), 2, "with what repeats it");
    shelf.is_sound();
}

#[test]
fn ids_come_back_although_the_schema_names_neither_their_table_nor_its_index() {
    let dir = tempfile::tempdir().unwrap();
    let path = full(dir.path());
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             DELETE FROM sqlite_schema WHERE tbl_name = 'known_ids';
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
    drop(connection);
    // Trees are looked through in no fixed order.
    for _ in 0..4 {
        let shelf = Shelf::new();
        let salvaged = salvage(&shelf, &path, "key").unwrap();
        assert_eq!((salvaged.damaged_rows, salvaged.missing_tables), (0, 0));
        assert_eq!(shelf.count("SELECT count(*) FROM known_ids WHERE scope = 'old1' AND id = 'private'"), 1);
        let repeats = "SELECT count(*) FROM known_ids WHERE scope = 'a call' AND id = 'repeat' AND same_as = 'call1'";
        assert_eq!(shelf.count(repeats), 1);
    }
}

#[test]
fn a_salvage_that_was_killed_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let full = full(dir.path());
    let shelf = Shelf::new();
    // As if it had been killed in each of its transactions.
    for at in ["known_ids", "turns", "observations", "session_summaries", "details", "bookmarks"] {
        let sql = format!("CREATE TRIGGER stop BEFORE INSERT ON {at} BEGIN SELECT raise(ABORT, 'stop'); END;");
        shelf.store.connection.execute_batch(&sql).unwrap();
        let stopped = shelf.store.salvage(&full, "key", Sanitizer::default(), NOW);
        assert!(stopped.is_err(), "{at}");
        shelf.store.connection.execute_batch("DROP TRIGGER stop").unwrap();
    }
    let _ = salvage(&shelf, &full, "key");
    assert_eq!(stored(&shelf), RECORDS);
    shelf.is_sound();
}

#[test]
fn what_was_forgotten_or_is_free_stays_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("full.db");
    let store = super::open(&path).unwrap();
    fill(&store);
    store.forget_session("old2", NOW).unwrap();
    drop(store);
    let shelf = Shelf::new();
    shelf.session("old3", "/p", NOW.0);
    shelf.store.forget_session("old3", NOW).unwrap();
    // The log beside the file is read, too.
    let salvaged = salvage(&shelf, &path, "key").unwrap();
    assert!(salvaged.known > 20, "{salvaged:?}");
    let of = |session: &str| {
        shelf.count(&format!(
            "SELECT count(*) FROM prompts WHERE session_id = (SELECT id FROM sessions WHERE session_id = '{session}')"
        ))
    };
    assert_eq!(["old1", "old2", "old3"].map(of), [10, 0, 0]);
}

#[test]
fn a_hostile_file_runs_nothing_and_names_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = full(dir.path());
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "DROP TABLE model_spending;
             CREATE VIEW model_spending AS SELECT load_extension('/nowhere/x.so') AS day;
             CREATE TRIGGER evil AFTER INSERT ON sessions BEGIN SELECT load_extension('/nowhere/x.so'); END;
             UPDATE sessions SET session_id = '../../escape' WHERE session_id = 'old1';
             UPDATE sessions SET created_at = 9223372036854775807 WHERE session_id = 'old4';
             UPDATE snapshots SET tree_key = 'repository/../../escape';
             PRAGMA ignore_check_constraints = ON;
             UPDATE observations SET kind = 'odd', created_at = 9223372036854775807 WHERE id = 3;
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
    drop(connection);
    let shelf = Shelf::new();
    let salvaged = salvage(&shelf, &path, "key").unwrap();
    assert!(salvaged.damaged_rows >= 3 && salvaged.missing_tables == 1, "{salvaged:?}");
    assert_eq!(salvaged.snapshots, 0);
    assert_eq!(shelf.count("SELECT count(*) FROM sessions WHERE session_id LIKE '%/%'"), 0);
    assert_eq!(shelf.count("SELECT count(*) FROM sqlite_schema WHERE name = 'evil'"), 0);
    assert!(shelf.count("SELECT max(created_at) FROM sessions") <= NOW.0 as i64);
    // Garbage, another program's database and an empty file are none of ours.
    let other = dir.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE sessions (id INTEGER PRIMARY KEY, x TEXT)").unwrap();
    for (name, bytes) in [("garbage", "garbage".repeat(3000).into_bytes()), ("empty", Vec::new())] {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    for name in ["other.db", "garbage", "empty", "nowhere", "."] {
        let refused = shelf.store.salvage(&dir.path().join(name), name, Sanitizer::default(), NOW);
        assert!(matches!(refused, Err(StoreError::Foreign { .. })), "{name}: {refused:?}");
    }
}
