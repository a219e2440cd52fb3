//! The prompts of a session.

use longhaul_core::Millis;
use rusqlite::Connection;

use super::What;
use super::session_row::{MemorySession, session_row};
use crate::ingest::owned;
use crate::recall::{index, replies};
use crate::row_ids::{SessionRow, Time};
use crate::same_turn::{self, SAME_PROMPT_MS, Told};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// Finds the number of a prompt by its id.
pub(super) const BY_ID: &str = "SELECT prompt_number FROM prompts WHERE session_id = ?1 AND prompt_id = ?2
     -- The plus keeps SQLite from using another index than the one by id.
     ORDER BY +prompt_number DESC LIMIT 1";

/// Finds the number of a prompt without an id by its time and text.
pub(super) const BY_TEXT: &str = "SELECT prompt_number FROM prompts
     WHERE session_id = ?1 AND prompt_id IS NULL AND created_at = ?2 AND prompt = ?3";

impl Store {
    /// Stores a prompt; returns its number in the session, or `None` if there is no such session or the prompt was forgotten.
    ///
    /// The number is the session's prompt counter. A hook has counted the prompt by [`Store::count_prompt`]; one that comes
    /// from a transcript is counted here. Storing the same text with the same `prompt_id` again changes nothing.
    pub fn remember_prompt(
        &self,
        session: &str,
        prompt_id: Option<&str>,
        prompt: &str,
        at: Millis,
    ) -> Result<Option<i64>, StoreError> {
        self.write("remember the prompt", |tx| remember(tx, session, prompt_id, prompt, at))
    }

    /// Returns the text of the prompt with this id in a session, if it is stored.
    pub fn prompt_text(&self, session: &str, prompt_id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT u.prompt FROM prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE s.session_id = ?1 AND u.prompt_id = ?2 ORDER BY u.prompt_number DESC LIMIT 1";
        self.connection.first(sql, (session, prompt_id)).map_err(cannot("look for the prompt"))
    }

    /// Returns the number of the prompt with this id in a session, if it is stored.
    pub fn prompt_number(&self, session: &str, prompt_id: &str) -> Result<Option<i64>, StoreError> {
        let failed = cannot("look for the prompt");
        let Some(session) = session_row(&self.connection, session).map_err(&failed)? else { return Ok(None) };
        number_by_id(&self.connection, session, Some(prompt_id)).map_err(failed)
    }
}

pub(super) fn remember(
    connection: &Connection,
    session: &str,
    prompt_id: Option<&str>,
    prompt: &str,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    let name = session;
    let Some(session) = MemorySession::find(connection, name)? else { return Ok(None) };
    let owner = owned(connection, name)?.owner;
    if session.is_forgotten(at) {
        return Ok(None);
    }
    let mut prompt_id = prompt_id;
    if let Some(number) = number_by_id(connection, session.row, prompt_id)? {
        let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_id = ?2 AND prompt = ?3";
        let is_same = connection.has(sql, (session.row, prompt_id, prompt))?;
        if is_same || number_by_text(connection, session.row, prompt, at)?.is_some() {
            return Ok(Some(number));
        }
        // Another message, typed while the turn ran: it has the turn's id, and a number of its own.
        prompt_id = None;
    } else if prompt_id.is_none() {
        let same = number_by_text(connection, session.row, prompt, at)?;
        let same = same.map_or_else(|| number_by_time(connection, session.row, prompt, at), |same| Ok(Some(same)))?;
        if same.is_some() {
            return Ok(same);
        }
    }
    if is_tombstone(connection, session.row, prompt_id, at)? {
        return Ok(None);
    }
    let number = next_number(connection, &session, prompt)?;
    let new = NewPrompt { session: &session, number, prompt_id, prompt, at: Time(at) };
    let told = Told { ids: [prompt_id, None], prompt, at: at.0 as i64 };
    let id = match same_turn::without_memory(connection, session.row, owner, &told)? {
        Some(turn) => new.add_to(connection, turn)?,
        None => new.insert(connection, owner)?,
    };
    index::add(connection, What::Prompt, id)?;
    replies::link_late(connection, id)?;
    Ok(Some(number))
}

/// A prompt that the memory is to have.
struct NewPrompt<'a> {
    session: &'a MemorySession,
    number: i64,
    prompt_id: Option<&'a str>,
    prompt: &'a str,
    at: Time,
}

