//! Takes in records of other hosts, a page in one transaction.

use std::collections::BTreeMap;

use longhaul_core::Millis;
use longhaul_sync::{HostId, Incoming, IncomingContent, RECORD_KINDS, Record, SealedRecord};
use rusqlite::Connection;

use super::apply::{Applied, apply};
use super::circle::{HostRow, add_host, own_row};
use super::entities::bury;
use super::log::{DAMAGED, DONE, ERASE, NEWER, NewRow, WAITS, append, head, header};
use crate::{Store, StoreError, cannot, limit};

/// A record whose time is further ahead than this was written by a host whose clock is wrong.
const CLOCK_MS: u64 = 10 * 60 * 1_000;

/// What became of a page of records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenIn {
    /// Records that are new to the log.
    pub records: u64,
    /// Of these, the records that have changed the memory.
    pub applied: u64,
    /// Records that wait: their project is not shared here, or they need a newer version or key.
    pub waiting: u64,
    /// Records that could not be read.
    pub damaged: u64,
    /// Entities that were deleted here because of a tombstone.
    pub forgotten: u64,
    /// Hosts whose clock is ahead, by how many milliseconds at most.
    pub clocks_ahead: BTreeMap<HostId, u64>,
}

impl Store {
    /// Takes in a page of records of other hosts, all of them or none.
    ///
    /// A record that is in the log already is left out, and so is everything of a host behind a gap in its idx: it is fetched
    /// again. `now` is the time of this host's clock.
    pub fn take_in_records(&self, page: &[Incoming], now: Millis) -> Result<TakenIn, StoreError> {
        self.taking_in(page, |tx| {
            let mut taken = TakenIn::default();
            for incoming in page {
                take_in(tx, incoming, now, &mut taken)?;
            }
            Ok(taken)
        })
    }

    /// Returns records that wait and can be tried again, at most `most`, behind `after`: their project is shared by now, or
    /// this version knows more.
    pub fn records_that_wait(
        &self,
        after: Option<&SealedRecord>,
        most: usize,
    ) -> Result<Vec<SealedRecord>, StoreError> {
        waiting(&self.connection, after, most).map_err(cannot("read the records that wait"))
    }

    /// Tries records again that have waited.
    pub fn take_in_waiting(&self, page: &[Incoming]) -> Result<TakenIn, StoreError> {
        self.taking_in(page, |tx| {
            let mut taken = TakenIn::default();
            for incoming in page {
                let host = add_host(tx, incoming.sealed.host)?;
                let row = judge(tx, host, incoming, &mut taken)?;
                tx.prepare_cached(
                    "UPDATE sync_log SET entity = ?3, version = ?4, state = ?5, project = ?6, content = ?7
                     WHERE host_id = ?1 AND idx = ?2 AND state IN (1, 2)",
                )?
                .execute((
                    host,
                    incoming.sealed.idx as i64,
                    row.entity.map(|entity| *entity.as_bytes()),
                    row.version,
                    row.state,
                    row.project,
                    row.content,
                ))?;
            }
            Ok(taken)
        })
    }

    /// Runs `work` in one transaction. If a record of the page is a tombstone, deleted text is overwritten.
    fn taking_in<T>(
        &self,
        page: &[Incoming],
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let has_tombstone =
            page.iter().any(|one| matches!(one.content, IncomingContent::Record(Record::Forgetting(_))));
        if has_tombstone { self.forgetting(work) } else { self.write("take in records of other hosts", work) }
    }
}

fn take_in(connection: &Connection, incoming: &Incoming, now: Millis, taken: &mut TakenIn) -> rusqlite::Result<()> {
    let sealed = &incoming.sealed;
    let host = add_host(connection, sealed.host)?;
    if own_row(connection)? == Some(host) || sealed.idx != head(connection, host)? + 1 {
        return Ok(());
    }
    let ahead = sealed.time_ms.saturating_sub(now.0);
    if ahead > CLOCK_MS {
        let most = taken.clocks_ahead.entry(sealed.host).or_default();
        *most = ahead.max(*most);
    }
    taken.records += 1;
    let row = judge(connection, host, incoming, taken)?;
    append(connection, host, sealed.idx, &row)
}

/// Applies a record; returns its row for the log.
fn judge<'a>(
    connection: &Connection,
    host: HostRow,
    incoming: &'a Incoming,
    taken: &mut TakenIn,
) -> rusqlite::Result<NewRow<'a>> {
    let sealed = &incoming.sealed;
    let row = |state: i64| NewRow::of(sealed.id, sealed.time_ms, state);
    let kept = sealed.payload.as_deref();
    match &incoming.content {
        IncomingContent::Forgotten => Ok(row(DONE)),
        IncomingContent::Damaged => {
            taken.damaged += 1;
            Ok(row(DAMAGED))
        }
        IncomingContent::Later => {
            taken.waiting += 1;
            Ok(NewRow { version: RECORD_KINDS, content: kept, ..row(NEWER) })
        }
        IncomingContent::Record(Record::Forgetting(forgotten)) => {
            for entity in forgotten {
                taken.forgotten += u64::from(bury(connection, *entity, host, sealed.id)?);
            }
            taken.applied += 1;
            Ok(row(DONE))
        }
        IncomingContent::Record(Record::Entry(entry)) => {
            let known = NewRow { entity: Some(entry.entity), version: entry.version, ..row(DONE) };
            Ok(match apply(connection, host, sealed, entry)? {
                Applied::Changed => {
                    taken.applied += 1;
                    known
                }
                Applied::Known => known,
                Applied::Forgotten => NewRow { state: ERASE, ..known },
                Applied::NotShared => {
                    taken.waiting += 1;
                    NewRow { state: WAITS, project: Some(*entry.project.as_bytes()), content: kept, ..known }
                }
            })
        }
    }
}

fn waiting(connection: &Connection, after: Option<&SealedRecord>, most: usize) -> rusqlite::Result<Vec<SealedRecord>> {
    let sql = format!(
        "SELECT l.record_id, h.host, l.idx, l.time, l.content FROM sync_log l JOIN sync_hosts h ON h.id = l.host_id
         WHERE l.state IN ({WAITS}, {NEWER}) AND l.content IS NOT NULL
         AND (h.host, l.idx) > (?1, ?2) AND l.version < iif(l.state = {NEWER}, ?3, l.version + 1)
         AND (l.project IS NULL OR l.project IN (SELECT project FROM sync_projects WHERE is_shared = 1))
         ORDER BY h.host, l.idx {}",
        limit(most)
    );
    let (host, idx) = after.map_or(([0; 16], 0), |after| (*after.host.as_bytes(), after.idx as i64));
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((host, idx, RECORD_KINDS), |row| Ok(header(row)?.with_payload(row.get(4)?)))?;
    rows.collect()
}
