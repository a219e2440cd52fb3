//! Records in the log that wait: for their project, for a newer version, or to be fetched again.

use longhaul_core::Millis;
use longhaul_sync::{IdxRange, RECORD_KINDS, SealedRecord};
use rusqlite::Connection;

use super::log::{DAMAGED, NEWER, READY, header};
use crate::row_ids::Time;
use crate::{Store, StoreError, cannot, limit};

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
        let is_due = self.connection.execute(sql, (Time(now), AGAIN_MS as i64)).map_err(failed)? > 0;
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
    let mut statement = connection.prepare_cached(&open_records(most))?;
    let mut records: Vec<SealedRecord> = statement.query_map((DAMAGED, i64::MAX), header)?.collect::<Result<_, _>>()?;
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
