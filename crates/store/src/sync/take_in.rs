//! Takes in records of other hosts, a few in one transaction. Also how far ahead the time of a record may be, and what
//! is stored of its texts: only what a text of this host could be.
//!
//! A text that this program has stored on another host is not changed: the hosts have the same.

use std::collections::BTreeMap;

use longhaul_core::Millis;
use longhaul_core::text::cut_middle;
use longhaul_memory::{Exchange, Kind, MadeBy, SAID_CHARS};
use longhaul_sync::{
    Body, BookmarkBody, Entry, HostId, Incoming, IncomingContent, ObservationBody, PromptBody, RECORD_KINDS, Record,
    SealedRecord, SummaryBody,
};
use longhaul_transcript::DetailKind;
use rusqlite::ErrorCode;

use super::apply::{Applied, apply};
use super::entities::bury;
use super::intake_transaction::{Intake, IntakeHost};
use super::log::{DAMAGED, DONE, ERASE, NEWER, NewRow, WAITS, append};
use crate::sql::Sql;
use crate::{Sanitizer, Store, StoreError};

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
    /// Records that could not be read.
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

/// Where records come from.
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
        if let [one] = some {
            let sealed = one.sealed.clone().with_payload(None);
            return self.take_in_at_once(&[Incoming { sealed, content: IncomingContent::Damaged }], arrival, now);
        }
        let mut taken = TakenIn::default();
        for one in some {
            taken.add(self.take_in_some(std::slice::from_ref(one), arrival, now)?);
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
            let mut intake = Intake::begin(tx);
            for (incoming, entry) in some.iter().zip(&entries) {
                match arrival {
                    Arrival::New => take_in_new(&mut intake, incoming, entry.as_ref(), &mut taken)?,
                    Arrival::Waited => take_in_waited(&mut intake, incoming, entry.as_ref(), &mut taken)?,
                }
            }
            intake.finish()
        };
        let is_tombstone = |one: &Incoming| matches!(one.content, IncomingContent::Record(Record::Forgetting(_)));
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
    let entry = |incoming: &Incoming| match &incoming.content {
        IncomingContent::Record(Record::Entry(entry)) => {
            let mut entry = cleaned((**entry).clone());
            if entry.at_ms.saturating_sub(now.0) > CLOCK_MS {
                entry.at_ms = now.0;
            }
            Some(entry)
        }
        _ => None,
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

fn take_in_new(
    intake: &mut Intake<'_>,
    incoming: &Incoming,
    entry: Option<&Entry>,
    taken: &mut TakenIn,
) -> rusqlite::Result<()> {
    let sealed = &incoming.sealed;
    let host = intake.host(sealed.host)?;
    if host.is_self || sealed.idx != host.head + 1 {
        return Ok(());
    }
    if incoming.content == IncomingContent::NoKey {
        taken.without_key += 1;
        return Ok(());
    }
    taken.records += 1;
    let is_read = matches!(incoming.content, IncomingContent::Record(_));
    let epoch = sealed.epoch().filter(|_| is_read);
    let row = judge(intake, host, incoming, entry, taken)?;
    append(intake.connection, host.row, sealed.idx, &row)?;
    intake.note_taken(sealed.host, sealed.idx, epoch);
    Ok(())
}

fn take_in_waited(
    intake: &mut Intake<'_>,
    incoming: &Incoming,
    entry: Option<&Entry>,
    taken: &mut TakenIn,
) -> rusqlite::Result<()> {
    let host = intake.host(incoming.sealed.host)?;
    let row = judge(intake, host, incoming, entry, taken)?;
    let sql = "UPDATE sync_log SET entity = ?3, version = ?4, state = ?5, project = ?6, content = ?7
               WHERE host_id = ?1 AND idx = ?2 AND record_id = ?8 AND state > 0 AND state <> 3";
    let changed = intake.connection.run(
        sql,
        (
            host.row,
            incoming.sealed.idx as i64,
            row.entity.map(|entity| *entity.as_bytes()),
            row.version,
            row.state,
            row.project,
            row.content,
            row.id.as_bytes(),
        ),
    )?;
    taken.records += changed as u64;
    Ok(())
}

/// Applies a record; returns its row for the log.
fn judge<'a>(
    intake: &mut Intake<'_>,
    host: IntakeHost,
    incoming: &'a Incoming,
    entry: Option<&Entry>,
    taken: &mut TakenIn,
) -> rusqlite::Result<NewRow<'a>> {
    let sealed = &incoming.sealed;
    let row = |state: i64| NewRow::of(sealed.id, sealed.time_ms, state);
    let kept = sealed.payload.as_deref();
    match (&incoming.content, entry) {
        (IncomingContent::Forgotten, _) => Ok(row(DONE)),
        (IncomingContent::Later, _) => {
            taken.waiting += 1;
            Ok(NewRow { version: RECORD_KINDS, content: kept, ..row(NEWER) })
        }
        (IncomingContent::Record(_), _) if is_of_replaced_key(host, sealed) => {
            taken.damaged += 1;
            Ok(row(DAMAGED))
        }
        (IncomingContent::Record(Record::Forgetting(forgotten)), _) => {
            intake.expect_change()?;
            let mut is_refused = false;
            for entity in forgotten {
                match bury(intake.connection, *entity, host, sealed.id)? {
                    Some(had_row) => taken.forgotten += u64::from(had_row),
                    None => is_refused = true,
                }
            }
            taken.applied += 1;
            taken.refused += u64::from(is_refused);
            Ok(row(DONE))
        }
        (IncomingContent::Record(Record::Entry(_)), Some(entry)) => {
            let known = NewRow { entity: Some(entry.entity), version: entry.version, ..row(DONE) };
            Ok(match apply(intake, host, sealed, entry)? {
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
                Applied::Refused => {
                    taken.refused += 1;
                    known
                }
            })
        }
        (IncomingContent::Damaged | IncomingContent::NoKey | IncomingContent::Record(_), _) => {
            taken.damaged += 1;
            Ok(row(DAMAGED))
        }
    }
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

