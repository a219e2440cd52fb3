//! Takes in records of other hosts, a few in one transaction. Also how far ahead the time of a record may be.

use std::collections::BTreeMap;

use longhaul_core::Millis;
use longhaul_sync::{Entry, HostId, Incoming, IncomingContent, RECORD_KINDS, Record, SealedRecord};
use rusqlite::ErrorCode;

use super::apply::{Applied, apply};
use super::content::{self, cleaned};
use super::identity::{Identity, bury};
use super::intake::{Intake, IntakeHost};
use super::log::{DAMAGED, DONE, ERASE, NEWER, NewRow, SHADOWED, WAITS};
use crate::memory::records::RawText;
use crate::recall::index::NewTerms;
use crate::sql::Sql;
use crate::{Store, StoreError};

/// How many records one transaction takes in: hooks wait for it.
const AT_ONCE: usize = 100;

/// A record whose time is further ahead than this was written by a host whose clock is wrong.
const CLOCK_MS: u64 = 10 * 60 * 1_000;

/// What became of a page of records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenIn {
    /// Records that are new to the log, or have waited in it.
    pub records: u64,
    /// Of these, the records that have changed the memory.
    pub applied: u64,
    /// Records that wait: their project is not shared here, or they need a newer version.
    pub waiting: u64,
    pub damaged: u64,
    /// Records that would have changed what is not their host's to change.
    pub refused: u64,
    /// Records that need a key that is not known here. They are not in the log, and fetched again.
    pub without_key: u64,
    /// Entities that were deleted here because of a tombstone.
    pub forgotten: u64,
    /// Hosts with new records, and by how many milliseconds their clock is ahead: 0 if it is not.
    pub clocks_ahead: BTreeMap<HostId, u64>,
}

impl TakenIn {
    fn add(&mut self, other: Self) {
        self.records += other.records;
        self.applied += other.applied;
        self.waiting += other.waiting;
        self.damaged += other.damaged;
        self.refused += other.refused;
        self.without_key += other.without_key;
        self.forgotten += other.forgotten;
        self.clocks_ahead.extend(other.clocks_ahead);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// They are new, and follow the last one of their host.
    New,
    /// They are in the log already, and have waited there.
    Waited,
}

impl Store {
    /// Takes in a page of records of other hosts, in transactions of at most a hundred.
    ///
    /// A record that is in the log already is left out, and so is everything of a host behind a gap in its idx, or behind a
    /// record whose key is not known: it is fetched again. A record that the database refuses counts as damaged. `now` is the
    /// time of this host's clock: nothing is stored with a time that is much later. Call [`Store::overwrite_forgotten`] after the last page.
    pub fn take_in_records(&self, page: &[Incoming], now: Millis) -> Result<TakenIn, StoreError> {
        self.take_in_all(page, Arrival::New, now)
    }

    /// Tries records again that have waited, or that were damaged and have been fetched again.
    pub fn take_in_waiting(&self, page: &[Incoming], now: Millis) -> Result<TakenIn, StoreError> {
        self.take_in_all(page, Arrival::Waited, now)
    }

    fn take_in_all(&self, page: &[Incoming], arrival: Arrival, now: Millis) -> Result<TakenIn, StoreError> {
        let mut taken = TakenIn::default();
        for some in page.chunks(AT_ONCE) {
            taken.add(self.take_in_some(some, arrival, now)?);
        }
        Ok(taken)
    }

    /// Takes in records in one transaction. If one of them cannot be stored, each gets its own.
    fn take_in_some(&self, some: &[Incoming], arrival: Arrival, now: Millis) -> Result<TakenIn, StoreError> {
        match self.take_in_at_once(some, arrival, now) {
            Err(error) if is_of_record(&error) => {}
            done => return done,
        }
        if let [incoming] = some {
            let sealed = incoming.sealed.clone().with_payload(None);
            return self.take_in_at_once(&[Incoming { sealed, content: IncomingContent::Damaged }], arrival, now);
        }
        let mut taken = TakenIn::default();
        for incoming in some {
            taken.add(self.take_in_some(std::slice::from_ref(incoming), arrival, now)?);
        }
        Ok(taken)
    }

