//! Stores an observation or a note of another host.

use longhaul_sync::ObservationBody;
use rusqlite::{OptionalExtension, named_params};

use super::apply::{Place, PutRow};
use super::entities::EntityTable;
use super::intake_transaction::Intake;
use crate::What;
use crate::memory::tool_calls::list;
use crate::recall::index;
use crate::row_ids::{ProjectRow, SessionRow};

/// Stores an observation or a note.
pub(super) fn put_observation(
    intake: &mut Intake<'_>,
    place: &Place<'_>,
    body: &ObservationBody,
) -> rusqlite::Result<PutRow> {
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
        Some(row) => change(intake, place, row, body)?,
        None => {
            let row = insert(place, body)?;
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
    if place.connection.prepare_cached(sql)?.exists([call])? {
        return Ok(FoundCall::Forgotten);
    }
    let sql = "SELECT id, session_id, project_id FROM observations WHERE tool_use_id = ?1";
    let found: Option<(i64, Option<SessionRow>, ProjectRow)> = place
        .connection
        .prepare_cached(sql)?
        .query_row([call], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    Ok(match found {
        None => FoundCall::Nothing,
        Some((row, session, project)) if (session, project) == (place.session.map(|(_, row)| row), place.project) => {
            FoundCall::Row(row)
        }
        Some(_) => FoundCall::OfAnother,
    })
}

fn change(intake: &mut Intake<'_>, place: &Place<'_>, row: i64, body: &ObservationBody) -> rusqlite::Result<()> {
    let connection = place.connection;
    intake.expect_change()?;
    let before = index::before_change(connection, What::Observation, row)?;
    place.put_entity(EntityTable::Observations, row)?;
    let sql = "UPDATE observations SET title = ?2, narrative = ?3, facts = ?4, repeats = ?5, made_by = ?6
               WHERE id = ?1 AND (title, narrative, facts, repeats, made_by) IS NOT (?2, ?3, ?4, ?5, ?6)";
    let facts = list(&body.facts);
    connection.prepare_cached(sql)?.execute((row, &body.title, &body.narrative, facts, body.repeats, &body.made_by))?;
    index::replace(connection, What::Observation, row, before)
}

fn insert(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<i64> {
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
            ":maker": body.made_by,
            ":at": place.at(),
        })
}

/// Stores raw text, if the other host shares it.
fn put_raw(place: &Place<'_>, body: &ObservationBody) -> rusqlite::Result<()> {
    let (Some((_, session)), Some(call)) = (place.session, &body.tool_use_id) else { return Ok(()) };
    let result = format!("{call}:result");
    let pieces = [("tool_input", call, &body.input), ("tool_output", &result, &body.output)];
    for (kind, source, text) in pieces {
        let Some(text) = text else { continue };
        let (input, output) = if kind == "tool_input" { (Some(text), None) } else { (None, Some(text)) };
        place
            .connection
            .prepare_cached(
                "INSERT INTO details (session_id, tool_name, input_text, output_text, kind, source_id, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute((session, &body.tool, input, output, kind, source, place.at()))?;
    }
    Ok(())
}
