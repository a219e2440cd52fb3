//! What a record of another host does to the memory: stores a prompt with its reply, an observation, a summary or a
//! bookmark.

use longhaul_core::Millis;
use longhaul_sync::{Body, BookmarkBody, Entry, ObservationBody, PromptBody, SealedRecord, SummaryBody};
use rusqlite::{Connection, named_params};

use super::circle::is_own_host;
use super::content;
use super::entities::{self, EntityTable, Known, Version, host_row_of};
use super::intake_transaction::{Intake, IntakeHost};
use super::log::DONE;
use crate::What;
use crate::ingest::NEXT_NUMBER;
use crate::memory::observations::list;
use crate::memory::records::RawText;
use crate::recall::{index, replies};
use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;

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
enum PutRow {
    /// It is the entry's.
    Done,
    /// What the entry describes was forgotten here.
    Forgotten,
    /// The row that the entry names is not its own.
    Refused,
}

/// Where an entry belongs here.
struct Place<'a> {
    connection: &'a Connection,
    host: IntakeHost,
    sealed: &'a SealedRecord,
    entry: &'a Entry,
    project: ProjectRow,
    /// The session with its row; `None` for a note outside of any.
    session: Option<(&'a str, SessionRow)>,
    /// The row that it has already.
    row: Option<i64>,
}

impl Place<'_> {
    fn at(&self) -> Time {
        Time(Millis(self.entry.at_ms))
    }

    /// Stores which row the entity is. To be called before the index is written: the index has a term for its host.
    fn put_entity(&self, table: EntityTable, row: i64) -> rusqlite::Result<()> {
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
    place.connection.run(sql, (entity.as_bytes(), digest)).map(drop)
}

/// With what the id of a turn begins that another host has brought.
const TURN: &str = "sync:";

/// Stores a prompt with its reply.
fn put_prompt(intake: &mut Intake<'_>, place: &Place<'_>, body: &PromptBody) -> rusqlite::Result<PutRow> {
    let Some((_, session)) = place.session else { return Ok(PutRow::Done) };
    let known = match place.row {
        Some(row) => Some(row),
        None => match same_prompt(place, session, body)? {
            Some((_, project)) if project != place.project => return Ok(PutRow::Refused),
            same => same.map(|(row, _)| row),
        },
    };
    let row = match known {
        Some(row) => {
            change_origin(intake, place, session, row)?;
            row
        }
        None => {
            let row = insert_prompt(place, session, body)?;
            place.put_entity(EntityTable::Prompts, row)?;
            intake.index(What::Prompt, row, place.host)?;
            row
        }
    };
    put_reply(intake, place, session, row, body)?;
    Ok(PutRow::Done)
}

/// Stores that the host has written the newest version of a prompt. If that is another host than before, the prompt and its
/// replies are added to the index again: the index has a term for the host.
fn change_origin(intake: &mut Intake<'_>, place: &Place<'_>, session: SessionRow, row: i64) -> rusqlite::Result<()> {
    let connection = place.connection;
    let before = host_row_of(connection, What::Prompt, row)?;
    if before == (!place.host.is_own).then_some(place.host.row) {
        return place.put_entity(EntityTable::Prompts, row);
    }
    intake.expect_change()?;
    index::remove(connection, What::Prompt, row)?;
    place.put_entity(EntityTable::Prompts, row)?;
    index::add(connection, What::Prompt, row)?;
    replies::link_session(connection, session)
}

/// Returns the row of the same prompt with its project, if a transcript or a copy of the host has brought it here.
fn same_prompt(
    place: &Place<'_>,
    session: SessionRow,
    body: &PromptBody,
) -> rusqlite::Result<Option<(i64, ProjectRow)>> {
    let sql = "SELECT id, project_id FROM prompts WHERE session_id = ?1 AND prompt = ?2
               AND (prompt_id = ?3 OR prompt_number = ?4) ORDER BY id LIMIT 1";
    place.connection.first(sql, (session, &body.prompt, &body.prompt_id, body.number))
}

fn insert_prompt(place: &Place<'_>, session: SessionRow, body: &PromptBody) -> rusqlite::Result<i64> {
    let connection = place.connection;
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let is_taken = connection.has(sql, (session, body.number))?;
    let number = if is_taken {
        let sql = "SELECT max(prompt_number) + 1 FROM prompts WHERE session_id = ?1";
        connection.one(sql, [session])?
    } else {
        body.number
    };
    // A model is not asked about the prompts of others: whose tokens it costs is for them to decide.
    let sql =
        "INSERT INTO turns (session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at, model_at)
               VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?6)";
    let new = (session, place.project, number, &body.prompt_id, &body.prompt, place.at());
    let row = connection.add(sql, new)?;
    let sql = "UPDATE sessions SET prompt_counter = max(prompt_counter, ?2), last_prompt = iif(?2 >= prompt_counter, ?3, last_prompt),
                   first_user_prompt = iif(?2 = 1 OR first_user_prompt IS NULL, ?3, first_user_prompt),
                   created_at = iif(host_id IS NULL, created_at, min(created_at, ?4))
               WHERE id = ?1";
    connection.run(sql, (session, number, &body.prompt, place.at()))?;
    Ok(row)
}