impl NewPrompt<'_> {
    fn insert(&self, connection: &Connection, owner: SessionRow) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO turns (session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let MemorySession { row, project, .. } = self.session;
        let values = (row, owner, project, self.number, self.prompt_id, self.prompt, self.at);
        connection.add(sql, values)
    }

    /// Adds it to the turn that the transcript has brought before; returns the turn's id.
    ///
    /// Whoever goes through the prompts by their ids has gone past those that were given before: it gets the next one.
    fn add_to(&self, connection: &Connection, turn: i64) -> rusqlite::Result<i64> {
        let sql = "UPDATE sqlite_sequence SET seq = iif(seq = ?1, seq, seq + 1) WHERE name = 'turns' RETURNING seq";
        let id: i64 = connection.one(sql, [turn])?;
        connection.run(
            "UPDATE turns SET id = ?2, project_id = ?3, prompt_number = ?4, prompt_id = ?5, prompt = ?6, created_at = ?7
                 WHERE id = ?1",
            (turn, id, self.session.project, self.number, self.prompt_id, self.prompt, self.at),
        )?;
        connection.run("UPDATE details SET turn = ?2 WHERE turn = ?1", (turn, id))?;
        Ok(id)
    }
}

/// Returns whether a prompt was forgotten.
fn is_tombstone(
    connection: &Connection,
    session: SessionRow,
    prompt_id: Option<&str>,
    at: Millis,
) -> rusqlite::Result<bool> {
    // Without its id, only the time tells.
    let sql = "SELECT 1 FROM turns WHERE session_id = ?1 AND forgotten > 0
               AND abs(created_at - ?3) <= iif(prompt_id = ?2, ?4, iif(prompt_id IS NULL OR ?2 IS NULL, ?5, 0))";
    connection.has(sql, (session, prompt_id, Time(at), SAME_PROMPT_MS, replies::LAG_MS))
}

/// Returns whether what a session said or did at `at` was for a forgotten prompt: of all prompts up to then, none that is
/// remembered is nearer in time. It belongs to no other prompt, and is not kept.
pub(crate) fn was_for_forgotten(connection: &Connection, session: SessionRow, at: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT min(abs(created_at - ?2)) FROM turns
               WHERE session_id = ?1 AND forgotten > 0 AND created_at <= ?2 + ?3";
    let lag = replies::LAG_MS;
    let distance: Option<i64> = connection.one(sql, (session, at, lag))?;
    let Some(distance) = distance else { return Ok(false) };
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND created_at <= ?2 + ?3 AND abs(created_at - ?2) <= ?4";
    Ok(!connection.has(sql, (session, at, lag, distance))?)
}

/// Returns the number of a prompt that is to be stored. One that no hook has counted is counted here.
fn next_number(connection: &Connection, session: &MemorySession, prompt: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let is_taken = connection.has(sql, (session.row, session.prompts))?;
    if !is_taken && session.prompts > 0 {
        return Ok(session.prompts);
    }
    let number = session.prompts + 1;
    connection.run(
        "UPDATE sessions SET prompt_counter = ?2, last_prompt = ?3,
                                 first_user_prompt = coalesce(first_user_prompt, ?3) WHERE id = ?1",
        (session.row, number, prompt),
    )?;
    Ok(number)
}

/// Returns the number of the prompt without an id that has this text and time: the same one, stored before.
fn number_by_text(
    connection: &Connection,
    session: SessionRow,
    prompt: &str,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    connection.first(BY_TEXT, (session, Time(at), prompt))
}

/// Returns the number of the prompt with an id that has this text at nearly this time: the transcript has told it before.
fn number_by_time(
    connection: &Connection,
    session: SessionRow,
    prompt: &str,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT prompt_number FROM prompts WHERE session_id = ?1 AND prompt_id IS NOT NULL
               AND abs(created_at - ?2) <= ?4 AND prompt = ?3 LIMIT 1";
    let values = (session, Time(at), prompt, replies::LAG_MS);
    connection.first(sql, values)
}

/// Returns the number of the prompt with this id.
pub(super) fn number_by_id(
    connection: &Connection,
    session: SessionRow,
    prompt_id: Option<&str>,
) -> rusqlite::Result<Option<i64>> {
    let Some(prompt_id) = prompt_id else { return Ok(None) };
    connection.first(BY_ID, (session, prompt_id))
}
