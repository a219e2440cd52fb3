//! What a record of another host does to the memory.

use longhaul_core::Millis;
use longhaul_memory::MadeBy;
use longhaul_sync::{Body, BookmarkBody, Entry, ObservationBody, SealedRecord, SummaryBody};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::apply_prompt::put_prompt;
use super::circle::HostRow;
use super::entities::{self, EntityTable, Known, Version};
use super::log::DONE;
use super::projects::{note_project, shared_as};
use crate::What;
use crate::memory::session_row::{MemorySession, add_project};
use crate::memory::tool_calls::list;
use crate::recall::index;
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
}

/// Where an entry belongs here.
pub(super) struct Place<'a> {
    pub(super) connection: &'a Connection,
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
}

/// Applies an entry of another host. Doing it again, or in another order, has the same result.
pub(super) fn apply(
    connection: &Connection,
    host: HostRow,
    sealed: &SealedRecord,
    entry: &Entry,
) -> rusqlite::Result<Applied> {
    let known = entities::find(connection, entry.entity)?;
    if let Some(state) = known.as_ref().and_then(entities::state_if_forgotten) {
        return Ok(if state == DONE { Applied::Known } else { Applied::Forgotten });
    }
    let Some((key, name)) = shared_as(connection, entry.project)? else {
        note_project(connection, entry.project, &entry.project_name)?;
        return Ok(Applied::NotShared);
    };
    if known.as_ref().is_some_and(|known| (entry.version, sealed.id) <= (known.version, known.record)) {
        return Ok(Applied::Known);
    }
    let project = add_project(connection, &key, &name)?;
    let session = match &entry.session {
        Some(session) => {
            let found = session_of(connection, host, session, (&key, &name), entry)?;
            if found.is_forgotten(Millis(entry.at_ms)) {
                // The session was forgotten here before this record came.
                entities::mark_forgotten(connection, entry.entity, host, sealed.id)?;
                return Ok(Applied::Forgotten);
            }
            Some((session.as_str(), found.row))
        }
        None => None,
    };
    let place = Place { connection, entry, project, session, row: known.as_ref().and_then(|known| known.row) };
    let maps = |table: EntityTable, row: i64| Version {
        entity: entry.entity,
        table,
        row,
        host,
        version: entry.version,
        record: sealed.id,
        digest: None,
    };
    // The entity is stored before the index is written: the index has a term for its host.
    let put = |table, row| entities::put(connection, &maps(table, row));
    let stored = match &entry.body {
        Body::Prompt(body) => put_prompt(&place, body, &put)?,
        Body::Observation(body) | Body::Note(body) => put_observation(&place, body, &put)?,
        Body::Summary(body) => put_summary(&place, body, known.as_ref(), &put)?,
        Body::Bookmark(body) => put_bookmark(&place, body, &put)?,
    };
    if !stored {
        entities::mark_forgotten(connection, entry.entity, host, sealed.id)?;
        return Ok(Applied::Forgotten);
    }
    Ok(Applied::Changed)
}

/// Stores which row an entity is.
pub(super) type Put<'a> = &'a dyn Fn(EntityTable, i64) -> rusqlite::Result<()>;

