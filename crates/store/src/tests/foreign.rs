use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::folder;
use crate::{ClaudeMem, StoreError, Throughline};

const SHAPE: &str =
    "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT,
                          project TEXT, user_prompt TEXT, started_at_epoch INTEGER);
     CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, title TEXT,
                                narrative TEXT, text TEXT, facts TEXT, prompt_number INTEGER, created_at TEXT,
                                created_at_epoch INTEGER);
     INSERT INTO sdk_sessions VALUES (1, 'client', 'memory', 'shop', 'x', 1700000000000);
     INSERT INTO observations VALUES (7, 'memory', 'shop', 'bugfix', 'Fixed it', '', 'in words', '[\"a\", 2]', 1, 'x',
                                      1700000001000);
     INSERT INTO observations VALUES (8, 'nobody', 'shop', 'change', 'Astray', 'n', NULL, 'one' || char(10) || 'two',
                                      NULL, '2023-11-14T22:13:20.000Z', NULL);";

fn database(path: &Path, journal: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", journal).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection.execute_batch(SHAPE).unwrap();
    connection
}

/// Everything in a folder, byte for byte.
fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

#[track_caller]
fn is_read_and_left_alone(path: &Path) {
    let before = listing(path.parent().unwrap());
    let titles = {
        let found = ClaudeMem::open(path).unwrap();
        let sessions = found.sessions().unwrap();
        assert_eq!((sessions.len(), sessions[0].id.as_str(), found.observation_count().unwrap()), (1, "client", 2));
        let records = found.records(&sessions[0].sitting).unwrap().observations;
        records.iter().map(|head| found.observation(head).unwrap().unwrap().title).collect::<Vec<_>>()
    };
    assert_eq!(titles, ["Fixed it"]);
    let after = listing(path.parent().unwrap());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    for (file, bytes) in &after {
        // The index of a log is shared by all that one process has open; tests/it look at it from another one.
        let is_shared = file.to_string_lossy().ends_with("-shm");
        assert!(is_shared || *bytes == before[file], "{} was changed", file.display());
    }
}

#[test]
fn nothing_is_changed_in_whatever_state_the_files_are() {
    let dir = folder();
    let path = dir.path().join("what? 100% ü#.db");
    // Somebody has it open, and nothing of it is in the file itself.
    let live = database(&path, "wal");
    assert!(fs::metadata(dir.path().join("what? 100% ü#.db-wal")).unwrap().len() > 0);
    is_read_and_left_alone(&path);
    // It was killed: a log and its index are left, or a log alone.
    let left = folder();
    for end in ["", "-wal", "-shm"] {
        let name = format!("what? 100% ü#.db{end}");
        fs::copy(dir.path().join(&name), left.path().join(&name)).unwrap();
    }
    is_read_and_left_alone(&left.path().join("what? 100% ü#.db"));
    fs::remove_file(left.path().join("what? 100% ü#.db-shm")).unwrap();
    is_read_and_left_alone(&left.path().join("what? 100% ü#.db"));
    // It has ended as it should.
    live.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).unwrap();
    live.close().unwrap();
    assert_eq!(listing(dir.path()).len(), 1);
    is_read_and_left_alone(&path);
    // It never had a log.
    let plain = folder();
    drop(database(&plain.path().join("a.db"), "delete"));
    is_read_and_left_alone(&plain.path().join("a.db"));
}

#[test]
fn somebody_may_write_while_it_is_read() {
    let dir = folder();
    let path = dir.path().join("a.db");
    let live = database(&path, "wal");
    let found = ClaudeMem::open(&path).unwrap();
    live.execute("DELETE FROM observations", []).unwrap();
    assert_eq!(found.observation_count().unwrap(), 2);
    drop(found);
    assert_eq!(ClaudeMem::open(&path).unwrap().observation_count().unwrap(), 0);
}

#[test]
fn values_of_other_types_are_read_as_far_as_they_go() {
    let dir = folder();
    let path = dir.path().join("a.db");
    drop(database(&path, "delete"));
    let found = ClaudeMem::open(&path).unwrap();
    let session = &found.sessions().unwrap()[0];
    let records = found.records(&session.sitting).unwrap();
    let observation = found.observation(&records.observations[0]).unwrap().unwrap();
    assert_eq!(
        (observation.narrative.as_str(), records.observations[0].at.unwrap().0),
        ("in words", 1_700_000_001_000)
    );
    assert_eq!(observation.facts, ["a", "2"]);
    let stray = &found.strays().unwrap()[0];
    assert_eq!(
        (stray.at.unwrap().0, found.observation(stray).unwrap().unwrap().facts),
        (1_700_000_000_000, vec!["one".to_owned(), "two".to_owned()])
    );
    assert_eq!((records.prompts.len(), records.summaries.len()), (0, 0));
}

