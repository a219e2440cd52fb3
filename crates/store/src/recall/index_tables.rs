//! The table of the index: put in the place of one that cannot be used, and deleted in small transactions.

use rusqlite::Connection;

use crate::{Store, StoreError, cannot};

/// The name of an index that is deleted.
const DROPPED: &str = "dropped_passage_terms";

/// Number of pages of an index that are deleted in one transaction.
const PAGES: usize = 2_000;

/// Creates an empty index; the same as in the schema.
const CREATE: &str = "CREATE VIRTUAL TABLE passage_terms USING fts5 (
                          terms, content = '', columnsize = 0, detail = none, tokenize = \"ascii tokenchars '.='\"
                      );
                      INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);";

/// Puts a new, empty index in the place of the current one, which is deleted later: renaming is instant, deleting is not.
pub(crate) fn replace(connection: &Connection) -> rusqlite::Result<()> {
    let aside = match has_dropped(connection)? {
        true => "DROP TABLE passage_terms;".to_owned(),
        false => format!("ALTER TABLE passage_terms RENAME TO {DROPPED};"),
    };
    connection.execute_batch(&format!("{aside} {CREATE}"))
}

/// Deletes some pages of an index that was replaced. Returns whether there was one.
pub(crate) fn drop_some(connection: &Connection) -> rusqlite::Result<bool> {
    if !has_dropped(connection)? {
        return Ok(false);
    }
    // Deleting all of it at once would hold the lock for seconds. The first pages describe the others.
    let sql =
        format!("DELETE FROM {DROPPED}_data WHERE id IN (SELECT id FROM {DROPPED}_data WHERE id > 10 LIMIT {PAGES})");
    if connection.execute(&sql, [])? < PAGES {
        connection.execute_batch(&format!("DROP TABLE {DROPPED};"))?;
    }
    Ok(true)
}

fn has_dropped(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?.exists([DROPPED])
}

impl Store {
    /// Deletes an index that was replaced: it has everything that was not deleted before.
    pub(crate) fn drop_replaced_index(&self) -> Result<(), StoreError> {
        // Usually there is none, and asking does not take the write lock.
        while has_dropped(&self.connection).map_err(cannot("forget"))? {
            self.write("forget", drop_some)?;
        }
        Ok(())
    }
}
