//! The log: the records of every host, in the order of their idx.

use longhaul_sync::{EntityId, HostId, RecordId, SealedRecord};
use rusqlite::Connection;

use super::circle::HostRow;
use crate::{Store, StoreError, cannot};

/// Nothing is left to do.
pub(super) const DONE: i64 = 0;
/// It waits until its project is shared here.
pub(super) const WAITS: i64 = 1;
/// It is of a kind that this version does not know. `version` is the number of kinds that were known.
pub(super) const NEWER: i64 = 2;
/// It was forgotten: its payload is to be erased in the engine.
pub(super) const ERASE: i64 = 3;
/// It could not be read, or is needed again. It is fetched again from time to time.
pub(super) const DAMAGED: i64 = 4;
/// It has waited, and its project is shared here by now.
pub(super) const READY: i64 = 5;

/// How much of the log is in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncCounts {
    /// Own records that the engine has not confirmed.
    pub unsent: u64,
    /// Records of other hosts whose project is not shared here.
    pub waiting: u64,
    /// Records that a newer version of the program has written.
    pub newer: u64,
    /// Records that could not be read: damaged, or changed.
    pub damaged: u64,
    /// Records to be erased in the engine.
    pub to_erase: u64,
}

impl Store {
    /// Returns how much of the log is in which state.
    pub fn sync_counts(&self) -> Result<SyncCounts, StoreError> {
        let count = |state: i64| -> rusqlite::Result<u64> {
            let sql = "SELECT count(*) FROM sync_log WHERE state = ?1 AND state > 0";
            self.connection.prepare_cached(sql)?.query_row([state], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
        };
        let counts = || {
            let sql = "SELECT coalesce(max(head - confirmed), 0) FROM sync_hosts WHERE circle IS NOT NULL";
            let unsent = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0))?;
            Ok(SyncCounts {
                unsent: unsent.max(0).unsigned_abs(),
                waiting: count(WAITS)? + count(READY)?,
                newer: count(NEWER)?,
                damaged: count(DAMAGED)?,
                to_erase: count(ERASE)?,
            })
        };
        counts().map_err(cannot("count the records of sync"))
    }
}

/// A row of the log, to be added.
pub(super) struct NewRow<'a> {
    pub(super) id: RecordId,
    pub(super) time_ms: u64,
    pub(super) entity: Option<EntityId>,
    pub(super) version: u32,
    pub(super) state: i64,
    pub(super) project: Option<[u8; 16]>,
    pub(super) content: Option<&'a [u8]>,
}

impl NewRow<'_> {
    /// Returns a row of which nothing is known but its header.
    pub(super) fn of(id: RecordId, time_ms: u64, state: i64) -> Self {
        Self { id, time_ms, entity: None, version: 0, state, project: None, content: None }
    }
}

/// Adds a record as the next one of its host, which is `idx`. The head of the host is set by [`set_head`].
pub(super) fn append(connection: &Connection, host: HostRow, idx: u64, new: &NewRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sync_log (host_id, idx, record_id, time, entity, version, state, project, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            host,
            idx as i64,
            new.id.as_bytes(),
            new.time_ms as i64,
            new.entity.map(|entity| *entity.as_bytes()),
            new.version,
            new.state,
            new.project,
            new.content,
        ))
        .map(drop)
}

/// Sets the highest idx of a host.
pub(super) fn set_head(connection: &Connection, host: HostRow, idx: u64) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE sync_hosts SET head = ?2 WHERE id = ?1")?.execute((host, idx as i64)).map(drop)
}

/// Returns the highest idx of a host.
pub(super) fn head(connection: &Connection, host: HostRow) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached("SELECT head FROM sync_hosts WHERE id = ?1")?;
    statement.query_row([host], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Reads the columns `record_id, host, idx, time` as the header of a record.
pub(super) fn header(row: &rusqlite::Row<'_>) -> rusqlite::Result<SealedRecord> {
    Ok(SealedRecord::new(
        RecordId::from_bytes(row.get(0)?),
        HostId::from_bytes(row.get(1)?),
        row.get::<_, i64>(2)?.unsigned_abs(),
        row.get::<_, i64>(3)?.unsigned_abs(),
    ))
}