/// Returns the row of a session, adding it as one of another host if there is none.
fn session_of(
    connection: &Connection,
    host: HostRow,
    session: &str,
    (key, name): (&str, &str),
    entry: &Entry,
) -> rusqlite::Result<MemorySession> {
    if let Some(found) = MemorySession::find(connection, session)? {
        return Ok(found);
    }
    connection
        .prepare_cached(
            "INSERT INTO sessions (session_id, project, project_key, project_path, status, created_at, host_id)
             VALUES (?1, ?2, ?3, '', 'completed', ?4, ?5)",
        )?
        .execute((session, name, key, Time(Millis(entry.at_ms)), host))?;
    MemorySession::find(connection, session)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Stores an observation or a note; returns `false` if the call was forgotten here.
fn put_observation(place: &Place<'_>, body: &ObservationBody, put: Put<'_>) -> rusqlite::Result<bool> {
    let connection = place.connection;
    let known = match (place.row, &body.tool_use_id) {
        (Some(row), _) => Some(row),
        (None, Some(call)) => {
            let sql = "SELECT 1 FROM folded_calls WHERE tool_use_id = ?1 AND observation_id IS NULL";
            if connection.prepare_cached(sql)?.exists([call])? {
                return Ok(false);
            }
            let sql = "SELECT id FROM observations WHERE tool_use_id = ?1";
            connection.prepare_cached(sql)?.query_row([call], |row| row.get(0)).optional()?
        }
        (None, None) => None,
    };
    match known {
        Some(row) => {
            put(EntityTable::Observations, row)?;
            let before = index::before_change(connection, What::Observation, row)?;
            let sql = "UPDATE observations SET title = ?2, narrative = ?3, facts = ?4, repeats = ?5, made_by = ?6
                       WHERE id = ?1 AND (title, narrative, facts, repeats, made_by) IS NOT (?2, ?3, ?4, ?5, ?6)";
            let maker = maker(&body.made_by);
            connection.prepare_cached(sql)?.execute((
                row,
                &body.title,
                &body.narrative,
                list(&body.facts),
                body.repeats,
                maker,
            ))?;
            index::replace(connection, What::Observation, row, before)?;
        }
        None => {
            let row = insert_observation(place, body)?;
            put(EntityTable::Observations, row)?;
            index::add(connection, What::Observation, row)?;
        }
    }
    put_raw(place, body)?;
    Ok(true)
}

fn insert_observation(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<i64> {
    let kind = if place.session.is_none() { "note" } else { &body.observed };
    place
        .connection
        .prepare_cached(
            "INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title, narrative,
                                       facts, files_read, files_modified, command_key, repeats, made_by, created_at)
             VALUES (:session, :project, :prompt, :call, :kind, :tool, :title, :narrative, :facts, :read, :modified,
                     :command, :repeats, :maker, :at)",
        )?
        .insert(named_params! {
            ":session": place.session.map(|(_, row)| row),
            ":project": place.project,
            ":prompt": body.prompt_number,
            ":call": body.tool_use_id,
            ":kind": kind,
            ":tool": body.tool,
            ":title": body.title,
            ":narrative": body.narrative,
            ":facts": list(&body.facts),
            ":read": list(&body.files_read),
            ":modified": list(&body.files_modified),
            ":command": body.command_key,
            ":repeats": body.repeats,
            ":maker": maker(&body.made_by),
            ":at": place.at(),
        })
}

/// Stores raw text, if the other host shares it.
fn put_raw(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<()> {
    let (Some((session, _)), Some(call)) = (place.session, &body.tool_use_id) else { return Ok(()) };
    let result = format!("{call}:result");
    let pieces = [("tool_input", call, &body.input), ("tool_output", &result, &body.output)];
    for (kind, source, text) in pieces {
        let Some(text) = text else { continue };
        let (input, output) = if kind == "tool_input" { (Some(text), None) } else { (None, Some(text)) };
        place
            .connection
            .prepare_cached(
                "INSERT INTO details (session_id, origin_session_id, turn_number, tool_name, input_text, output_text,
                                      token_count, kind, source_id, created_at)
                 VALUES (?1, ?1, 0, ?2, ?3, ?4, (length(coalesce(?3, ?4)) + 3) / 4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute((session, &body.tool, input, output, kind, source, place.at()))?;
    }
    Ok(())
}

fn put_summary(place: &Place<'_>, body: &SummaryBody, known: Option<&Known>, put: Put<'_>) -> rusqlite::Result<bool> {
    let connection = place.connection;
    let Some((_, session)) = place.session else { return Ok(true) };
    // One summary for each prompt: a copy of the host may have made another one.
    let same: Option<i64> = match known.and_then(|known| known.row) {
        Some(row) => Some(row),
        None => connection
            .prepare_cached("SELECT id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2")?
            .query_row((session, body.prompt_number), |row| row.get(0))
            .optional()?,
    };
    let texts = (&body.request, &body.investigated, &body.learned, &body.completed, &body.next_steps);
    let (request, investigated, learned, completed, next) = texts;
    let maker = maker(&body.made_by);
    match same {
        Some(row) => {
            put(EntityTable::Summaries, row)?;
            let before = index::before_change(connection, What::Summary, row)?;
            let sql = "UPDATE session_summaries SET request = ?2, investigated = ?3, learned = ?4, completed = ?5,
                           next_steps = ?6, exchanges = ?7, made_by = ?8, created_at = ?9 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((
                row,
                request,
                investigated,
                learned,
                completed,
                next,
                &body.exchanges,
                maker,
                place.at(),
            ))?;
            index::replace(connection, What::Summary, row, before)?;
        }
        None => {
            let sql =
                "INSERT INTO session_summaries (session_id, project_id, prompt_number, request, investigated, learned,
                                                      completed, next_steps, exchanges, made_by, created_at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
            let row = connection.prepare_cached(sql)?.insert((
                session,
                place.project,
                body.prompt_number,
                request,
                investigated,
                learned,
                completed,
                next,
                &body.exchanges,
                maker,
                place.at(),
            ))?;
            put(EntityTable::Summaries, row)?;
            index::add(connection, What::Summary, row)?;
        }
    }
    Ok(true)
}

fn put_bookmark(place: &Place<'_>, body: &BookmarkBody, put: Put<'_>) -> rusqlite::Result<bool> {
    let connection = place.connection;
    let Some((session, _)) = place.session else { return Ok(true) };
    let same = match place.row {
        Some(row) => Some(row),
        None => connection
            .prepare_cached("SELECT id FROM bookmarks WHERE session_id = ?1 AND created_at = ?2")?
            .query_row((session, place.at()), |row| row.get(0))
            .optional()?,
    };
    let row = match same {
        Some(row) => {
            let sql = "UPDATE bookmarks SET note = ?2, git_dirty = ?3 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((row, &body.note, body.git_dirty))?;
            row
        }
        None => connection
            .prepare_cached(
                "INSERT INTO bookmarks (session_id, created_at, prompt_id, note, git_commit, git_dirty, context_tokens)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .insert((
                session,
                place.at(),
                &body.prompt_id,
                &body.note,
                &body.git_commit,
                body.git_dirty,
                body.context_tokens,
            ))?,
    };
    put(EntityTable::Bookmarks, row)?;
    Ok(true)
}

fn maker(name: &str) -> &'static str {
    MadeBy::from_name(name).unwrap_or(MadeBy::Rule).as_str()
}
