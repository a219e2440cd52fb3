//! Stores a summary or a bookmark of another host.

use longhaul_sync::{BookmarkBody, SummaryBody};
use rusqlite::OptionalExtension;

use super::apply::{Place, PutRow};
use super::entities::EntityTable;
use super::intake_transaction::Intake;
use crate::What;
use crate::recall::index;
use crate::row_ids::{ProjectRow, SessionRow};

/// Stores a summary.
pub(super) fn put_summary(intake: &mut Intake<'_>, place: &Place<'_>, body: &SummaryBody) -> rusqlite::Result<PutRow> {
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
    place
        .connection
        .prepare_cached("SELECT id, project_id FROM session_summaries WHERE session_id = ?1 AND prompt_number = ?2")?
        .query_row((session, body.prompt_number), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn change_summary(intake: &mut Intake<'_>, place: &Place<'_>, row: i64, body: &SummaryBody) -> rusqlite::Result<()> {
    let connection = place.connection;
    intake.expect_change()?;
    let before = index::before_change(connection, What::Summary, row)?;
    place.put_entity(EntityTable::Summaries, row)?;
    let sql = "UPDATE session_summaries SET request = ?2, investigated = ?3, learned = ?4, completed = ?5,
                   next_steps = ?6, exchanges = ?7, made_by = ?8, created_at = ?9 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute((
        row,
        &body.request,
        &body.investigated,
        &body.learned,
        &body.completed,
        &body.next_steps,
        &body.exchanges,
        &body.made_by,
        place.at(),
    ))?;
    index::replace(connection, What::Summary, row, before)
}

fn insert_summary(place: &Place<'_>, session: SessionRow, body: &SummaryBody) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO session_summaries (session_id, project_id, prompt_number, request, investigated, learned,
                                              completed, next_steps, exchanges, made_by, created_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    place.connection.prepare_cached(sql)?.insert((
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
    ))
}

/// Stores a bookmark.
pub(super) fn put_bookmark(
    intake: &mut Intake<'_>,
    place: &Place<'_>,
    body: &BookmarkBody,
) -> rusqlite::Result<PutRow> {
    let connection = place.connection;
    let Some((session, _)) = place.session else { return Ok(PutRow::Done) };
    let same = match place.row {
        Some(row) => Some(row),
        None => connection
            .prepare_cached("SELECT id FROM bookmarks WHERE session_id = ?1 AND created_at = ?2")?
            .query_row((session, place.at()), |row| row.get(0))
            .optional()?,
    };
    let row = match same {
        Some(row) => {
            intake.expect_change()?;
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
    place.put_entity(EntityTable::Bookmarks, row)?;
    Ok(PutRow::Done)
}
