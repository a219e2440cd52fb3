//! What a record of another host does to the memory.

use longhaul_core::Millis;
use longhaul_sync::{Body, Entry, SealedRecord};
use rusqlite::Connection;

use super::apply_observation::put_observation;
use super::apply_prompt::put_prompt;
use super::apply_summary::{put_bookmark, put_summary};
use super::circle::is_own_host;
use super::content;
use super::entities::{self, EntityTable, Known, Version};
use super::intake_transaction::{Intake, IntakeHost};
use super::log::DONE;
use crate::memory::records::RawText;
use crate::row_ids::{ProjectRow, SessionRow, Time};

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    /// The memory has changed.
    Changed,
    /// The memory has it already, or a newer version.
    Known,
    /// It was forgotten: its payload is to be erased in the engine.
    Forgotten,
    /// Its project is not shared here.
    NotShared,
    /// It would change what is not its host's to change.
    Refused,
}

/// What became of the row of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutRow {
    /// It is the entry's.
    Done,
    /// What the entry describes was forgotten here.
    Forgotten,
    /// The row that the entry names is not its own.
    Refused,
}

/// Where an entry belongs here.
pub(super) struct Place<'a> {
    pub(super) connection: &'a Connection,
    pub(super) host: IntakeHost,
    pub(super) sealed: &'a SealedRecord,
    pub(super) entry: &'a Entry,
    pub(super) project: ProjectRow,
    /// The session with its row; `None` for a note outside of any.
    pub(super) session: Option<(&'a str, SessionRow)>,
    /// The row that it has already.
    pub(super) row: Option<i64>,
}

impl Place<'_> {
    pub(super) fn at(&self) -> Time {
        Time(Millis(self.entry.at_ms))
    }

    /// Stores which row the entity is. To be called before the index is written: the index has a term for its host.
    pub(super) fn put_entity(&self, table: EntityTable, row: i64) -> rusqlite::Result<()> {
        let version = Version {
            entity: self.entry.entity,
            table,
            row,
            host: self.host.row,
            version: self.entry.version,
            record: self.sealed.id,
            digest: None,
        };
        entities::put(self.connection, &version)
    }
}

/// Applies an entry of another host. Doing it again, or in another order, has the same result.
///
/// An entry never changes what was made on this host, nor anything of a session that runs or ran here, unless it comes from
/// this host itself, under an id that it had before.
pub(super) fn apply(
    intake: &mut Intake<'_>,
    host: IntakeHost,
    sealed: &SealedRecord,
    entry: &Entry,
) -> rusqlite::Result<Applied> {
    let connection = intake.connection;
    let known = entities::find_for(connection, entry.entity, host.row)?;
    if let Some(known) = &known
        && let Some(state) = entities::state_if_forgotten(known)
    {
        // What another machine has forgotten does not have the records of this one erased.
        let is_erased = state != DONE && entities::is_same_machine(connection, known.host, host.row)?;
        return Ok(if is_erased { Applied::Forgotten } else { Applied::Known });
    }
    let Some(project) = intake.project(entry)? else { return Ok(Applied::NotShared) };
    if known.as_ref().is_some_and(|known| (entry.version, sealed.id) <= (known.version, known.record)) {
        return Ok(Applied::Known);
    }
    if !is_of_same_kind(known.as_ref(), entry) || !may_write(connection, host, known.as_ref())? {
        return Ok(Applied::Refused);
    }
    let at = Millis(entry.at_ms);
    let session = match &entry.session {
        Some(session) => {
            let found = intake.session(session, host, &project, at)?;
            if found.is_forgotten(at) {
                // The session was forgotten here before this record came.
                return forgotten_here(connection, host, sealed, entry);
            }
            if found.is_local && !host.is_own {
                return Ok(Applied::Refused);
            }
            Some((session.as_str(), found.row))
        }
        None => None,
    };
    let row = known.as_ref().and_then(|known| known.row);
    let place = Place { connection, host, sealed, entry, project: project.row, session, row };
    let put = match &entry.body {
        Body::Prompt(body) => put_prompt(intake, &place, body)?,
        Body::Observation(body) | Body::Note(body) => put_observation(intake, &place, body)?,
        Body::Summary(body) => put_summary(intake, &place, body)?,
        Body::Bookmark(body) => put_bookmark(intake, &place, body)?,
    };
    match put {
        PutRow::Done => {
            note_own_content(&place)?;
            Ok(Applied::Changed)
        }
        PutRow::Forgotten => forgotten_here(connection, host, sealed, entry),
        PutRow::Refused => Ok(Applied::Refused),
    }
}

/// Leaves out an entry whose place was forgotten here. Only what this machine has made is also erased in the engine.
fn forgotten_here(
    connection: &Connection,
    host: IntakeHost,
    sealed: &SealedRecord,
    entry: &Entry,
) -> rusqlite::Result<Applied> {
    let is_everywhere = entities::mark_forgotten(connection, entry.entity, host, sealed.id)?;
    Ok(if is_everywhere { Applied::Forgotten } else { Applied::Known })
}

/// Returns whether an entity stays in its table: its row is a row of that one.
fn is_of_same_kind(known: Option<&Known>, entry: &Entry) -> bool {
    known.and_then(|known| known.table).is_none_or(|table| table == EntityTable::of(&entry.body))
}

/// Returns whether a host may write versions of an entity. One that was made here, only this host writes.
fn may_write(connection: &Connection, host: IntakeHost, known: Option<&Known>) -> rusqlite::Result<bool> {
    match known {
        Some(known) if !host.is_own && known.host != host.row => Ok(!is_own_host(connection, known.host)?),
        _ => Ok(true),
    }
}

/// Records what this host has written itself, under an earlier id, as known: otherwise it would be sent again.
fn note_own_content(place: &Place<'_>) -> rusqlite::Result<()> {
    if !place.host.is_own {
        return Ok(());
    }
    let entity = place.entry.entity;
    let Some(Known { table: Some(table), row: Some(row), .. }) = entities::find(place.connection, entity)? else {
        return Ok(());
    };
    let Some(content) = content::read(place.connection, table, row, RawText::Without)? else { return Ok(()) };
    let digest = content.entry(entity, place.entry.project).digest();
    let sql = "UPDATE sync_entities SET digest = ?2 WHERE entity = ?1";
    place.connection.prepare_cached(sql)?.execute((entity.as_bytes(), digest)).map(drop)
}