#[test]
fn the_first_shape_names_sessions_by_their_row() {
    let dir = folder();
    let path = dir.path().join("a.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, project TEXT, created_at INTEGER);
             CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, session_id INTEGER, prompt_number INTEGER, prompt TEXT,
                                        created_at INTEGER);
             CREATE TABLE observations (id INTEGER PRIMARY KEY, session_id INTEGER, tool_name TEXT, tool_input_text TEXT,
                                        tool_response_text TEXT, compressed_observation TEXT, created_at INTEGER);
             CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, session_id INTEGER, request TEXT, created_at INTEGER);
             INSERT INTO sdk_sessions VALUES (3, 'client', 'shop', 1700000000);
             INSERT INTO user_prompts VALUES (1, 3, 1, 'why?', 1700000000);
             INSERT INTO observations VALUES (1, 3, 'Bash', '{}', 'ok', 'It ran', 1700000002);
             INSERT INTO session_summaries VALUES (1, 3, 'asked', 1700000003);",
        )
        .unwrap();
    let found = ClaudeMem::open(&path).unwrap();
    let session = &found.sessions().unwrap()[0];
    assert_eq!((session.id.as_str(), session.at.unwrap().0), ("client", 1_700_000_000_000));
    let records = found.records(&session.sitting).unwrap();
    assert_eq!(found.prompt(&records.prompts[0]).unwrap().unwrap(), "why?");
    let observation = found.observation(&records.observations[0]).unwrap().unwrap();
    assert_eq!(
        (observation.narrative.as_str(), observation.tool.as_str(), observation.response.as_str()),
        ("It ran", "Bash", "ok")
    );
    assert_eq!(found.summary(&records.summaries[0]).unwrap().unwrap().summary.request, "asked");
    assert_eq!(found.strays().unwrap().len(), 0);
}

#[test]
fn what_is_no_such_database_is_refused_by_name() {
    let dir = folder();
    let path = dir.path().join("a.db");
    let refused = |result: Result<ClaudeMem, StoreError>| result.map(drop).unwrap_err().to_string();
    for (content, why) in
        [(&b""[..], "no SQLite database"), (b"hello, this is a text of some length", "no SQLite database")]
    {
        fs::write(&path, content).unwrap();
        assert!(refused(ClaudeMem::open(&path)).contains(why));
    }
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE observations (id);").unwrap();
    let message = refused(ClaudeMem::open(&path));
    assert!(message.contains("a.db") && message.contains("no table sdk_sessions"), "{message}");
    assert!(Throughline::open(&path).map(drop).unwrap_err().to_string().contains("no table sessions"));
    fs::remove_file(&path).unwrap();
    // A page in the middle is gone.
    let connection = database(&path, "delete");
    connection.execute_batch("BEGIN").unwrap();
    for id in 100..3000 {
        let row = "INSERT INTO observations (id, title, narrative) VALUES (?1, 'x', hex(randomblob(100)))";
        connection.execute(row, [id]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 8192].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    let message = ClaudeMem::open(&path).map(drop).map_err(|error| format!("{error:?}")).unwrap_err();
    assert!(message.contains("damaged") || message.contains("malformed"), "{message}");
}

#[test]
fn turns_of_throughline_come_with_their_details() {
    let dir = folder();
    let path = dir.path().join("a.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, project_path TEXT, created_at INTEGER, merged_into TEXT);
             CREATE TABLE bodies (id INTEGER PRIMARY KEY, session_id TEXT, origin_session_id TEXT, turn_number INTEGER,
                                  role TEXT, text TEXT, created_at INTEGER);
             CREATE TABLE details (id INTEGER PRIMARY KEY, session_id TEXT, origin_session_id TEXT, turn_number INTEGER,
                                   tool_name TEXT, input_text TEXT, output_text TEXT, created_at INTEGER, kind TEXT,
                                   source_id TEXT);
             INSERT INTO sessions VALUES ('old', '/p', 1700000000000, 'new'), ('new', '/p', 1700000009000, NULL),
                                         ('mute', '/p', 1700000010000, NULL);
             INSERT INTO bodies VALUES (1, 'new', 'old', 3, 'user', 'why?', 1700000001000),
                                       (2, 'new', 'old', 3, 'assistant', 'because', 1700000004000),
                                       (3, 'new', 'new', 1, 'user', 'more', 1700000010000);
             INSERT INTO details VALUES (1, 'new', 'old', 3, 'Bash', '{}', NULL, 1700000002000, 'tool_input', 't1'),
                                        (2, 'new', 'old', 3, 'Bash', NULL, 'ok', 1700000003000, 'tool_output', 't1:result');",
        )
        .unwrap();
    let found = Throughline::open(&path).unwrap();
    let ids: Vec<String> = found.sessions().unwrap().into_iter().map(|session| session.id).collect();
    assert_eq!(ids, ["old", "new"]);
    let sizes = found.turn_sizes("old").unwrap();
    assert_eq!(sizes.iter().map(|size| (size.number, size.bytes)).collect::<Vec<_>>(), [(3, 15)]);
    assert_eq!(found.turns("old", 3, i64::MAX).unwrap(), []);
    let turns = found.turns("old", i64::MIN, 3).unwrap();
    assert_eq!((turns.len(), turns[0].asked.as_str(), turns[0].replied.as_str()), (1, "why?", "because"));
    let sources: Vec<&str> = turns[0].details.iter().map(|detail| detail.source.as_str()).collect();
    assert_eq!(sources, ["t1", "t1:result"]);
}

#[test]
fn of_a_text_that_is_too_long_only_the_beginning_is_read() {
    let dir = folder();
    let path = dir.path().join("a.db");
    let connection = database(&path, "delete");
    let sql = "UPDATE observations SET title = printf('%.*c', ?1, 'x'), narrative = printf('%.*c', ?2, 'y')";
    connection.execute(sql, [2 << 20, 65 << 20]).unwrap();
    drop(connection);
    let found = ClaudeMem::open(&path).unwrap();
    let records = found.records(&found.sessions().unwrap()[0].sitting).unwrap();
    let observation = found.observation(&records.observations[0]).unwrap().unwrap();
    assert_eq!(observation.title.len(), 1 << 20);
    assert_eq!(observation.narrative, "(left out: 68157440 bytes)");
}
