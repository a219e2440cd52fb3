//! The log: the records of every host, in the order of their idx; own ones are added in one transaction, and some of
//! other hosts wait: for their project, for a newer version, or to be fetched again.

use longhaul_core::Millis;
use longhaul_sync::{EntityId, HostId, IdxRange, RECORD_KINDS, Record, RecordId, SealedRecord};
use rusqlite::Connection;

use super::circle::{HostRow, own_row};
use super::entities::{self, BURIED, EntityTable, FORGOTTEN, LIVE, Version};
use super::scan::{BATCH, Candidate, ToLog};
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit};

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
            self.connection.one_with(sql, [state], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
        };
        let counts = || {
            let sql = "SELECT coalesce(max(head - confirmed), 0) FROM sync_hosts WHERE circle IS NOT NULL";
            let unsent = self.connection.one_with(sql, [], |row| row.get::<_, i64>(0))?;
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
        .run(
            "INSERT INTO sync_log (host_id, idx, record_id, time, entity, version, state, project, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                host,
                idx as i64,
                new.id.as_bytes(),
                new.time_ms as i64,
                new.entity.map(|entity| *entity.as_bytes()),
                new.version,
                new.state,
                new.project,
                new.content,
            ),
        )
        .map(drop)
}

/// Sets the highest idx of a host.
pub(super) fn set_head(connection: &Connection, host: HostRow, idx: u64) -> rusqlite::Result<()> {
    connection.run("UPDATE sync_hosts SET head = ?2 WHERE id = ?1", (host, idx as i64)).map(drop)
}

