//! One line per turn, written by a model, which the handoff shows in place of the rule's line.
//!
//! It is a row of `skeletons` with a role of its own, so that it is inherited and deleted together with the rule's line. An
//! empty line records that a model was asked and returned nothing that can be shown.
//!
//! A line is valid for the text it was made from. Code that changes a turn calls [`before_change`] and [`after_change`]; if
//! the text has changed, the line is deleted, and the model is asked about the prompt again.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rusqlite::{Connection, OptionalExtension};

use crate::pending_replies::squeeze;
use crate::row_ids::SessionRow;

/// The condition for the row of `skeletons` that is a turn's line.
const LINE: &str = "origin_session_id = ?1 AND turn_number = ?2 AND role = 'model' AND session_id =
                    (SELECT session_id FROM turns WHERE origin_session_id = ?1 AND turn_number = ?2)";

/// Returns a fingerprint of the text that a turn's line is made from; `None` if there is no such turn.
///
/// White space does not count, because a hook and the transcript differ in it.
pub(crate) fn basis(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT t.interrupted, coalesce(t.failure, ''), coalesce(u.text, ''), coalesce(a.text, ''),
                      coalesce(t.pending_reply, ''),
                      (SELECT count(*) FROM details d WHERE d.origin_session_id = t.origin_session_id
                       AND d.turn_number = t.turn_number AND d.kind = 'tool_input')
               FROM turns t
               LEFT JOIN bodies u ON u.session_id = t.session_id AND u.origin_session_id = t.origin_session_id
                                 AND u.turn_number = t.turn_number AND u.role = 'user'
               LEFT JOIN bodies a ON a.session_id = t.session_id AND a.origin_session_id = t.origin_session_id
                                 AND a.turn_number = t.turn_number AND a.role = 'assistant'
               WHERE t.origin_session_id = ?1 AND t.turn_number = ?2";
    connection
        .prepare_cached(sql)?
        .query_row((origin, turn), |row| {
            let text = |column: usize| row.get::<_, String>(column);
            let (asked, replied) = (squeeze(&text(2)?), squeeze(&(text(3)? + &text(4)?)));
            let mut hasher = DefaultHasher::new();
            (row.get::<_, bool>(0)?, text(1)?, asked, replied, row.get::<_, i64>(5)?).hash(&mut hasher);
            Ok(hasher.finish())
        })
        .optional()
}

/// Returns the fingerprint before a turn is changed; `None` if it has no line by a model.
pub(crate) fn before_change(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<Option<u64>> {
    let sql = format!("SELECT 1 FROM skeletons WHERE {LINE}");
    if connection.prepare_cached(&sql)?.exists((origin, turn))? { basis(connection, origin, turn) } else { Ok(None) }
}

/// Deletes a turn's line if the turn has changed, and lets a model be asked again.
pub(crate) fn after_change(
    connection: &Connection,
    origin: &str,
    turn: i64,
    before: Option<u64>,
) -> rusqlite::Result<()> {
    if before.is_none() || before == basis(connection, origin, turn)? {
        return Ok(());
    }
    drop_line(connection, origin, turn)
}

/// Deletes a turn's line, if a model has made one, and lets a model be asked about the prompt again.
pub(crate) fn drop_line(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<()> {
    let sql = format!("DELETE FROM skeletons WHERE {LINE}");
    if connection.prepare_cached(&sql)?.execute((origin, turn))? > 0 {
        let sql = "UPDATE user_prompts SET model_at = NULL WHERE id =
                   (SELECT prompt_id FROM replies WHERE origin_session_id = ?1 AND turn_number = ?2)";
        connection.prepare_cached(sql)?.execute((origin, turn))?;
    }
    Ok(())
}

/// Deletes the lines of all turns that answer a prompt: they may quote what is to be forgotten.
pub(crate) fn delete_of_prompt(connection: &Connection, session: SessionRow, number: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM skeletons WHERE role = 'model' AND (session_id, origin_session_id, turn_number) IN
               (SELECT t.session_id, t.origin_session_id, t.turn_number FROM user_prompts p
                JOIN replies r ON r.prompt_id = p.id
                JOIN turns t ON t.origin_session_id = r.origin_session_id AND t.turn_number = r.turn_number
                WHERE p.session_id = ?1 AND p.prompt_number = ?2)";
    connection.execute(sql, (session, number)).map(drop)
}

/// Stores a turn's line; returns whether it did.
///
/// It does not if the turn has changed since, or does not answer `prompt` any more because that was forgotten.
pub(super) fn put(
    connection: &Connection,
    prompt: i64,
    (origin, turn): (&str, i64),
    made_of: u64,
    line: &str,
) -> rusqlite::Result<bool> {
    if basis(connection, origin, turn)? != Some(made_of) {
        return Ok(false);
    }
    let sql = "INSERT INTO skeletons (session_id, origin_session_id, turn_number, role, summary, created_at)
               SELECT t.session_id, t.origin_session_id, t.turn_number, 'model', ?4, t.created_at FROM replies r
               JOIN turns t ON t.origin_session_id = r.origin_session_id AND t.turn_number = r.turn_number
               WHERE r.origin_session_id = ?1 AND r.turn_number = ?2 AND r.prompt_id = ?3
               ON CONFLICT DO UPDATE SET summary = excluded.summary";
    connection.prepare_cached(sql)?.execute((origin, turn, prompt, line)).map(|stored| stored > 0)
}
