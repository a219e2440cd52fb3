//! The segments of the index of passages: every write adds one, and a search looks its terms up in each.

use rusqlite::Connection;

use super::index_state;
use crate::{Store, StoreError, cannot};

/// With fewer segments than this, merging them is not worth writing the index again.
pub(crate) const FEW: i64 = 8;

/// How many pages of the index one transaction writes. Hooks write in between.
const PAGES: i64 = 200;

impl Store {
    /// Merges the segments of the index of passages, in small transactions, where there are many.
    ///
    /// It may be ended at any moment: what is merged stays so, and the next call merges the rest.
    pub fn merge_index(&self) -> Result<(), StoreError> {
        merge(&self.connection).map_err(cannot("merge the search index"))
    }
}

fn merge(connection: &Connection) -> rusqlite::Result<()> {
    // One that is to be built again is damaged, or is about to be emptied.
    if !index_state::is_current(connection)? {
        return Ok(());
    }
    let segments: i64 =
        connection.query_row("SELECT count(DISTINCT segid) FROM passage_terms_idx", [], |row| row.get(0))?;
    if segments < FEW {
        return Ok(());
    }
    // A negative number begins a merge of all segments; positive ones continue it.
    let mut pages = -PAGES;
    loop {
        let before = connection.total_changes();
        connection.execute("INSERT INTO passage_terms (passage_terms, rank) VALUES ('merge', ?1)", [pages])?;
        // As FTS5 documents it: where nothing is left to merge, only the statement itself counts as a change.
        if connection.total_changes() - before < 2 {
            return Ok(());
        }
        pages = PAGES;
    }
}
