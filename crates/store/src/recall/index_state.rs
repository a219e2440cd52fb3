//! Whether the index of passages can be changed row by row, or must be built again.
//!
//! The index does not store the text: a row is removed by the terms that it was added with. If those are of another
//! version, or the index is damaged, it is not written until upkeep replaces it by a new one. Until then, searches use it
//! as it is.

use longhaul_memory::TERMS_VERSION;
use rusqlite::Connection;

use crate::{Store, StoreError, cannot};

/// The version of a damaged index.
const DAMAGED: u32 = 0;

impl Store {
    /// Records that a full-text index is damaged, so that upkeep builds it again. Returns whether that was not recorded
    /// yet.
    ///
    /// From then on the index of passages is not written, so that everything else can be stored.
    pub fn mark_index_damaged(&self) -> Result<bool, StoreError> {
        let sql = "UPDATE passage_backlog SET total = ?1 WHERE source = 'terms' AND total <> ?1";
        let changed = self.connection.execute(sql, [DAMAGED]).map_err(cannot("mark the search index as damaged"))?;
        Ok(changed > 0)
    }
}

pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT total FROM passage_backlog WHERE source = 'terms'";
    let version: u32 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(version == TERMS_VERSION)
}

/// Records that the index has only terms of this version, as a new one does.
pub(crate) fn set_current(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE passage_backlog SET total = ?1 WHERE source = 'terms'";
    connection.execute(sql, [TERMS_VERSION]).map(drop)
}