/// Returns the highest idx of a host.
fn head(connection: &Connection, host: HostRow) -> rusqlite::Result<u64> {
    connection
        .one_with("SELECT head FROM sync_hosts WHERE id = ?1", [host], |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
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

/// Writes to the own log. [`LogWriter::finish`] completes it.
pub(super) struct LogWriter<'a> {
    connection: &'a Connection,
    random: &'a mut dyn FnMut() -> [u8; 10],
    own: HostRow,
    /// The highest idx.
    head: u64,
    /// The time of the records, by the engine's clock.
    time_ms: u64,
}

impl<'a> LogWriter<'a> {
    /// Returns a writer for a transaction; `None` without a circle.
    pub(super) fn open(
        connection: &'a Connection,
        now: Millis,
        random: &'a mut dyn FnMut() -> [u8; 10],
    ) -> rusqlite::Result<Option<Self>> {
        let Some(own) = own_row(connection)? else { return Ok(None) };
        let sql = "SELECT clock_ahead FROM sync_hosts WHERE id = ?1";
        let ahead: i64 = connection.one(sql, [own])?;
        let time_ms = now.0.saturating_add_signed(-ahead);
        Ok(Some(Self { connection, random, own, head: head(connection, own)?, time_ms }))
    }

    /// Records the new head of the log.
    pub(super) fn finish(self) -> rusqlite::Result<()> {
        set_head(self.connection, self.own, self.head)
    }

    /// Adds the tombstone of some entities that were forgotten here; returns whether there may be more.
    pub(super) fn add_forgotten(mut self, logged: &mut u64) -> rusqlite::Result<bool> {
        let sql = format!("SELECT entity FROM sync_entities WHERE forgotten = 1 {}", limit(BATCH));
        let forgotten: Vec<EntityId> =
            self.connection.all_with(&sql, [], |row| row.get(0).map(EntityId::from_bytes))?;
        if forgotten.is_empty() {
            return Ok(false);
        }
        for entity in &forgotten {
            let sql = "UPDATE sync_entities SET forgotten = ?2 WHERE entity = ?1 AND forgotten = ?3";
            self.connection.run(sql, (entity.as_bytes(), BURIED, FORGOTTEN))?;
            entities::erase_in_engine(self.connection, *entity)?;
        }
        let number = forgotten.len();
        let content = Record::Forgetting(forgotten).encode();
        let row = NewRow { content: Some(&content), ..NewRow::of(self.new_id(), self.time_ms, DONE) };
        self.append(&row)?;
        *logged += number as u64;
        self.finish()?;
        Ok(number == BATCH)
    }

    /// Does what was found to be done about a row; returns whether it is in the log now.
    pub(super) fn add(&mut self, table: EntityTable, to_log: &ToLog) -> rusqlite::Result<bool> {
        match to_log {
            ToLog::Add(candidate) => self.add_row(table, candidate),
            ToLog::Delete { entity, row } => {
                let known = entities::find_for(self.connection, *entity, self.own)?;
                if known.as_ref().and_then(entities::state_if_forgotten).is_some() {
                    entities::delete_row(self.connection, table, *row)?;
                }
                Ok(false)
            }
        }
    }

    fn add_row(&mut self, table: EntityTable, candidate: &Candidate) -> rusqlite::Result<bool> {
        let Candidate { row, entity, before, digest } = *candidate;
        let known = entities::find_for(self.connection, entity, self.own)?;
        let is_live = known.as_ref().is_none_or(|known| known.forgotten == LIVE);
        if !is_live || known.map(|known| (known.version, known.record)) != before {
            // Another process was faster. What is left to do is found the next time.
            return Ok(false);
        }
        let version = before.map_or(0, |(version, _)| version) + 1;
        let record = self.new_id();
        self.append(&NewRow { entity: Some(entity), version, ..NewRow::of(record, self.time_ms, DONE) })?;
        let (host, digest) = (self.own, Some(digest));
        entities::put(self.connection, &Version { entity, table, row, host, version, record, digest })?;
        Ok(true)
    }

    fn append(&mut self, row: &NewRow<'_>) -> rusqlite::Result<()> {
        self.head += 1;
        append(self.connection, self.own, self.head, row)
    }

    fn new_id(&mut self) -> RecordId {
        RecordId::new(self.time_ms, (self.random)())
    }
}

/// How long it takes until damaged records are fetched again.
const AGAIN_MS: u64 = 60 * 60 * 1_000;

impl Store {
    /// Returns records that have waited and can be tried again, at most `most`: their project is shared by now, or this
    /// version knows more. [`Store::take_in_waiting`] changes each of them, so that the next call returns others.
    pub fn records_that_wait(&self, most: usize) -> Result<Vec<SealedRecord>, StoreError> {
        waiting(&self.connection, most).map_err(cannot("read the records that wait"))
    }

    /// Returns the records that could not be read, at most `most`, as ranges to be fetched again; none if that was done
    /// within the hour.
    pub fn damaged_ranges(&self, now: Millis, most: usize) -> Result<Vec<IdxRange>, StoreError> {
        let failed = cannot("read the damaged records");
        let ranges = damaged(&self.connection, most).map_err(&failed)?;
        if ranges.is_empty() {
            return Ok(ranges);
        }
        let sql = "UPDATE sync_hosts SET damaged_at = ?1 WHERE circle IS NOT NULL AND abs(damaged_at - ?1) >= ?2";
        let is_due = self.connection.run(sql, (Time(now), AGAIN_MS as i64)).map_err(failed)? > 0;
        Ok(if is_due { ranges } else { Vec::new() })
    }
}

/// Returns the statement that reads records of a state in the log.
pub(crate) fn open_records(most: usize) -> String {
    // Without the second condition on the state, SQLite does not use the index.
    format!(
        "SELECT l.record_id, h.host, l.idx, l.time, l.content FROM sync_log l JOIN sync_hosts h ON h.id = l.host_id
         WHERE l.state = ?1 AND l.state > 0 AND l.version < ?2 {}",
        limit(most)
    )
}

fn waiting(connection: &Connection, most: usize) -> rusqlite::Result<Vec<SealedRecord>> {
    let mut statement = connection.prepare_cached(&open_records(most))?;
    for (state, versions) in [(READY, i64::MAX), (NEWER, i64::from(RECORD_KINDS))] {
        let rows = statement.query_map((state, versions), |row| Ok(header(row)?.with_payload(row.get(4)?)))?;
        let found: Vec<SealedRecord> = rows.collect::<Result<_, _>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn damaged(connection: &Connection, most: usize) -> rusqlite::Result<Vec<IdxRange>> {
    let mut records: Vec<SealedRecord> = connection.all_with(&open_records(most), (DAMAGED, i64::MAX), header)?;
    records.sort_unstable_by_key(|record| (record.host, record.idx));
    let mut ranges: Vec<IdxRange> = Vec::new();
    for record in records {
        match ranges.last_mut() {
            Some(last) if last.host == record.host && last.through + 1 == record.idx => last.through = record.idx,
            _ => ranges.push(IdxRange { host: record.host, after: record.idx - 1, through: record.idx }),
        }
    }
    Ok(ranges)
}
