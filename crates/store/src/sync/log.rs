//! The log: the records of every host, in the order of their idx; own ones are added in one transaction, and some of
//! other hosts wait: for their project, for a newer version, or to be fetched again.
//!
//! Of an own version, the log has the digest of what it says: what has not changed since is not added again.

use std::error::Error;

use longhaul_core::Millis;
use longhaul_sync::{EntityId, HostId, IdxRange, RECORD_KINDS, Record, RecordId, SealedRecord};
use rusqlite::Connection;

use super::circle::own_row;
use super::identity::{self, HostRow, Identity};
use super::scan::{BATCH, Candidate, ToLog};
use crate::memory::forget;
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
/// The row that it describes is another entity. It is needed again if that one is forgotten.
pub(super) const SHADOWED: i64 = 6;

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
    pub fn sync_counts(&self) -> Result<SyncCounts, StoreError> {
        let failed = cannot("count the records of sync");
        let sql = "SELECT coalesce(max(head - confirmed), 0) FROM sync_hosts WHERE circle IS NOT NULL";
        let unsent: i64 = self.connection.one(sql, []).map_err(&failed)?;
        let mut counts = SyncCounts { unsent: unsent.max(0).unsigned_abs(), ..SyncCounts::default() };
        let sql = "SELECT state, count(*) FROM sync_log WHERE state > 0 GROUP BY state";
        for (state, number) in self.connection.all::<(i64, i64)>(sql, []).map_err(failed)? {
            let count = match state {
                WAITS | READY => &mut counts.waiting,
                NEWER => &mut counts.newer,
                DAMAGED => &mut counts.damaged,
                ERASE => &mut counts.to_erase,
                _ => continue,
            };
            *count += number.unsigned_abs();
        }
        Ok(counts)
    }
}

pub(super) struct NewRow {
    pub(super) id: RecordId,
    pub(super) time_ms: u64,
    pub(super) entity: Option<EntityId>,
    pub(super) version: u32,
    pub(super) state: i64,
    pub(super) project: Option<[u8; 16]>,
    pub(super) content: Option<Vec<u8>>,
}

impl NewRow {
    /// Returns a row of which nothing is known but its header.
    pub(super) fn of(id: RecordId, time_ms: u64, state: i64) -> Self {
        Self { id, time_ms, entity: None, version: 0, state, project: None, content: None }
    }

    /// Adds it as the next one of its host, which is `idx`.
    pub(super) fn append(&self, connection: &Connection, host: HostRow, idx: u64) -> rusqlite::Result<()> {
        let sql = "INSERT INTO sync_log (host_id, idx, record_id, time, entity, version, state, project, content)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let entity = self.entity.map(|entity| *entity.as_bytes());
        let (id, time) = (self.id.as_bytes(), self.time_ms as i64);
        let Self { version, state, project, content, .. } = self;
        connection.run(sql, (host, idx as i64, id, time, entity, version, state, project, content)).map(drop)
    }

    /// Puts it in the place of one that has waited; returns whether that one is still there.
    pub(super) fn replace(&self, connection: &Connection, host: HostRow, idx: u64) -> rusqlite::Result<bool> {
        let sql = "UPDATE sync_log SET entity = ?4, version = ?5, state = ?6, project = ?7, content = ?8
                   WHERE host_id = ?1 AND idx = ?2 AND record_id = ?3 AND state > 0 AND state <> 3";
        let entity = self.entity.map(|entity| *entity.as_bytes());
        let Self { version, state, project, content, .. } = self;
        let changed = (host, idx as i64, self.id.as_bytes(), entity, version, state, project, content);
        Ok(connection.run(sql, changed)? > 0)
    }
}

/// Records that what others have written of an entity is here in no row any more.
pub(super) fn shadow(connection: &Connection, entity: Option<EntityId>) -> rusqlite::Result<()> {
    let sql = "UPDATE sync_log SET state = ?2 WHERE entity = ?1 AND state = ?3
                   AND host_id NOT IN (SELECT id FROM sync_hosts WHERE is_own)";
    connection.run(sql, (entity.map(|entity| *entity.as_bytes()), SHADOWED, DONE)).map(drop)
}

/// Returns the digest that the log has of an own version; `None` if the version is to be written again.
pub(super) fn digest_of(connection: &Connection, identity: &Identity) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT l.content FROM sync_log l JOIN sync_hosts h ON h.id = l.host_id
               WHERE l.entity = ?1 AND l.version = ?2 AND h.is_own AND l.content IS NOT NULL";
    let entity = identity.entity.map(|entity| *entity.as_bytes());
    connection.first(sql, (entity, identity.version))
}

/// Reads the columns `record_id, host, idx, time` as the header of a record.
pub(super) fn header(row: &rusqlite::Row<'_>) -> rusqlite::Result<SealedRecord> {
    let (id, host) = (RecordId::from_bytes(row.get(0)?), HostId::from_bytes(row.get(1)?));
    Ok(SealedRecord::new(id, host, row.get::<_, i64>(2)?.unsigned_abs(), row.get::<_, i64>(3)?.unsigned_abs()))
}

/// Makes the random bytes of a record's id.
pub(super) type RandomSource<'a> = &'a mut dyn FnMut() -> Result<[u8; 10], Box<dyn Error + Send + Sync>>;