/// Stores the reply, unless one is here already from a transcript.
fn put_reply(
    intake: &mut Intake<'_>,
    place: &Place<'_>,
    session: SessionRow,
    prompt: i64,
    body: &PromptBody,
) -> rusqlite::Result<()> {
    let connection = place.connection;
    let sql = "SELECT turn_id, coalesce(reply, '') FROM turns WHERE id = ?1";
    let (turn, before): (Option<String>, String) = connection.one(sql, [prompt])?;
    let is_of_sync = turn.as_deref().is_some_and(|turn| turn.starts_with(TURN));
    let is_new = turn.is_none() && !body.reply.is_empty() && replies::to_prompt(connection, prompt)?.is_empty();
    if !is_of_sync && !is_new {
        return Ok(());
    }
    if is_of_sync {
        intake.expect_change()?;
    }
    let sql = format!(
        "UPDATE turns SET reply = ?3, chars = ?4, number = coalesce(number, {NEXT_NUMBER}), turn_id = coalesce(turn_id, ?5),
                          role = 'user', began_at = coalesce(began_at, ?6), replied_at = coalesce(replied_at, ?6)
         WHERE id = ?2 AND session_id = ?1"
    );
    let bytes = (body.prompt.len() + body.reply.len()) as i64;
    let turn = format!("{TURN}{}", place.entry.entity);
    connection.run(&sql, (session, prompt, &body.reply, bytes, turn, place.at()))?;
    if is_of_sync {
        replies::reindex(connection, prompt, &before)
    } else {
        replies::link_new(connection, prompt, &body.reply, intake.terms())
    }
}

/// Stores an observation or a note.
fn put_observation(intake: &mut Intake<'_>, place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<PutRow> {
    let known = match (place.row, &body.tool_use_id) {
        (Some(row), _) => Some(row),
        (None, Some(call)) => match find_call(place, call)? {
            FoundCall::Row(row) => Some(row),
            FoundCall::Nothing => None,
            FoundCall::Forgotten => return Ok(PutRow::Forgotten),
            FoundCall::OfAnother => return Ok(PutRow::Refused),
        },
        (None, None) => None,
    };
    match known {
        Some(row) => change_observation(intake, place, row, body)?,
        None => {
            let row = insert_observation(place, body)?;
            place.put_entity(EntityTable::Observations, row)?;
            intake.index(What::Observation, row, place.host)?;
        }
    }
    put_raw(place, body)?;
    Ok(PutRow::Done)
}

/// What is stored of a tool call.
enum FoundCall {
    /// The row of the same session and project, brought here by a transcript or a copy of the host.
    Row(i64),
    /// Nothing.
    Nothing,
    /// It was forgotten here.
    Forgotten,
    /// A call of another session or project.
    OfAnother,
}

fn find_call(place: &Place<'_>, call: &str) -> rusqlite::Result<FoundCall> {
    let sql = "SELECT 1 FROM known_ids WHERE scope = 'a call' AND id = ?1 AND same_as IS NULL";
    if place.connection.has(sql, [call])? {
        return Ok(FoundCall::Forgotten);
    }
    let sql = "SELECT id, session_id, project_id FROM observations WHERE tool_use_id = ?1";
    let found: Option<(i64, Option<SessionRow>, ProjectRow)> = place.connection.first(sql, [call])?;
    Ok(match found {
        None => FoundCall::Nothing,
        Some((row, session, project)) if (session, project) == (place.session.map(|(_, row)| row), place.project) => {
            FoundCall::Row(row)
        }
        Some(_) => FoundCall::OfAnother,
    })
}

fn change_observation(
    intake: &mut Intake<'_>,
    place: &Place<'_>,
    row: i64,
    body: &ObservationBody,
) -> rusqlite::Result<()> {
    let connection = place.connection;
    intake.expect_change()?;
    let before = index::before_change(connection, What::Observation, row)?;
    place.put_entity(EntityTable::Observations, row)?;
    let sql = "UPDATE observations SET title = ?2, narrative = ?3, facts = ?4, repeats = ?5, made_by = ?6
               WHERE id = ?1 AND (title, narrative, facts, repeats, made_by) IS NOT (?2, ?3, ?4, ?5, ?6)";
    let facts = list(&body.facts);
    connection.run(sql, (row, &body.title, &body.narrative, facts, body.repeats, &body.made_by))?;
    index::replace(connection, What::Observation, row, before)
}

