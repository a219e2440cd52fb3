//! Stores a prompt of another host with its reply.

use longhaul_sync::PromptBody;
use rusqlite::OptionalExtension;

use super::apply::{Place, Put};
use super::entities::EntityTable;
use crate::What;
use crate::recall::{index, replies};
use crate::row_ids::SessionRow;

/// Stores a prompt with its reply; returns whether it was stored.
pub(super) fn put_prompt(place: &Place<'_>, body: &PromptBody, put: Put<'_>) -> rusqlite::Result<bool> {
    let Some((session, session_row)) = place.session else { return Ok(true) };
    let known = match place.row {
        Some(row) => Some(row),
        None => same_prompt(place, session_row, body)?,
    };
    let row = match known {
        Some(row) => {
            put(EntityTable::Prompts, row)?;
            row
        }
        None => {
            let row = insert(place, session_row, body)?;
            put(EntityTable::Prompts, row)?;
            index::add(place.connection, What::Prompt, row)?;
            row
        }
    };
    put_reply(place, session, row, body)?;
    Ok(true)
}

/// Returns the row of the same prompt, if a transcript or a copy of the host has brought it here.
fn same_prompt(place: &Place<'_>, session: SessionRow, body: &PromptBody) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT id FROM user_prompts WHERE session_id = ?1 AND prompt = ?2
               AND (prompt_id = ?3 OR prompt_number = ?4) ORDER BY id LIMIT 1";
    place
        .connection
        .prepare_cached(sql)?
        .query_row((session, &body.prompt, &body.prompt_id, body.number), |row| row.get(0))
        .optional()
}

fn insert(place: &Place<'_>, session: SessionRow, body: &PromptBody) -> rusqlite::Result<i64> {
    let connection = place.connection;
    let sql = "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let is_taken = connection.prepare_cached(sql)?.exists((session, body.number))?;
    let number = if is_taken {
        let sql = "SELECT max(prompt_number) + 1 FROM user_prompts WHERE session_id = ?1";
        connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?
    } else {
        body.number
    };
    // A model is not asked about the prompts of others: whose tokens it costs is for them to decide.
    let sql =
        "INSERT INTO user_prompts (session_id, project_id, prompt_number, prompt_id, prompt, created_at, model_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)";
    let row = connection.prepare_cached(sql)?.insert((
        session,
        place.project,
        number,
        &body.prompt_id,
        &body.prompt,
        place.at(),
    ))?;
    let sql = "UPDATE sessions SET prompt_counter = max(prompt_counter, ?2), last_prompt = iif(?2 >= prompt_counter, ?3, last_prompt),
                   first_user_prompt = iif(?2 = 1 OR first_user_prompt IS NULL, ?3, first_user_prompt),
                   created_at = iif(host_id IS NULL, created_at, min(created_at, ?4))
               WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((session, number, &body.prompt, place.at()))?;
    Ok(row)
}

/// Stores the reply as a turn of its own, unless the reply is here already from a transcript.
fn put_reply(place: &Place<'_>, session: &str, prompt: i64, body: &PromptBody) -> rusqlite::Result<()> {
    let connection = place.connection;
    let turn_id = format!("sync:{}", place.entry.entity);
    let turn: Option<i64> = connection
        .prepare_cached("SELECT turn_number FROM turns WHERE origin_session_id = ?1 AND turn_id = ?2")?
        .query_row((session, &turn_id), |row| row.get(0))
        .optional()?;
    let turn = match turn {
        Some(turn) => turn,
        None if body.reply.is_empty() || !replies::to_prompt(connection, prompt)?.is_empty() => return Ok(()),
        None => connection
            .prepare_cached(
                "INSERT INTO turns (session_id, origin_session_id, turn_number, turn_id, role, created_at)
                 VALUES (?1, ?1, 1 + coalesce((SELECT turn_number FROM turns WHERE origin_session_id = ?1
                                               ORDER BY turn_number DESC LIMIT 1), 0), ?2, 'user', ?3)
                 RETURNING turn_number",
            )?
            .query_row((session, &turn_id, place.at()), |row| row.get(0))?,
    };
    let before = replies::text(connection, session, turn)?;
    let mut put = connection.prepare_cached(
        "INSERT INTO bodies (session_id, origin_session_id, turn_number, role, text, token_count, created_at)
         VALUES (?1, ?1, ?2, ?3, ?4, (length(?4) + 3) / 4, ?5)
         ON CONFLICT DO UPDATE SET text = excluded.text, token_count = excluded.token_count",
    )?;
    for (role, text) in [("user", &body.prompt), ("assistant", &body.reply)] {
        put.execute((session, turn, role, text, place.at()))?;
    }
    connection
        .prepare_cached("UPDATE turns SET chars = ?3 WHERE origin_session_id = ?1 AND turn_number = ?2")?
        .execute((session, turn, (body.prompt.len() + body.reply.len()) as i64))?;
    replies::reindex(connection, session, turn, &before)
}
