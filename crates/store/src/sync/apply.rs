//! What a record of another host does to the memory: stores a prompt with its reply, an observation, a summary or a
//! bookmark.

use longhaul_core::Millis;
use longhaul_sync::{Body, Entry, ObservationBody, PromptBody, SealedRecord};
use rusqlite::Connection;

use super::content;
use super::identity::{EntityTable, Identity, fate_of_forgotten, mark_forgotten};
use super::intake::{Intake, IntakeHost};
use super::log::shadow;
use crate::What;
use crate::capture::reply::NEXT_NUMBER;
use crate::recall::{index, replies};
use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applied {
    Changed,
    /// The memory has it already, or a newer version.
    Known,
    /// The memory has a newer version of the same thing, which is another entity.
    Shadowed,
    /// It was forgotten: its payload is to be erased in the engine.
    Forgotten,
    /// Its project is not shared here.
    NotShared,
    /// It would change what is not its host's to change.
    Refused,
}

/// What is here of the thing that an entry describes.
enum Found {
    Row(i64),
    Nothing,
    Forgotten,
    /// Something of another session or project.
    OfAnother,
}

struct EntryPlace<'a> {
    connection: &'a Connection,
    host: IntakeHost,
    entry: &'a Entry,
    table: EntityTable,
    project: ProjectRow,
    /// `None` for a note outside of any.
    session: Option<SessionRow>,
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
    if let Some(fate) = fate_of_forgotten(connection, entry.entity, host)? {
        return Ok(fate);
    }
    let Some(project) = intake.project(entry)? else { return Ok(Applied::NotShared) };
    let table = EntityTable::of(&entry.body);
    let mut known = Identity::find(connection, entry.entity)?;
    if let Some(known) = &known {
        if known.table != table {
            return Ok(Applied::Refused);
        }
        if let Some(fate) = fate_beside(connection, host, sealed, entry, known)? {
            return Ok(fate);
        }
    }
    let session = match &entry.session {
        Some(session) => {
            let at = Millis(entry.at_ms);
            let found = intake.session(session, host, &project, at)?;
            if found.is_forgotten(at) {
                // The session was forgotten here before this record came.
                return mark_forgotten(connection, entry.entity, host);
            }
            if found.is_local && !host.is_own {
                return Ok(Applied::Refused);
            }
            Some(found.row)
        }
        None => None,
    };
    let place = EntryPlace { connection, host, entry, table, project: project.row, session };
    if known.is_none() {
        known = match place.find()? {
            Found::Nothing => None,
            Found::Row(row) => Identity::of_row(connection, table, row)?,
            Found::Forgotten => return mark_forgotten(connection, entry.entity, host),
            Found::OfAnother => return Ok(Applied::Refused),
        };
        if let Some(other) = &known {
            if let Some(fate) = fate_beside(connection, host, sealed, entry, other)? {
                return Ok(if fate == Applied::Known { Applied::Shadowed } else { fate });
            }
            shadow(connection, other.entity)?;
        }
    }
    place.put(intake, known)?;
    Ok(Applied::Changed)
}

/// Returns what becomes of an entry beside what is here of the same thing; `None` if it takes its place.
fn fate_beside(
    connection: &Connection,
    host: IntakeHost,
    sealed: &SealedRecord,
    entry: &Entry,
    known: &Identity,
) -> rusqlite::Result<Option<Applied>> {
    if (entry.version, sealed.id) <= (known.version, known.record(connection)?) {
        return Ok(Some(Applied::Known));
    }
    // What was made here, only this host writes.
    let is_refused = !host.is_own && known.host.is_none() && known.entity.is_some();
    Ok(is_refused.then_some(Applied::Refused))
}

