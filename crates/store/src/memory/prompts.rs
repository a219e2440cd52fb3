//! What was asked.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::What;
use super::session_row::Place;
use crate::recall::index;
use crate::{Store, StoreError, cannot};

/// Finds a prompt's number by its id.
pub(super) const BY_ID: &str = "SELECT prompt_number FROM user_prompts WHERE session_id = ?1 AND prompt_id = ?2
     -- The plus leaves the index by id as the one to use.
     ORDER BY +prompt_number DESC LIMIT 1";

/// Finds a prompt's number by its time and text, where it has no id.
pub(super) const TOLD: &str = "SELECT prompt_number FROM user_prompts
     WHERE session_id = ?1 AND prompt_id IS NULL AND created_at = ?2 AND prompt = ?3";

impl Store {
    /// Stores a prompt; returns its number in the session, or `None` where there is no such session or it is to be
    /// forgotten.
    ///
    /// The number is the session's prompt counter. [`Store::count_prompt`] has counted it; where nobody has, because the
    /// prompt comes from a transcript, it is counted here. The same text with the same `prompt_id` again changes nothing.
    pub fn remember_prompt(
        &mut self,
        session: &str,
        prompt_id: Option<&str>,
        prompt: &str,
        at: Millis,
    ) -> Result<Option<i64>, StoreError> {
        let failed = cannot("remember the prompt");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let number = remember(&transaction, session, prompt_id, prompt, at.0 as i64).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(number)
    }

    /// Returns the text of the prompt that has this id in a session, if it is remembered.
    pub fn prompt_text(&self, session: &str, prompt_id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT u.prompt FROM user_prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE s.session_id = ?1 AND u.prompt_id = ?2 ORDER BY u.prompt_number DESC LIMIT 1";
        self.connection
            .query_row(sql, (session, prompt_id), |row| row.get(0))
            .optional()
            .map_err(cannot("look for the prompt"))
    }

    /// Returns the number of the prompt that has this id in a session, if it is remembered.
    pub fn prompt_number(&self, session: &str, prompt_id: &str) -> Result<Option<i64>, StoreError> {
        let failed = cannot("look for the prompt");
        let sql = "SELECT id FROM sessions WHERE session_id = ?1";
        let session: Option<i64> =
            self.connection.query_row(sql, [session], |row| row.get(0)).optional().map_err(&failed)?;
        let Some(session) = session else { return Ok(None) };
        numbered(&self.connection, session, Some(prompt_id)).map_err(failed)
    }
}

pub(super) fn remember(
    connection: &Connection,
    session: &str,
    prompt_id: Option<&str>,
    prompt: &str,
    at: i64,
) -> rusqlite::Result<Option<i64>> {
    let Some(place) = Place::find(connection, session)? else { return Ok(None) };
    if at <= place.forgotten {
        return Ok(None);
    }
    let mut prompt_id = prompt_id;
    if let Some(number) = numbered(connection, place.session, prompt_id)? {
        let sql = "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_id = ?2 AND prompt = ?3";
        let is_same = connection.prepare_cached(sql)?.exists((place.session, prompt_id, prompt))?;
        if is_same || told(connection, &place, prompt, at)?.is_some() {
            return Ok(Some(number));
        }
        // Another word, typed while the turn ran: it has the turn's id, and a number of its own.
        prompt_id = None;
    } else if prompt_id.is_none()
        && let Some(number) = told(connection, &place, prompt, at)?
    {
        return Ok(Some(number));
    }
    let taken = connection
        .prepare_cached("SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2")?
        .exists((place.session, place.prompts))?;
    let number = if taken || place.prompts == 0 { place.prompts + 1 } else { place.prompts };
    if number != place.prompts {
        // Nobody has counted it, nor noted that it was the first or is the last.
        connection
            .prepare_cached(
                "UPDATE sessions SET prompt_counter = ?2, last_prompt = ?3,
                                     first_user_prompt = coalesce(first_user_prompt, ?3) WHERE id = ?1",
            )?
            .execute((place.session, number, prompt))?;
    }
    let id = connection
        .prepare_cached(
            "INSERT INTO user_prompts (session_id, project_id, prompt_number, prompt_id, prompt, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert((place.session, place.project, number, prompt_id, prompt, at))?;
    index::add(connection, What::Prompt, id)?;
    Ok(Some(number))
}

/// Returns the number of the prompt without an id that has this text and time: the same one, told again.
fn told(connection: &Connection, place: &Place, prompt: &str, at: i64) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(TOLD)?.query_row((place.session, at, prompt), |row| row.get(0)).optional()
}

/// Returns the number of the prompt that has this id.
pub(super) fn numbered(
    connection: &Connection,
    session: i64,
    prompt_id: Option<&str>,
) -> rusqlite::Result<Option<i64>> {
    let Some(prompt_id) = prompt_id else { return Ok(None) };
    connection.prepare_cached(BY_ID)?.query_row((session, prompt_id), |row| row.get(0)).optional()
}