fn insert_observation(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<i64> {
    let kind = if place.session.is_none() { "note" } else { &body.observed };
    place
        .connection.add(
            "INSERT INTO observations (session_id, project_id, prompt_number, tool_use_id, kind, tool_name, title, narrative,
                                       facts, files_read, files_modified, command_key, repeats, made_by, created_at)
             VALUES (:session, :project, :prompt, :call, :kind, :tool, :title, :narrative, :facts, :read, :modified,
                     :command, :repeats, :maker, :at)",
            named_params! {
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
                ":maker": body.made_by,
                ":at": place.at(),
            },
        )
}

/// Stores raw text, if the other host shares it.
fn put_raw(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<()> {
    let (Some((_, session)), Some(call)) = (place.session, &body.tool_use_id) else { return Ok(()) };
    let result = format!("{call}:result");
    let pieces = [("tool_input", call, &body.input), ("tool_output", &result, &body.output)];
    for (kind, source, text) in pieces {
        let Some(text) = text else { continue };
        let (input, output) = if kind == "tool_input" { (Some(text), None) } else { (None, Some(text)) };
        place.connection.run(
            "INSERT INTO details (session_id, tool_name, input_text, output_text, kind, source_id, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            (session, &body.tool, input, output, kind, source, place.at()),
        )?;
    }
    Ok(())
}

/// Stores a summary.
fn put_summary(intake: &mut Intake<'_>, place: &Place<'_>, body: &SummaryBody) -> rusqlite::Result<PutRow> {
    let Some((_, session)) = place.session else { return Ok(PutRow::Done) };
    let row = match place.row {
        Some(row) => Some(row),
        // One summary for each prompt: a copy of the host may have made another one.
        None => match same_summary(place, session, body)? {
            Some((_, project)) if project != place.project => return Ok(PutRow::Refused),
            same => same.map(|(row, _)| row),
        },
    };
    match row {
        Some(row) => change_summary(intake, place, row, body)?,
        None => {
            let row = insert_summary(place, session, body)?;
            place.put_entity(EntityTable::Summaries, row)?;
            intake.index(What::Summary, row, place.host)?;
        }
    }
    Ok(PutRow::Done)
}

fn same_summary(
    place: &Place<'_>,
    session: SessionRow,
    body: &SummaryBody,
) -> rusqlite::Result<Option<(i64, ProjectRow)>> {
    place.connection.first(
        "SELECT id, project_id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2",
        (session, body.prompt_number),
    )
}

fn change_summary(intake: &mut Intake<'_>, place: &Place<'_>, row: i64, body: &SummaryBody) -> rusqlite::Result<()> {
    let connection = place.connection;
    intake.expect_change()?;
    let before = index::before_change(connection, What::Summary, row)?;
    place.put_entity(EntityTable::Summaries, row)?;
    let sql = "UPDATE session_summaries SET request = ?2, investigated = ?3, learned = ?4, completed = ?5,
                   next_steps = ?6, exchanges = ?7, made_by = ?8, created_at = ?9 WHERE id = ?1";
    connection.run(
        sql,
        (
            row,
            &body.request,
            &body.investigated,
            &body.learned,
            &body.completed,
            &body.next_steps,
            &body.exchanges,
            &body.made_by,
            place.at(),
        ),
    )?;
    index::replace(connection, What::Summary, row, before)
}

fn insert_summary(place: &Place<'_>, session: SessionRow, body: &SummaryBody) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO session_summaries (session_id, project_id, prompt_number, request, investigated, learned,
                                              completed, next_steps, exchanges, made_by, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    place.connection.add(
        sql,
        (
            session,
            place.project,
            body.prompt_number,
            &body.request,
            &body.investigated,
            &body.learned,
            &body.completed,
            &body.next_steps,
            &body.exchanges,
            &body.made_by,
            place.at(),
        ),
    )
}

/// Stores a bookmark.
fn put_bookmark(intake: &mut Intake<'_>, place: &Place<'_>, body: &BookmarkBody) -> rusqlite::Result<PutRow> {
    let connection = place.connection;
    let Some((session, _)) = place.session else { return Ok(PutRow::Done) };
    let same = match place.row {
        Some(row) => Some(row),
        None => connection
            .first("SELECT id FROM bookmarks WHERE session_id = ?1 AND created_at = ?2", (session, place.at()))?,
    };
    let row = match same {
        Some(row) => {
            intake.expect_change()?;
            let sql = "UPDATE bookmarks SET note = ?2, git_dirty = ?3 WHERE id = ?1";
            connection.run(sql, (row, &body.note, body.git_dirty))?;
            row
        }
        None => connection.add(
            "INSERT INTO bookmarks (session_id, created_at, prompt_id, note, git_commit, git_dirty, context_tokens)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (session, place.at(), &body.prompt_id, &body.note, &body.git_commit, body.git_dirty, body.context_tokens),
        )?,
    };
    place.put_entity(EntityTable::Bookmarks, row)?;
    Ok(PutRow::Done)
}
