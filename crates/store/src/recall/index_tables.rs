//! The tables of the index: the one that is written, one of another version that is still searched, and those that are deleted.
//!
//! An index with terms of another version is renamed, and a new one is built in its place. Both are searched until the
//! new one is complete. Renaming and creating are instant; a table is deleted page by page, in small transactions.

use rusqlite::Connection;

use super::backlog::keeps_words;

/// The index that is written.
pub(crate) const CURRENT: &str = "passage_terms";

/// The index of another version.
pub(crate) const OLD: &str = "old_passage_terms";

/// The rows of records that were deleted while there was an index of another version. [`super::old_rows`] removes their
/// terms from it.
pub(crate) const REMOVED: &str = "removed_passage_rows";

/// The full-text indexes that the index of passages has replaced.
pub(crate) const WORD_INDEXES: [&str; 3] = ["prompt_words", "observation_words", "summary_words"];

/// Names of indexes of passages that are deleted.
const DROPPED: [&str; 2] = ["dropped_passage_terms", "dropped_old_passage_terms"];

/// Number of pages of an index that are deleted in one transaction.
const PAGES: usize = 2_000;

/// Creates an empty index; the same as in the schema.
const CREATE: &str = "CREATE VIRTUAL TABLE passage_terms USING fts5 (
                          terms, content = '', columnsize = 0, detail = none, tokenize = \"ascii tokenchars '.='\"
                      );
                      INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);";

/// Returns whether there is an index of another version that is still searched.
///
/// Every search and every change of a record asks that, so it is a row that is found by its key.
pub(crate) fn has_old(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM passage_backlog WHERE source = ?1")?.exists([OLD])
}

/// Puts a new, empty index in the place of the current one, which stays in use as the one of another version.
pub(crate) fn replace_and_keep(connection: &Connection) -> rusqlite::Result<()> {
    drop_old(connection)?;
    connection.execute_batch(&format!(
        "ALTER TABLE {CURRENT} RENAME TO {OLD}; {CREATE}
         CREATE TABLE {REMOVED} (row_id INTEGER PRIMARY KEY, is_done INTEGER NOT NULL DEFAULT 0) STRICT;"
    ))?;
    connection.execute("INSERT INTO passage_backlog (source, todo, total) VALUES (?1, 0, 0)", [OLD]).map(drop)
}

/// Puts a new, empty index in the place of the current one, which is deleted later.
pub(crate) fn replace(connection: &Connection) -> rusqlite::Result<()> {
    set_aside(connection, CURRENT)?;
    connection.execute_batch(CREATE)
}

/// Stops using the index of another version. It is deleted later.
pub(crate) fn drop_old(connection: &Connection) -> rusqlite::Result<()> {
    if has_old(connection)? {
        connection.execute("DELETE FROM passage_backlog WHERE source = ?1", [OLD])?;
        connection.execute_batch(&format!("DROP TABLE {REMOVED};"))?;
        set_aside(connection, OLD)?;
    }
    Ok(())
}

/// Renames an index, so that [`drop_some`] deletes it.
fn set_aside(connection: &Connection, index: &str) -> rusqlite::Result<()> {
    for name in DROPPED {
        if !has_table(connection, name)? {
            return connection.execute_batch(&format!("ALTER TABLE {index} RENAME TO {name};"));
        }
    }
    // Two others have not been deleted yet.
    connection.execute_batch(&format!("DROP TABLE {index};"))
}

/// Returns an index that is no longer in use, and is to be deleted.
pub(crate) fn unused(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    // Those of words are in use as long as there are triggers that update them.
    let words_are_unused = !keeps_words(connection)?;
    let words = WORD_INDEXES.iter().filter(|_| words_are_unused);
    for index in DROPPED.iter().chain(words) {
        if has_table(connection, index)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Deletes some pages of an index that is no longer in use. Returns whether there was one.
pub(crate) fn drop_some(connection: &Connection) -> rusqlite::Result<bool> {
    let Some(index) = unused(connection)? else { return Ok(false) };
    // Deleting all of it at once would hold the lock for seconds. The first pages describe the others.
    let sql = format!("DELETE FROM {index}_data WHERE id IN (SELECT id FROM {index}_data WHERE id > 10 LIMIT {PAGES})");
    if connection.execute(&sql, [])? < PAGES {
        connection.execute_batch(&format!("DROP TABLE {index};"))?;
    }
    Ok(true)
}

/// Returns whether there is a table with this name.
pub(crate) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?.exists([name])
}
