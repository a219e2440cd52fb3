//! The prompts of a session.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use super::What;
use super::session_row::{MemorySession, session_row};
use crate::recall::{index, replies};
use crate::row_ids::{SessionRow, Time};
use crate::{Store, StoreError, cannot};

/// Finds the number of a prompt by its id.
pub(super) const BY_ID: &str = "SELECT prompt_number FROM user_prompts WHERE session_id = ?1 AND prompt_id = ?2
     -- The plus keeps SQLite from using another index than the one by id.
     ORDER BY +prompt_number DESC LIMIT 1";

/// Finds the number of a prompt without an id by its time and text.
pub(super) const BY_TEXT: &str = "SELECT prompt_number FROM user_prompts
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
        let sql = "SELECT u.prompt FROM user_prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE s.session_id = ?1 AND u.prompt_id = ?2 ORDER BY u.prompt_number DESC LIMIT 1";
        self.connection
            .query_row(sql, (session, prompt_id), |row| row.get(0))
            .optional()
            .map_err(cannot("look for the prompt"))
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
    let Some(session) = MemorySession::find(connection, session)? else { return Ok(None) };
    if session.is_forgotten(at) {
        return Ok(None);
    }
    let mut prompt_id = prompt_id;
    if let Some(number) = number_by_id(connection, session.row, prompt_id)? {
        let sql = "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_id = ?2 AND prompt = ?3";
        let is_same = connection.prepare_cached(sql)?.exists((session.row, prompt_id, prompt))?;
        if is_same || number_by_text(connection, session.row, prompt, at)?.is_some() {
            return Ok(Some(number));
        }
        // Another message, typed while the turn ran: it has the turn's id, and a number of its own.
        prompt_id = None;
    } else if prompt_id.is_none()
        && let Some(number) = number_by_text(connection, session.row, prompt, at)?
    {
        return Ok(Some(number));
    }
    let number = next_number(connection, &session, prompt)?;
    let id = connection
        .prepare_cached(
            "INSERT INTO user_prompts (session_id, project_id, prompt_number, prompt_id, prompt, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert((session.row, session.project, number, prompt_id, prompt, Time(at)))?;
    index::add(connection, What::Prompt, id)?;
    replies::link_late(connection, id)?;
    Ok(Some(number))
}

/// Returns the number of a prompt that is to be stored. One that no hook has counted is counted here.
fn next_number(connection: &Connection, session: &MemorySession, prompt: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let is_taken = connection.prepare_cached(sql)?.exists((session.row, session.prompts))?;
    if !is_taken && session.prompts > 0 {
        return Ok(session.prompts);
    }
    let number = session.prompts + 1;
    connection
        .prepare_cached(
            "UPDATE sessions SET prompt_counter = ?2, last_prompt = ?3,
                                 first_user_prompt = coalesce(first_user_prompt, ?3) WHERE id = ?1",
        )?
        .execute((session.row, number, prompt))?;
    Ok(number)
}

/// Returns the number of the prompt without an id that has this text and time: the same one, stored before.
fn number_by_text(
    connection: &Connection,
    session: SessionRow,
    prompt: &str,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(BY_TEXT)?.query_row((session, Time(at), prompt), |row| row.get(0)).optional()
}

/// Returns the number of the prompt with this id.
pub(super) fn number_by_id(
    connection: &Connection,
    session: SessionRow,
    prompt_id: Option<&str>,
) -> rusqlite::Result<Option<i64>> {
    let Some(prompt_id) = prompt_id else { return Ok(None) };
    connection.prepare_cached(BY_ID)?.query_row((session, prompt_id), |row| row.get(0)).optional()
}
