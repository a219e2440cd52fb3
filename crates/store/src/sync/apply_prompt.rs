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

/// With what the id of a turn begins that another host has brought.
const TURN: &str = "sync:";

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
    let sql = "SELECT id, project_id FROM prompts WHERE session_id = ?1 AND prompt = ?2
               AND (prompt_id = ?3 OR prompt_number = ?4) ORDER BY id LIMIT 1";
    place
        .connection
        .prepare_cached(sql)?
        .query_row((session, &body.prompt, &body.prompt_id, body.number), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn insert(place: &Place<'_>, session: SessionRow, body: &PromptBody) -> rusqlite::Result<i64> {
    let connection = place.connection;
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
    let is_taken = connection.prepare_cached(sql)?.exists((session, body.number))?;
    let number = if is_taken {
        let sql = "SELECT max(prompt_number) + 1 FROM prompts WHERE session_id = ?1";
        connection.prepare_cached(sql)?.query_row([session], |row| row.get(0))?
    } else {
        body.number
    };
    // A model is not asked about the prompts of others: whose tokens it costs is for them to decide.
    let sql =
        "INSERT INTO turns (session_id, owner_id, project_id, prompt_number, prompt_id, prompt, created_at, model_at)
               VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?6)";
    let new = (session, place.project, number, &body.prompt_id, &body.prompt, place.at());
    let row = connection.prepare_cached(sql)?.insert(new)?;
    let sql = "UPDATE sessions SET prompt_counter = max(prompt_counter, ?2), last_prompt = iif(?2 >= prompt_counter, ?3, last_prompt),
                   first_user_prompt = iif(?2 = 1 OR first_user_prompt IS NULL, ?3, first_user_prompt),
                   created_at = iif(host_id IS NULL, created_at, min(created_at, ?4))
               WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((session, number, &body.prompt, place.at()))?;
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
    let (turn, before): (Option<String>, String) =
        connection.prepare_cached(sql)?.query_row([prompt], |row| Ok((row.get(0)?, row.get(1)?)))?;
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
    connection.prepare_cached(&sql)?.execute((session, prompt, &body.reply, bytes, turn, place.at()))?;
    if is_of_sync {
        replies::reindex(connection, prompt, &before)
    } else {
        replies::link_new(connection, prompt, &body.reply, intake.terms())
    }
}
