//! Removes deleted records from an index of another version.
//!
//! A row is removed by the terms that it was added with, and this version of the program does not make them. They are read
//! from the index itself, which means reading all of it. So deleting a record only notes its row, and the terms of all
//! noted rows are removed together: by `forget` before it returns, and otherwise with the whole index.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::index_tables::{OLD, REMOVED, drop_some, has_old, unused};
use crate::{Store, StoreError, cannot};

/// Number of rows whose terms are removed in one transaction.
const AT_ONCE: usize = 100;

/// The terms of the index, each once for every row that has it.
pub(super) const VOCABULARY: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.old_passage_vocabulary
                                     USING fts5vocab ('main', 'old_passage_terms', 'instance')";

/// Notes that the record of a row was deleted.
pub(crate) fn note(connection: &Connection, row: i64) -> rusqlite::Result<()> {
    if !has_old(connection)? {
        return Ok(());
    }
    connection
        .prepare_cached(&format!("INSERT OR IGNORE INTO {REMOVED} (row_id) VALUES (?1)"))?
        .execute([row])
        .map(drop)
}

impl Store {
    /// Removes what indexes that are no longer written still have of deleted records.
    ///
    /// The write lock is held for small parts of it only. Interrupted, it is repeated by the next call.
    pub(crate) fn clean_old_indexes(&self) -> Result<(), StoreError> {
        let failed = cannot("forget");
        let rows = noted(&self.connection).map_err(&failed)?;
        if !rows.is_empty() {
            let mut terms = terms_of(&self.connection, &rows).map_err(&failed)?;
            let rows: Vec<i64> = rows.into_iter().collect();
            for some in rows.chunks(AT_ONCE) {
                let some: Vec<(i64, Vec<String>)> =
                    some.iter().map(|row| (*row, terms.remove(row).unwrap_or_default())).collect();
                self.write("forget", |tx| remove(tx, &some))?;
            }
        }
        // An index that is being deleted has everything that was not deleted before.
        while unused(&self.connection).map_err(&failed)?.is_some() {
            self.write("forget", drop_some)?;
        }
        Ok(())
    }
}

/// Returns the rows that were noted.
fn noted(connection: &Connection) -> rusqlite::Result<HashSet<i64>> {
    if !has_old(connection)? {
        return Ok(HashSet::new());
    }
    connection
        .prepare(&format!("SELECT row_id FROM {REMOVED} WHERE is_done = 0"))?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// Returns the terms that the index has of rows.
fn terms_of(connection: &Connection, rows: &HashSet<i64>) -> rusqlite::Result<HashMap<i64, Vec<String>>> {
    connection.execute_batch(VOCABULARY)?;
    let mut statement = connection.prepare("SELECT term, doc FROM temp.old_passage_vocabulary")?;
    let mut all = statement.query([])?;
    let mut terms: HashMap<i64, Vec<String>> = HashMap::new();
    while let Some(row) = all.next()? {
        let doc = row.get(1)?;
        if rows.contains(&doc) {
            terms.entry(doc).or_default().push(row.get(0)?);
        }
    }
    Ok(terms)
}

/// Removes the terms of rows, unless another process has done it meanwhile. Nothing else changes this index.
fn remove(connection: &Connection, rows: &[(i64, Vec<String>)]) -> rusqlite::Result<()> {
    if !has_old(connection)? {
        return Ok(());
    }
    let done = format!("UPDATE {REMOVED} SET is_done = 1 WHERE row_id = ?1 AND is_done = 0");
    let delete = format!("INSERT INTO {OLD} ({OLD}, rowid, terms) VALUES ('delete', ?1, ?2)");
    for (row, terms) in rows {
        if connection.prepare_cached(&done)?.execute([row])? > 0 && !terms.is_empty() {
            connection.prepare_cached(&delete)?.execute((row, terms.join(" ")))?;
        }
    }
    Ok(())
}
