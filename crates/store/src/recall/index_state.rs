//! Whether the index of passages can be changed row by row, or has to be built again.
//!
//! The index does not hold the text: a row is removed by the terms that it was added with. Where those were of another version,
//! or the index is damaged, it is left as it is until upkeep empties it and builds it again. Until then searches use what it
//! has.

use longhaul_memory::TERMS_VERSION;
use rusqlite::Connection;

use crate::{Store, StoreError, cannot};

/// The version that stands for a damaged index.
const DAMAGED: u32 = 0;

/// What can be done with the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexState {
    /// Rows can be added and removed.
    Current,
    /// Its terms are of another version.
    OtherTerms,
    /// It is damaged, or another full-text index is.
    Damaged,
}

impl Store {
    /// Records that a full-text index is damaged, so that upkeep builds it again; returns whether that was not known yet.
    ///
    /// From then on the index of passages is not written to, so that everything else can be stored.
    pub fn mark_index_damaged(&self) -> Result<bool, StoreError> {
        let sql = "UPDATE passage_index SET terms_version = ?1 WHERE terms_version <> ?1";
        let changed = self.connection.execute(sql, [DAMAGED]).map_err(cannot("mark the search index as damaged"))?;
        Ok(changed > 0)
    }
}

pub(crate) fn of(connection: &Connection) -> rusqlite::Result<IndexState> {
    let sql = "SELECT terms_version FROM passage_index";
    let version: u32 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(match version {
        TERMS_VERSION => IndexState::Current,
        DAMAGED => IndexState::Damaged,
        _ => IndexState::OtherTerms,
    })
}

pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(of(connection)? == IndexState::Current)
}

/// Records that the index has terms of this version and no others, as one that has just been emptied.
pub(crate) fn set_current(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE passage_index SET terms_version = ?1", [TERMS_VERSION]).map(drop)
}
