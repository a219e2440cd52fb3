//! The bulk mode writes the indexes by statements of its own. What it leaves must be what the schema's triggers leave.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};

use super::Shelf;
use super::import_from::{moved, turns};
use crate::tests::open;
use crate::{Moved, Store};

/// The indexes that triggers maintain.
const INDEXES: [&str; 2] = ["prompt_trigrams", "observation_trigrams"];

/// Copies every row of the attached database `source` that is not there yet, with the triggers on.
const COPY: &str = "
    INSERT INTO projects (id, project_key, name)
        SELECT id, project_key, name FROM source.projects WHERE id NOT IN (SELECT id FROM main.projects);
    INSERT INTO turns (id, session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at)
        SELECT id, session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at FROM source.turns
        WHERE id NOT IN (SELECT id FROM main.turns);
    INSERT INTO observations (id, session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title, narrative,
                              facts, files_read, files_modified, made_by, created_at)
        SELECT id, session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title, narrative, facts,
               files_read, files_modified, made_by, created_at FROM source.observations
        WHERE id NOT IN (SELECT id FROM main.observations);
    UPDATE session_summaries SET request = (SELECT s.request FROM source.session_summaries s
                                            WHERE s.id = session_summaries.id);
    INSERT INTO session_summaries (id, session_id, project_id, prompt_number, request, investigated, learned, completed,
                                   next_steps, made_by, created_at)
        SELECT id, session_id, project_id, prompt_number, request, investigated, learned, completed, next_steps, made_by,
               created_at FROM source.session_summaries
        WHERE id NOT IN (SELECT id FROM main.session_summaries);";

/// Returns what the indexes hold, one text per term and row, and how many observations each project counts.
fn indexed(store: &Store) -> Vec<String> {
    let connection = &store.connection;
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let mut found = texts("SELECT project_key || ' ' || observations FROM projects ORDER BY 1");
    for index in INDEXES {
        let vocabulary = format!("CREATE VIRTUAL TABLE temp.{index}_terms USING fts5vocab(main, {index}, instance)");
        connection.execute_batch(&vocabulary).unwrap();
        let sql = format!("SELECT '{index} ' || term || ' ' || doc FROM temp.{index}_terms ORDER BY 1");
        found.extend(texts(&sql));
    }
    found
}

/// Imports turns and notes in the bulk mode, copies the same rows by triggers, and compares the indexes.
#[test]
fn bulk_writes_leave_what_the_triggers_leave() {
    let mut shelf = Shelf::new();
    let summary = Summary::new("by rule");
    shelf.store.remember_prompt("s1", None, "asked before", Millis(5)).unwrap();
    shelf.store.write_summary("s1", 1, &summary, MadeBy::Rule, Millis(5)).unwrap();
    let copy = shelf.folder.path().join("copy.db");
    shelf.store.connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).unwrap();
    let note: Moved<(String, String)> = moved("n1", 7, ("title".to_owned(), "text".to_owned()));
    let bulk = shelf.store.bulk().unwrap();
    bulk.move_in("claude-mem", "s1", &turns(), 1).unwrap().unwrap();
    bulk.move_notes_in("claude-mem", "/q", "q", &[note]).unwrap();
    // Changes a summary that the indexes have.
    bulk.write_past_summary("s1", 1, &Summary::new("again"), Millis(9)).unwrap();
    drop(bulk);
    let by_triggers = open(&copy).unwrap();
    by_triggers.connection.execute("ATTACH ?1 AS source", [shelf.path().to_string_lossy()]).unwrap();
    by_triggers.connection.execute_batch(COPY).unwrap();
    let (bulk, by_triggers) = (indexed(&shelf.store), indexed(&by_triggers));
    assert!(bulk.iter().any(|line| line.starts_with("observation_trigrams")), "{bulk:?}");
    assert_eq!(bulk, by_triggers);
}