    fn take_in_at_once(&self, some: &[Incoming], arrival: Arrival, now: Millis) -> Result<TakenIn, StoreError> {
        let mut taken = TakenIn::default();
        if arrival == Arrival::New {
            taken.clocks_ahead = clocks_ahead(some, now);
        }
        // Before the transaction: hooks wait for it.
        let entries = entries(some, now);
        let work = |tx: &rusqlite::Connection| {
            let mut intake = Intake { connection: tx, terms: NewTerms::default() };
            for (incoming, entry) in some.iter().zip(&entries) {
                take_in(&mut intake, incoming, arrival, entry.as_ref(), &mut taken)?;
            }
            intake.terms.write(tx)
        };
        let is_tombstone =
            |incoming: &Incoming| matches!(incoming.content, IncomingContent::Record(Record::Forgetting(_)));
        if some.iter().any(is_tombstone) {
            self.overwriting(work)?;
        } else {
            self.write("take in records of other hosts", work)?;
        }
        Ok(taken)
    }
}

/// Returns the entries of records as they may be stored. A time that lies ahead becomes `now`: what is of the year 9999 would
/// else be the newest for ever.
fn entries(some: &[Incoming], now: Millis) -> Vec<Option<Entry>> {
    let entry = |incoming: &Incoming| {
        let IncomingContent::Record(Record::Entry(entry)) = &incoming.content else { return None };
        let mut entry = cleaned((**entry).clone())?;
        if entry.at_ms.saturating_sub(now.0) > CLOCK_MS {
            entry.at_ms = now.0;
        }
        Some(entry)
    };
    some.iter().map(entry).collect()
}

/// Returns how far the clock of each host is ahead, by the times of its records.
fn clocks_ahead(some: &[Incoming], now: Millis) -> BTreeMap<HostId, u64> {
    let mut clocks = BTreeMap::new();
    for Incoming { sealed, content } in some {
        let ahead = sealed.time_ms.saturating_sub(now.0);
        // Only what could be decrypted is known to be of that time.
        let is_ahead = ahead > CLOCK_MS && matches!(content, IncomingContent::Record(_));
        let most: &mut u64 = clocks.entry(sealed.host).or_default();
        *most = if is_ahead { ahead.max(*most) } else { *most };
    }
    clocks
}

fn take_in(
    intake: &mut Intake<'_>,
    incoming: &Incoming,
    arrival: Arrival,
    entry: Option<&Entry>,
    taken: &mut TakenIn,
) -> rusqlite::Result<()> {
    let sealed = &incoming.sealed;
    let host = intake.host(sealed.host)?;
    if arrival == Arrival::Waited {
        let row = judge(intake, host, incoming, entry, taken)?;
        taken.records += u64::from(row.replace(intake.connection, host.row, sealed.idx)?);
        return Ok(());
    }
    if host.is_self || sealed.idx != host.head + 1 {
        return Ok(());
    }
    if incoming.content == IncomingContent::NoKey {
        taken.without_key += 1;
        return Ok(());
    }
    taken.records += 1;
    let is_read = matches!(incoming.content, IncomingContent::Record(_));
    judge(intake, host, incoming, entry, taken)?.append(intake.connection, host.row, sealed.idx)?;
    let epoch = sealed.epoch().filter(|_| is_read).unwrap_or_default();
    let sql = "UPDATE sync_hosts SET head = ?2, epoch = max(epoch, ?3) WHERE id = ?1";
    intake.connection.run(sql, (host.row, sealed.idx as i64, epoch)).map(drop)
}

/// Applies a record; returns its row for the log.
fn judge(
    intake: &mut Intake<'_>,
    host: IntakeHost,
    incoming: &Incoming,
    entry: Option<&Entry>,
    taken: &mut TakenIn,
) -> rusqlite::Result<NewRow> {
    let sealed = &incoming.sealed;
    let row = |state: i64| NewRow::of(sealed.id, sealed.time_ms, state);
    let is_of_replaced_key = is_of_replaced_key(host, sealed);
    match (&incoming.content, entry) {
        (IncomingContent::Forgotten, _) => Ok(row(DONE)),
        (IncomingContent::Later, _) => {
            taken.waiting += 1;
            Ok(NewRow { version: RECORD_KINDS, content: sealed.payload.clone(), ..row(NEWER) })
        }
        (IncomingContent::Record(Record::Forgetting(forgotten)), _) if !is_of_replaced_key => {
            intake.terms.write(intake.connection)?;
            let mut is_refused = false;
            for entity in forgotten {
                match bury(intake.connection, *entity, host)? {
                    Some(had_row) => taken.forgotten += u64::from(had_row),
                    None => is_refused = true,
                }
            }
            taken.applied += 1;
            taken.refused += u64::from(is_refused);
            Ok(row(DONE))
        }
        (IncomingContent::Record(Record::Entry(_)), Some(entry)) if !is_of_replaced_key => {
            let applied = apply(intake, host, sealed, entry)?;
            taken.applied += u64::from(applied == Applied::Changed);
            taken.waiting += u64::from(applied == Applied::NotShared);
            taken.refused += u64::from(applied == Applied::Refused);
            let known = NewRow { entity: Some(entry.entity), version: entry.version, ..row(DONE) };
            Ok(match applied {
                // What this host has written itself, under an earlier id, is not sent again.
                Applied::Changed if host.is_own => NewRow { content: own_digest(intake, entry)?, ..known },
                Applied::Changed | Applied::Known | Applied::Refused => known,
                Applied::Shadowed => NewRow { state: SHADOWED, ..known },
                Applied::Forgotten => NewRow { state: ERASE, ..known },
                Applied::NotShared => {
                    let project = Some(*entry.project.as_bytes());
                    NewRow { state: WAITS, project, content: sealed.payload.clone(), ..known }
                }
            })
        }
        (IncomingContent::Damaged | IncomingContent::NoKey | IncomingContent::Record(_), _) => {
            taken.damaged += 1;
            Ok(row(DAMAGED))
        }
    }
}

/// Returns the digest of the row that an entry has become.
fn own_digest(intake: &Intake<'_>, entry: &Entry) -> rusqlite::Result<Option<Vec<u8>>> {
    let Some(known) = Identity::find(intake.connection, entry.entity)? else { return Ok(None) };
    let content = content::read(intake.connection, known.table, known.row, RawText::Without)?;
    Ok(content.map(|content| content.entry(entry.entity, entry.project).digest().to_vec()))
}

/// Returns whether a record was encrypted with a key that its host has replaced before: whoever has left the circle has it.
fn is_of_replaced_key(host: IntakeHost, sealed: &SealedRecord) -> bool {
    sealed.idx > host.head && sealed.epoch().is_some_and(|epoch| epoch < host.epoch)
}

/// Returns whether an error is the fault of a record, and not of the database, the disk or another process.
fn is_of_record(error: &StoreError) -> bool {
    let StoreError::Statement { source, .. } = error else { return false };
    match source.0.sqlite_error_code() {
        // A value that cannot be converted.
        None => true,
        Some(code) => matches!(
            code,
            ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig | ErrorCode::Unknown
        ),
    }
}