impl EntryPlace<'_> {
    fn at(&self) -> Time {
        Time(Millis(self.entry.at_ms))
    }

    /// Finds what the entry describes, if a transcript or a copy of the host has brought it here.
    fn find(&self) -> rusqlite::Result<Found> {
        let Self { connection, entry, session, .. } = self;
        let found: Option<(i64, ProjectRow)> = match &entry.body {
            Body::Prompt(body) => {
                let sql = "SELECT id, project_id FROM prompts WHERE session_id = ?1 AND prompt = ?2
                           AND (prompt_id = ?3 OR prompt_number = ?4) ORDER BY id LIMIT 1";
                connection.first(sql, (session, &body.prompt, &body.prompt_id, body.number))?
            }
            Body::Observation(ObservationBody { tool_use_id: Some(call), .. })
            | Body::Note(ObservationBody { tool_use_id: Some(call), .. }) => return self.find_call(call),
            Body::Observation(_) | Body::Note(_) => None,
            // One summary for each prompt: a copy of the host may have made another one.
            Body::Summary(body) => {
                let sql = "SELECT id, project_id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2";
                connection.first(sql, (session, body.prompt_number))?
            }
            Body::Bookmark(_) => {
                let sql = "SELECT id FROM bookmarks WHERE session_id = ?1 AND created_at = ?2";
                connection.first(sql, (&entry.session, self.at()))?.map(|row| (row, self.project))
            }
        };
        Ok(match found {
            None => Found::Nothing,
            Some((row, project)) if project == self.project => Found::Row(row),
            Some(_) => Found::OfAnother,
        })
    }

    fn find_call(&self, call: &str) -> rusqlite::Result<Found> {
        let sql = "SELECT 1 FROM known_ids WHERE scope = 'a call' AND id = ?1 AND same_as IS NULL";
        if self.connection.has(sql, [call])? {
            return Ok(Found::Forgotten);
        }
        let sql = "SELECT id, (session_id, project_id) IS (?2, ?3) FROM observations WHERE tool_use_id = ?1";
        let found: Option<(i64, bool)> = self.connection.first(sql, (call, self.session, self.project))?;
        Ok(match found {
            None => Found::Nothing,
            Some((row, true)) => Found::Row(row),
            Some(_) => Found::OfAnother,
        })
    }

    fn put(&self, intake: &mut Intake<'_>, known: Option<Identity>) -> rusqlite::Result<()> {
        let Self { connection, entry, table, .. } = *self;
        match (&entry.body, self.session) {
            (Body::Prompt(body), Some(session)) => return self.put_prompt(intake, session, known, body),
            (Body::Observation(body) | Body::Note(body), Some(session)) => self.put_raw(session, body)?,
            _ => {}
        }
        let Some(Identity { row, entity: before, .. }) = known else {
            let row = content::insert(connection, table, entry, self.session, self.project)?;
            self.put_identity(row)?;
            return table.what().map_or(Ok(()), |what| intake.terms.take_record(connection, what, row));
        };
        intake.terms.write(connection)?;
        let is_same_entity = before == Some(entry.entity);
        let terms = match table.what() {
            Some(what) => index::before_change(connection, what, row)?,
            None => None,
        };
        self.put_identity(row)?;
        content::change(connection, table, row, entry, is_same_entity)?;
        table.what().map_or(Ok(()), |what| index::replace(connection, what, row, terms))
    }

    /// Stores which entity a row is. To be called before the index is written: the index has a term for its host.
    fn put_identity(&self, row: i64) -> rusqlite::Result<()> {
        let Entry { entity, version, .. } = *self.entry;
        let host = self.host.other();
        Identity { table: self.table, row, entity: Some(entity), host, version }.put(self.connection)
    }

    fn put_prompt(
        &self,
        intake: &mut Intake<'_>,
        session: SessionRow,
        known: Option<Identity>,
        body: &PromptBody,
    ) -> rusqlite::Result<()> {
        let row = match known {
            Some(known) => {
                self.change_origin(intake, session, &known)?;
                known.row
            }
            None => {
                let row = self.insert_prompt(session, body)?;
                self.put_identity(row)?;
                intake.terms.take_record(self.connection, What::Prompt, row)?;
                row
            }
        };
        self.put_reply(intake, session, row, body)
    }

    /// Stores that the host has written the newest version of a prompt. If that is another host than before, the prompt and its
    /// replies are added to the index again: the index has a term for the host.
    fn change_origin(&self, intake: &mut Intake<'_>, session: SessionRow, known: &Identity) -> rusqlite::Result<()> {
        let (connection, row) = (self.connection, known.row);
        if known.host == self.host.other() {
            return self.put_identity(row);
        }
        intake.terms.write(connection)?;
        index::remove(connection, What::Prompt, row)?;
        self.put_identity(row)?;
        index::add(connection, What::Prompt, row)?;
        replies::link_session(connection, session)
    }

    fn insert_prompt(&self, session: SessionRow, body: &PromptBody) -> rusqlite::Result<i64> {
        let connection = self.connection;
        let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
        let number = if connection.has(sql, (session, body.number))? {
            connection.one("SELECT max(prompt_number) + 1 FROM prompts WHERE session_id = ?1", [session])?
        } else {
            body.number
        };
        // A model is not asked about the prompts of others: whose tokens it costs is for them to decide.
        let sql = "INSERT INTO turns (session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at, model_at)
                   VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?6)";
        let row = connection.add(sql, (session, self.project, number, &body.prompt_id, &body.prompt, self.at()))?;
        let sql = "UPDATE sessions SET prompt_counter = max(prompt_counter, ?2), last_prompt = iif(?2 >= prompt_counter, ?3, last_prompt),
                       first_user_prompt = iif(?2 = 1 OR first_user_prompt IS NULL, ?3, first_user_prompt),
                       created_at = iif(host_id IS NULL, created_at, min(created_at, ?4))
                   WHERE id = ?1";
        connection.run(sql, (session, number, &body.prompt, self.at()))?;
        Ok(row)
    }

    /// Stores the reply, unless one is here already from a transcript.
    fn put_reply(
        &self,
        intake: &mut Intake<'_>,
        session: SessionRow,
        prompt: i64,
        body: &PromptBody,
    ) -> rusqlite::Result<()> {
        let connection = self.connection;
        let sql = "SELECT turn_id, coalesce(reply, '') FROM turns WHERE id = ?1";
        let (turn, before): (Option<String>, String) = connection.one(sql, [prompt])?;
        let is_of_sync = turn.as_deref().is_some_and(|turn| turn.starts_with(TURN));
        let is_new = turn.is_none() && !body.reply.is_empty() && replies::to_prompt(connection, prompt)?.is_empty();
        if !is_of_sync && !is_new {
            return Ok(());
        }
        if is_of_sync {
            intake.terms.write(connection)?;
        }
        let sql = format!(
            "UPDATE turns SET reply = ?3, chars = ?4, number = coalesce(number, {NEXT_NUMBER}), turn_id = coalesce(turn_id, ?5),
                              role = 'user', began_at = coalesce(began_at, ?6), replied_at = coalesce(replied_at, ?6)
             WHERE id = ?2 AND session_id = ?1"
        );
        let bytes = (body.prompt.len() + body.reply.len()) as i64;
        let turn = format!("{TURN}{}", self.entry.entity);
        connection.run(&sql, (session, prompt, &body.reply, bytes, turn, self.at()))?;
        if is_of_sync {
            replies::reindex(connection, prompt, &before)
        } else {
            replies::link_new(connection, prompt, &body.reply, &mut intake.terms)
        }
    }

    /// Stores raw text, if the other host shares it.
    fn put_raw(&self, session: SessionRow, body: &ObservationBody) -> rusqlite::Result<()> {
        let Some(call) = &body.tool_use_id else { return Ok(()) };
        if body.input.is_none() && body.output.is_none() {
            return Ok(());
        }
        let sql = "INSERT INTO details (session_id, source_id, kind, tool_name, input_text, output_text, created_at)
                   VALUES (?1, ?2, 'tool', ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
        self.connection.run(sql, (session, call, &body.tool, &body.input, &body.output, self.at())).map(drop)
    }
}

/// With what the id of a turn begins that another host has brought.
const TURN: &str = "sync:";
