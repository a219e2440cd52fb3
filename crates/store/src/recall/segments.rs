//! The segments of the index of passages: every write adds one, and a search looks its terms up in each.

use super::index_state;
use crate::{Store, StoreError, cannot};

/// With fewer segments than this, merging them is not worth writing the index again.
pub(crate) const FEW: i64 = 8;

/// How many pages of the index one transaction writes. Hooks write in between.
const PAGES: i64 = 100;

/// How many transactions one call commits at most: an index of gigabytes is merged over several days.
const MOST_STEPS: usize = 2_000;

impl Store {
    /// Merges the segments of the index of passages in small transactions, if there are many; calls `between` after each
    /// of them.
    ///
    /// It may be ended at any moment: what is merged stays so, and the next call merges the rest.
    pub fn merge_index(&self, mut between: impl FnMut()) -> Result<(), StoreError> {
        if self.index_segments()? < FEW || !self.may_merge()? {
            return Ok(());
        }
        // A negative number begins a merge of all segments; positive ones continue it.
        let mut pages = -PAGES;
        for _ in 0..MOST_STEPS {
            if !self.may_merge()? || !self.merge_some(pages)? {
                break;
            }
            pages = PAGES;
            between();
        }
        Ok(())
    }

    /// Returns whether the index is in use: one that is to be built again is damaged, or about to be emptied.
    fn may_merge(&self) -> Result<bool, StoreError> {
        index_state::is_current(&self.connection).map_err(cannot("read the state of the search index"))
    }

    fn index_segments(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(DISTINCT segid) FROM passage_terms_idx";
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(cannot("count the segments of the search index"))
    }

    /// Merges about so many pages; returns whether there is more to merge.
    fn merge_some(&self, pages: i64) -> Result<bool, StoreError> {
        self.write("merge the search index", |transaction| {
            let before = transaction.total_changes();
            transaction.execute("INSERT INTO passage_terms (passage_terms, rank) VALUES ('merge', ?1)", [pages])?;
            // As FTS5 documents it: if nothing is left to merge, only the statement itself counts as a change.
            Ok(transaction.total_changes() - before >= 2)
        })
    }
}
