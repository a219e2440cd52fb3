//! Prompts that were forgotten. Their turn may still run: what comes of it later is not kept, and belongs to no other prompt.

use rusqlite::Connection;

use crate::recall::replies::LAG_MS;
use crate::row_ids::{SessionRow, Time};

/// Records that the prompt which a session was asked at `at` was forgotten.
pub(crate) fn add(connection: &Connection, session: SessionRow, at: Time) -> rusqlite::Result<()> {
    let sql = "INSERT INTO forgotten_prompts (session_id, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.execute(sql, (session, at)).map(drop)
}

/// Returns whether what a session said or did at `at` was for a forgotten prompt: of all prompts up to then, none that is
/// remembered is nearer in time.
pub(crate) fn has_asked_for(connection: &Connection, session: SessionRow, at: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT min(abs(created_at - ?2)) FROM forgotten_prompts WHERE session_id = ?1 AND created_at <= ?2 + ?3";
    let distance: Option<i64> = connection.prepare_cached(sql)?.query_row((session, at, LAG_MS), |row| row.get(0))?;
    let Some(distance) = distance else { return Ok(false) };
    let sql =
        "SELECT 1 FROM user_prompts WHERE session_id = ?1 AND created_at <= ?2 + ?3 AND abs(created_at - ?2) <= ?4";
    Ok(!connection.prepare_cached(sql)?.exists((session, at, LAG_MS, distance))?)
}