/// The longest line: a title, a fact, a path.
const LINE_CHARS: usize = 2_000;

/// The longest name: of a tool, of a commit.
const NAME_CHARS: usize = 200;

/// How many lines a list has at most.
const LIST_LINES: usize = 500;

/// How many requests a summary has at most.
const EXCHANGES: usize = 20;

/// Returns an entry of another host as it may be stored.
fn cleaned(mut entry: Entry) -> Entry {
    let body = match entry.body {
        Body::Prompt(body) => Body::Prompt(prompt(body)),
        Body::Observation(body) => Body::Observation(observation(body)),
        Body::Note(body) => Body::Note(observation(body)),
        Body::Summary(body) => Body::Summary(summary(body)),
        Body::Bookmark(body) => Body::Bookmark(bookmark(body)),
    };
    entry.body = body;
    entry
}

fn prompt(mut body: PromptBody) -> PromptBody {
    body.prompt = Sanitizer::default().capped(&body.prompt);
    body.reply = Sanitizer::default().reply(&body.reply);
    body
}

fn observation(mut body: ObservationBody) -> ObservationBody {
    let kind = Kind::from_name(&body.observed).unwrap_or(Kind::Discovery);
    body.made_by = maker(&body.made_by, kind == Kind::Note);
    body.observed = kind.as_str().to_owned();
    body.tool = line(&body.tool, NAME_CHARS);
    body.title = line(&body.title, LINE_CHARS);
    body.narrative = passage(&body.narrative);
    body.facts = list(&body.facts);
    body.files_read = list(&body.files_read);
    body.files_modified = list(&body.files_modified);
    body.command_key = body.command_key.map(|key| line(&key, LINE_CHARS));
    body.input = body.input.map(|text| Sanitizer::default().detail(DetailKind::ToolInput, "", &text));
    body.output = body.output.map(|text| Sanitizer::default().detail(DetailKind::ToolOutput, "", &text));
    body
}

fn summary(mut body: SummaryBody) -> SummaryBody {
    body.made_by = maker(&body.made_by, false);
    for text in
        [&mut body.request, &mut body.investigated, &mut body.learned, &mut body.completed, &mut body.next_steps]
    {
        *text = passage(text);
    }
    body.exchanges = body.exchanges.map(|text| {
        let mut exchanges = Exchange::from_json(&text);
        exchanges.truncate(EXCHANGES);
        for exchange in &mut exchanges {
            exchange.asked = line(&exchange.asked, LINE_CHARS);
            exchange.outcome = line(&exchange.outcome, LINE_CHARS);
        }
        Exchange::to_json(&exchanges)
    });
    body
}

fn bookmark(mut body: BookmarkBody) -> BookmarkBody {
    body.note = body.note.map(|text| line(&text, LINE_CHARS));
    body.git_commit = body.git_commit.map(|commit| line(&commit, NAME_CHARS));
    body
}

/// Returns who has written a text. Only a note is a person's: a summary of a person is overwritten by nothing.
fn maker(name: &str, is_note: bool) -> String {
    let maker = MadeBy::from_name(name).unwrap_or(MadeBy::Rule);
    let maker = if maker == MadeBy::Person && !is_note { MadeBy::Model } else { maker };
    maker.as_str().to_owned()
}

fn list(lines: &[String]) -> Vec<String> {
    lines.iter().take(LIST_LINES).map(|text| line(text, LINE_CHARS)).collect()
}

/// Returns a text as one line. One that is a line already stays as it is.
fn line(text: &str, max: usize) -> String {
    let text = Sanitizer::default().clean(text);
    if text.chars().any(char::is_control) || is_longer(&text, max) {
        return Sanitizer::default().line(&text, max);
    }
    text
}

/// Returns a text without control characters; line breaks and tabs stay.
fn passage(text: &str) -> String {
    let text = Sanitizer::default().clean(text);
    let is_printable = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    let text = if text.chars().all(is_printable) { text } else { text.chars().filter(|c| is_printable(*c)).collect() };
    if is_longer(&text, SAID_CHARS) { cut_middle(&text, SAID_CHARS) } else { text }
}

fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().count() > max
}
