mod agents;
mod batons;
mod bridges;
mod context;
mod foreign;
mod ingest;
mod lock_queue;
mod memory;
mod model;
mod notifications;
mod second_reader;
mod session_places;
mod sync;
mod vector_scan;
mod vector_storing;
mod vectors;

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Observation};
use longhaul_tracker::Pane;
use tempfile::TempDir;

use crate::{NewBookmark, NewObservation, NewSession, Sighting, Store, StoreError};

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, Duration::from_secs(5))
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

/// Returns where a store may be made, in a folder of its own.
fn place() -> (TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join("l.db");
    (folder, path)
}

/// Returns a store without records, and the folder that it is in.
fn empty() -> (TempDir, Store) {
    let (folder, path) = place();
    (folder, open(&path).unwrap())
}

/// Returns a session of the project `/p`, to be registered.
pub(crate) fn new_session(id: &str) -> NewSession<'_> {
    NewSession {
        session: id,
        project: "p",
        project_key: "/p",
        project_path: "/p",
        client_pid: 0,
        transcript: None,
        at: Millis(1),
    }
}

/// Returns what a hook of Claude Code tells of a session.
fn sighting<'a>(session: &'a str, pane: Option<&'a Pane>, at: u64) -> Sighting<'a> {
    Sighting {
        session,
        cwd: Some("/p"),
        project: "api",
        branch: Some("main"),
        agent_type: None,
        pane,
        target: None,
        client: "claude",
        pid: Some(7),
        at: Millis(at),
    }
}

/// Returns a tool call, as rules tell of it.
fn new_call(tool_use_id: &str, observation: Observation, at: u64) -> NewObservation<'_> {
    NewObservation {
        tool_use_id,
        prompt_number: None,
        prompt_id: None,
        observation,
        after_problem: None,
        made_by: MadeBy::Rule,
        command_key: None,
        fold_key: None,
        input: "raw input",
        response: "raw output",
        is_error: false,
        in_subagent: false,
        at: Millis(at),
    }
}

#[test]
fn a_bookmark_comes_back_as_it_was_stored() {
    let (_folder, store) = empty();
    let new = NewBookmark {
        session: "s1",
        created_at: 1_700_000_000_123,
        note: Some("before the 'rewrite'"),
        git_commit: Some("abc"),
        context_tokens: Some(42),
        ..NewBookmark::default()
    };
    store.add_bookmark(&new).unwrap();
    store.add_bookmark(&NewBookmark { session: "other", created_at: 1, ..NewBookmark::default() }).unwrap();
    store.set_dirty("s1", new.created_at, true).unwrap();

    let stored = store.bookmarks(Some("s1")).unwrap();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].note.as_deref(), Some("before the 'rewrite'"));
    assert_eq!((stored[0].created_at, stored[0].git_dirty), (1_700_000_000_123, Some(true)));
    assert_eq!(store.bookmarks(Some("s")).unwrap().len(), 1);
    assert_eq!(store.bookmarks(Some("%")).unwrap().len(), 0);
    assert_eq!(store.bookmarks(None).unwrap().len(), 2);
}

#[test]
fn opening_again_keeps_everything() {
    let (_folder, path) = place();
    open(&path).unwrap().add_bookmark(&NewBookmark { session: "s", ..NewBookmark::default() }).unwrap();
    assert_eq!(open(&path).unwrap().bookmarks(None).unwrap().len(), 1);
}

#[test]
fn ten_openings_and_writings_at_once_lose_nothing() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let store = open(&path).unwrap();
                for _ in 0..10 {
                    store.add_bookmark(&NewBookmark { session: "s", ..NewBookmark::default() }).unwrap();
                }
            });
        }
    });
    assert_eq!(open(&path).unwrap().bookmarks(Some("s")).unwrap().len(), 100);
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let (_folder, path) = place();
    open(&path).unwrap().connection.pragma_update(None, "user_version", 900).unwrap();
    assert!(matches!(open(&path), Err(StoreError::TooNew { found: 900, .. })));
}

#[test]
fn a_schema_that_only_a_reader_finds_old_is_called_old() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let read = || Store::open_to_read(&path, Duration::from_secs(5)).map(drop);
    assert!(read().is_ok());
    store.connection.pragma_update(None, "user_version", 0).unwrap();
    assert!(matches!(read(), Err(StoreError::TooOld { found: 0, .. })));
    store.connection.pragma_update(None, "user_version", 900).unwrap();
    assert!(matches!(read(), Err(StoreError::TooNew { found: 900, .. })));
}

/// The numbers of versions before the first release began at 1, too.
#[test]
fn a_database_from_before_the_first_release_is_refused_and_left_alone() {
    for version in [2, 23] {
        let (_folder, path) = place();
        let before = format!("CREATE TABLE bookmarks (id INTEGER PRIMARY KEY); PRAGMA user_version = {version};");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&before).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let error = open(&path).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Unreleased { .. }), "{error}");
        assert!(matches!(Store::open_to_read(&path, Duration::from_secs(5)), Err(StoreError::Unreleased { .. })));
        assert_eq!(crate::schema_of(&path, Duration::from_secs(5)), Some(crate::Schema::Unreleased));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn the_wal_of_a_database_from_before_the_first_release_is_copied_back() {
    let (_folder, path) = place();
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE bookmarks (id INTEGER PRIMARY KEY);").unwrap();
    let wal = || std::fs::metadata(path.with_extension("db-wal")).unwrap().len();
    assert!(wal() > 0);
    crate::copy_wal_back(&path, Duration::from_secs(5));
    assert_eq!(wal(), 0);
}

#[test]
fn the_stored_schema_has_no_comments() {
    let (_folder, store) = empty();
    let sql = "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%--%'";
    assert_eq!(store.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn what_is_no_database_is_an_error_and_left_alone() {
    let (_folder, path) = place();
    std::fs::write(&path, "not a database, but long enough to have a header: ".repeat(20)).unwrap();
    assert!(matches!(open(&path), Err(StoreError::Corrupt { .. })));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("not a database"));
}

#[test]
fn what_is_read_together_is_of_one_moment() {
    let (_folder, path) = place();
    let (reader, writer) = (open(&path).unwrap(), open(&path).unwrap());
    writer.connection.execute_batch("CREATE TABLE written (number)").unwrap();
    let count =
        || -> i64 { reader.connection.query_row("SELECT count(*) FROM written", [], |row| row.get(0)).unwrap() };
    let write = || writer.connection.execute_batch("INSERT INTO written VALUES (1)").unwrap();
    let together = reader.read_together("read", |_| {
        let before = count();
        write();
        Ok::<_, StoreError>((before, count()))
    });
    assert_eq!(together.unwrap(), (0, 0));
    assert_eq!(count(), 1);
}
