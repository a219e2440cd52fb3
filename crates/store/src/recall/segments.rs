//! The segments of the index of passages. Every write adds one, and a search reads each of them.

use super::backlog;
use crate::{Store, StoreError, cannot};

/// With fewer segments than this, merging them is not worth writing the index again.
pub(crate) const FEW: i64 = 8;

/// Number of pages of the index that one transaction writes, so that hooks can write in between.
const PAGES: i64 = 50;

/// Maximum number of transactions of one call. An index of gigabytes is merged over several days.
const MOST_STEPS: usize = 4_000;

impl Store {
    /// Merges the segments of the index of passages in small transactions, if there are many. Calls `between` after
    /// each of them.
    ///
    /// May be interrupted at any time. The next call merges the rest.
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

    /// Returns whether the index is in use. An index that is to be built again is damaged or about to be emptied.
    fn may_merge(&self) -> Result<bool, StoreError> {
        backlog::is_current(&self.connection).map_err(cannot("read the state of the search index"))
    }

    fn index_segments(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(DISTINCT segid) FROM passage_terms_idx";
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(cannot("count the segments of the search index"))
    }

    /// Merges about this many pages. Returns whether there is more to merge.
    fn merge_some(&self, pages: i64) -> Result<bool, StoreError> {
        self.write("merge the search index", |transaction| {
            let before = transaction.total_changes();
            transaction.execute("INSERT INTO passage_terms (passage_terms, rank) VALUES ('merge', ?1)", [pages])?;
            // According to the documentation of FTS5, only the statement itself counts as a change if nothing is left
            // to merge.
            Ok(transaction.total_changes() - before >= 2)
        })
    }
}
