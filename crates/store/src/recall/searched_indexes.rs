//! The indexes of passages that a search reads.

use std::ops::RangeInclusive;

use rusqlite::Connection;

use super::index_tables::has_old;

/// Finds rows in [`super::index_tables::CURRENT`].
const IN_CURRENT: &str = "SELECT rowid FROM passage_terms
                          WHERE passage_terms MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid LIMIT ?4";

/// Finds rows in [`super::index_tables::OLD`].
const IN_OLD: &str = "SELECT rowid FROM old_passage_terms
                      WHERE old_passage_terms MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid LIMIT ?4";

/// The current index, and while it is built, the one of another version: most terms are the same in both.
#[derive(Clone, Copy)]
pub(super) struct SearchedIndexes<'a> {
    connection: &'a Connection,
    has_old: bool,
}

impl<'a> SearchedIndexes<'a> {
    /// Finds out which indexes there are, for the searches of one transaction.
    pub(super) fn open(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self { connection, has_old: has_old(connection)? })
    }

    /// Returns the rows of a range that match an expression, the newest first.
    pub(super) fn rows(
        self,
        expression: &str,
        range: &RangeInclusive<i64>,
        limit: usize,
    ) -> rusqlite::Result<Vec<i64>> {
        let mut found = self.rows_of(IN_CURRENT, expression, range, limit)?;
        if self.has_old {
            found.extend(self.rows_of(IN_OLD, expression, range, limit)?);
            found.sort_unstable();
            found.dedup();
            found.truncate(limit);
        }
        Ok(found)
    }

    fn rows_of(
        self,
        sql: &str,
        expression: &str,
        range: &RangeInclusive<i64>,
        limit: usize,
    ) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map((expression, range.start(), range.end(), limit as i64), |row| row.get(0))?.collect()
    }
}
