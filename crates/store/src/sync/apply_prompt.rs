//! Stores a prompt of another host with its reply.

use longhaul_sync::PromptBody;
use rusqlite::OptionalExtension;

use super::apply::{Place, PutRow};
use super::entities::EntityTable;
use super::intake_transaction::Intake;
use super::origin::host_row_of;
use crate::What;
use crate::ingest::turn_rows::NEXT_NUMBER;
use crate::recall::{index, replies};
use crate::row_ids::{ProjectRow, SessionRow};

/// Stores a prompt with its reply.
pub(super) fn put_prompt(intake: &mut Intake<'_>, place: &Place<'_>, body: &PromptBody) -> rusqlite::Result<PutRow> {
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
            let row = insert(place, session, body)?;
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
    let sql = "SELECT id, project_id FROM user_prompts WHERE session_id = ?1 AND prompt = ?2
               AND (prompt_id = ?3 OR prompt_number = ?4) ORDER BY id LIMIT 1";
    place
        .connection
        .prepare_cached(sql)?
        .query_row((session, &body.prompt, &body.prompt_id, body.number), |row| Ok((row.get(0)?, row.get(1)?)))
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
fn put_reply(
    intake: &mut Intake<'_>,
    place: &Place<'_>,
    session: SessionRow,
    prompt: i64,
    body: &PromptBody,
) -> rusqlite::Result<()> {
    let connection = place.connection;
    let turn_id = format!("sync:{}", place.entry.entity);
    let bytes = (body.prompt.len() + body.reply.len()) as i64;
    let turn: Option<i64> = connection
        .prepare_cached("SELECT id FROM turns WHERE session_id = ?1 AND turn_id = ?2")?
        .query_row((session, &turn_id), |row| row.get(0))
        .optional()?;
    match turn {
        Some(turn) => {
            intake.expect_change()?;
            let before = replies::text(connection, turn)?;
            let sql = "UPDATE turns SET prompt = ?2, reply = ?3, chars = ?4 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((turn, &body.prompt, &body.reply, bytes))?;
            replies::reindex(connection, turn, &before)
        }
        None if body.reply.is_empty() || !replies::to_prompt(connection, prompt)?.is_empty() => Ok(()),
        None => {
            let sql = format!(
                "INSERT INTO turns (session_id, owner_id, number, turn_id, role, prompt, reply, chars, replied_at, created_at)
                 VALUES (?1, ?1, {NEXT_NUMBER}, ?2, 'user', ?3, ?4, ?5, ?6, ?6)"
            );
            let new = (session, &turn_id, &body.prompt, &body.reply, bytes, place.at());
            let turn = connection.prepare_cached(&sql)?.insert(new)?;
            replies::link_new(connection, turn, &body.reply, intake.terms())
        }
    }
}
