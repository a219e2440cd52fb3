//! A database of every earlier version opens, and keeps every value of every row.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{folder, open};
use crate::migrations::STEPS;

/// A row for every table that a version adds, by the number of the version.
const ROWS: [(usize, &str); 9] = [
    (1, "INSERT INTO bookmarks (session_id, created_at, note, git_dirty) VALUES ('s', 10, 'before', 1);"),
    (
        2,
        "INSERT INTO agents (session_id, status, reason, project_name, started_at, updated_at, touched_ms)
             VALUES ('s', 'blocked', 'asks', 'p', 1, 2, 3);",
    ),
    (3, "INSERT INTO context (session_id, model, window_tokens, recorded_ms) VALUES ('s', 'm', 200000, 4);"),
    (
        4,
        "INSERT INTO sessions (session_id, project, project_key, project_path, prompt_counter, read_offset, created_at)
             VALUES ('s', 'p', '/p', '/p', 1, 99, 5);
         INSERT INTO links (session_id, uuid, position, turn) VALUES ('s', 'u', 0, 't');
         INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, pending_reply, created_at)
             VALUES ('s', 's', 1, 't', 'user', 'pending', 6);
         INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
             VALUES ('s', 's', 1, 'user', 'asked', 2, 6), ('s', 's', 1, 'assistant', 'replied', 2, 7);
         INSERT INTO skeletons (session_id, origin_session_id, turn_number, role, summary, created_at)
             VALUES ('s', 's', 1, 'turn', 'asked → replied', 6);
         INSERT INTO details (session_id, origin_session_id, turn_number, input_text, token_count, kind, source_id,
                              created_at) VALUES ('s', 's', 1, 'input', 2, 'tool_input', 'call', 8);
         INSERT INTO handoff_batons (project_path, client_pid, session_id, trigger, created_at)
             VALUES ('/p', 1, 's', 'clear', 9);
         INSERT INTO injection_log (session_id, event_type, created_at) VALUES ('s', 'injected', 10);",
    ),
    (
        5,
        "INSERT INTO continuations (session_id, project_path, state, since, created_at)
             VALUES ('s', '/p', 'asked', 11, 11);
         INSERT INTO continuation_steps (continuation_id, session_id, round, state, attempt, reason, at, deadline)
             VALUES (1, 's', 1, 'asked', 1, 'full', 11, 12);
         INSERT INTO continuation_handoffs (continuation_id, round, session_id, front, body, remaining, at)
             VALUES (1, 1, 's', '', 'body', 'left', 13);",
    ),
    (
        6,
        "INSERT INTO projects (project_key, name) VALUES ('/p', 'p');
         INSERT INTO private_ids (session_id, id) VALUES ('s', 'hidden');
         INSERT INTO user_prompts (session_id, project_id, prompt_number, prompt_id, prompt, created_at)
             VALUES (1, 1, 1, 'id', 'asked', 6);
         INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title, narrative,
                                   facts, files_read, files_modified, made_by, created_at)
             VALUES (1, 1, 1, 'call', 'command', 'Bash', 'Ran make', 'built', '[]', '[]', '[]', 'rule', 8);
         INSERT INTO folded_calls (tool_use_id, observation_id) VALUES ('again', 1);
         INSERT INTO session_summaries (session_id, project_id, prompt_number, request, investigated, learned, completed,
                                        next_steps, made_by, created_at)
             VALUES (1, 1, 1, 'asked', '', 'learned', 'done', '', 'rule', 14);",
    ),
    (
        7,
        "INSERT INTO model_days (day, requests, tokens_in) VALUES ('2026-11-14', 1, 2);
         INSERT INTO model_reservations (prompt_id, day, tokens) VALUES (1, '2026-11-14', 3);
         INSERT INTO model_failures (prompt_id, attempts, next_at) VALUES (1, 2, 15);
         INSERT INTO model_trouble (id, at, error) VALUES (1, 16, 'refused');",
    ),
    (8, "INSERT INTO bridges (client_pid, plugin, heard_ms, errand) VALUES (7, 'longhaul', 17, 'compact');"),
    (9, "INSERT INTO moved_in (origin, key) VALUES ('another program', 'record');"),
];

/// Makes a database as a version left it, with a row in every table.
fn database_of(version: usize, connection: &Connection) {
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    for (step, number) in STEPS[..version].iter().zip(1..) {
        connection.execute_batch(step).unwrap();
        for (_, rows) in ROWS.iter().filter(|(added_by, _)| *added_by == number) {
            connection.execute_batch(rows).unwrap();
        }
    }
    connection.pragma_update(None, "user_version", version as u32).unwrap();
}

/// A table with the names of its columns, without those of the search indexes.
fn tables(connection: &Connection) -> Vec<(String, String)> {
    let sql = "SELECT t.name, (SELECT group_concat('\"' || c.name || '\"') FROM pragma_table_info(t.name) c)
               FROM pragma_table_list t WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
               ORDER BY t.name";
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Returns every value of some columns of every row.
fn rows(connection: &Connection, (table, columns): &(String, String)) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table} ORDER BY {columns}")).unwrap();
    let width = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| (0..width).map(|column| row.get(column)).collect();
    statement.query_map([], read).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_database_of_every_earlier_version_keeps_every_row() {
    for version in 1..STEPS.len() {
        let folder = folder();
        let path = folder.path().join("longhaul.db");
        let connection = Connection::open(&path).unwrap();
        database_of(version, &connection);
        let tables = tables(&connection);
        let before: Vec<_> = tables.iter().map(|table| rows(&connection, table)).collect();
        // From version 10 on, steps add indexes, columns, and tables that programs fill.
        let filled = before.iter().filter(|rows| !rows.is_empty()).count();
        assert!(filled >= version.min(9), "version {version}: {filled} tables have rows");
        drop(connection);
        let store = open(&path).unwrap();
        for (table, before) in tables.iter().zip(before) {
            assert_eq!(rows(&store.connection, table), before, "version {version}: {}", table.0);
        }
        assert_eq!(store.integrity_check().unwrap(), [""; 0], "version {version}");
        if version >= 6 {
            let record = &store.records(&[crate::RecordId { what: crate::What::Observation, id: 1 }]).unwrap()[0];
            assert_eq!((record.session.as_deref(), record.project.as_str()), (Some("s"), "p"), "version {version}");
        }
    }
}
