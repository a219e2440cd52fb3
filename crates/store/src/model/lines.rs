//! One line per turn, written by a model, which the handoff shows in place of the rule's line.
//!
//! An empty line records that a model was asked and returned nothing that can be shown.
//!
//! A line is valid for the text it was made from. Code that changes a turn calls [`before_change`] and [`after_change`]; if
//! the text has changed, the line is deleted, and the model is asked about the prompt again.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use rusqlite::Connection;

use crate::capture::squeeze;
use crate::row_ids::SessionRow;
use crate::sql::Sql;

/// Returns a fingerprint of the text that a turn's line is made from; `None` if there is no such turn.
///
/// White space does not count, because a hook and the transcript differ in it.
pub(crate) fn basis(connection: &Connection, turn: i64) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT interrupted, coalesce(failure, ''), coalesce(prompt, ''), coalesce(reply, ''),
                      (SELECT count(*) FROM details d WHERE d.turn = t.id AND d.input_text IS NOT NULL)
               FROM turns t WHERE id = ?1";
    connection.first_with(sql, [turn], |row| {
        let text = |column: usize| row.get::<_, String>(column);
        let mut hasher = DefaultHasher::new();
        let said = (squeeze(&text(2)?), squeeze(&text(3)?));
        (row.get::<_, bool>(0)?, text(1)?, said, row.get::<_, i64>(4)?).hash(&mut hasher);
        Ok(hasher.finish())
    })
}

/// Returns the fingerprint before a turn is changed; `None` if it has no line by a model.
pub(crate) fn before_change(connection: &Connection, turn: i64) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT 1 FROM turns WHERE id = ?1 AND model_line IS NOT NULL";
    if connection.has(sql, [turn])? { basis(connection, turn) } else { Ok(None) }
}

/// Deletes a turn's line if the turn has changed, and lets a model be asked again.
pub(crate) fn after_change(connection: &Connection, turn: i64, before: Option<u64>) -> rusqlite::Result<()> {
    if before.is_none() || before == basis(connection, turn)? {
        return Ok(());
    }
    let sql = "UPDATE turns SET model_line = NULL WHERE id = ?1";
    connection.run(sql, [turn])?;
    let sql = "UPDATE turns SET model_at = NULL WHERE id = (SELECT passage FROM turns WHERE id = ?1)";
    connection.run(sql, [turn]).map(drop)
}

/// Deletes the lines of all turns that answer a prompt: they may quote what is to be forgotten.
pub(crate) fn delete_of_prompt(connection: &Connection, session: SessionRow, number: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE turns SET model_line = NULL WHERE passage =
               (SELECT id FROM prompts WHERE session_id = ?1 AND prompt_number = ?2)";
    connection.run(sql, (session, number)).map(drop)
}

/// Stores a turn's line; returns whether it did.
///
/// It does not if the turn has changed since, or does not answer `prompt` any more because that was forgotten.
pub(super) fn put(connection: &Connection, prompt: i64, turn: i64, made_of: u64, line: &str) -> rusqlite::Result<bool> {
    if basis(connection, turn)? != Some(made_of) {
        return Ok(false);
    }
    let sql = "UPDATE turns SET model_line = ?3 WHERE id = ?1 AND passage = ?2";
    connection.run(sql, (turn, prompt, line)).map(|stored| stored > 0)
}