/// Writes to the own log. [`LogWriter::finish`] completes it.
pub(super) struct LogWriter<'a> {
    connection: &'a Connection,
    random: RandomSource<'a>,
    own: HostRow,
    head: u64,
    /// The time of the records, by the engine's clock.
    time_ms: u64,
}

impl<'a> LogWriter<'a> {
    /// Returns a writer for a transaction; `None` without a circle.
    pub(super) fn open(
        connection: &'a Connection,
        now: Millis,
        random: RandomSource<'a>,
    ) -> rusqlite::Result<Option<Self>> {
        let Some(own) = own_row(connection)? else { return Ok(None) };
        let (ahead, head): (i64, i64) =
            connection.one("SELECT clock_ahead, head FROM sync_hosts WHERE id = ?1", [own])?;
        let time_ms = now.0.saturating_add_signed(-ahead);
        Ok(Some(Self { connection, random, own, head: head.unsigned_abs(), time_ms }))
    }

    pub(super) fn finish(self) -> rusqlite::Result<()> {
        let sql = "UPDATE sync_hosts SET head = ?2 WHERE id = ?1";
        self.connection.run(sql, (self.own, self.head as i64)).map(drop)
    }

    /// Adds the tombstone of some entities that were forgotten here; returns whether there may be more.
    pub(super) fn add_forgotten(mut self, logged: &mut u64) -> rusqlite::Result<bool> {
        let forgotten = identity::to_bury(self.connection, BATCH)?;
        if forgotten.is_empty() {
            return Ok(false);
        }
        forgotten.iter().try_for_each(|entity| identity::note_buried(self.connection, *entity))?;
        let number = forgotten.len();
        let content = Record::Forgetting(forgotten).encode();
        let row = NewRow { content: Some(content), ..NewRow::of(self.new_id()?, self.time_ms, DONE) };
        self.append(&row)?;
        *logged += number as u64;
        self.finish()?;
        Ok(number == BATCH)
    }

    /// Does what was found to be done about a row; returns whether it is in the log now.
    pub(super) fn add(&mut self, to_log: &ToLog) -> rusqlite::Result<bool> {
        match to_log {
            ToLog::Add(candidate) => self.add_row(candidate),
            ToLog::Delete { entity, row } => {
                if identity::is_forgotten_here(self.connection, *entity)? {
                    forget::drop_summaries_of(self.connection, row.table.name(), row.row)?;
                    row.delete_row(self.connection)?;
                }
                Ok(false)
            }
        }
    }

    fn add_row(&mut self, candidate: &Candidate) -> rusqlite::Result<bool> {
        let Candidate { before, entity, digest } = *candidate;
        let known = Identity::find(self.connection, entity)?;
        if known != before.entity.map(|_| before) || identity::is_forgotten_here(self.connection, entity)? {
            // Another process was faster. What is left to do is found the next time.
            return Ok(false);
        }
        let new = Identity { entity: Some(entity), version: before.version + 1, ..before };
        let row = NewRow::of(self.new_id()?, self.time_ms, DONE);
        let content = Some(digest.to_vec());
        self.append(&NewRow { entity: new.entity, version: new.version, content, ..row })?;
        new.put(self.connection)?;
        Ok(true)
    }

    fn append(&mut self, row: &NewRow) -> rusqlite::Result<()> {
        self.head += 1;
        row.append(self.connection, self.own, self.head)
    }

    fn new_id(&mut self) -> rusqlite::Result<RecordId> {
        let random = (self.random)().map_err(rusqlite::Error::ToSqlConversionFailure)?;
        Ok(RecordId::new(self.time_ms, random))
    }
}

/// How long it takes until damaged records are fetched again.
const AGAIN_MS: u64 = 60 * 60 * 1_000;

impl Store {
    /// Returns records that have waited and can be tried again, at most `most`: their project is shared by now, or this
    /// version knows more. [`Store::take_in_waiting`] changes each of them, so that the next call returns others.
    pub fn records_that_wait(&self, most: usize) -> Result<Vec<SealedRecord>, StoreError> {
        let failed = cannot("read the records that wait");
        for (state, versions) in [(READY, i64::MAX), (NEWER, i64::from(RECORD_KINDS))] {
            let read = |row: &rusqlite::Row<'_>| Ok(header(row)?.with_payload(row.get(4)?));
            let found = self.connection.all_with(&open_records(most), (state, versions), read).map_err(&failed)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    /// Returns the records that could not be read, at most `most`, as ranges to be fetched again; none if that was done
    /// within the hour.
    pub fn damaged_ranges(&self, now: Millis, most: usize) -> Result<Vec<IdxRange>, StoreError> {
        let failed = cannot("read the damaged records");
        let mut records: Vec<SealedRecord> =
            self.connection.all_with(&open_records(most), (DAMAGED, i64::MAX), header).map_err(&failed)?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "UPDATE sync_hosts SET damaged_at = ?1 WHERE circle IS NOT NULL AND abs(damaged_at - ?1) >= ?2";
        if self.connection.run(sql, (Time(now), AGAIN_MS as i64)).map_err(failed)? == 0 {
            return Ok(Vec::new());
        }
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
