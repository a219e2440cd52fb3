//! Rewinds: to which message the user went back, and whether that was reported.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use crate::row_ids::Time;
use crate::same_turn::SAME_PROMPT_MS;
use crate::{Store, StoreError, cannot};

/// The value of `turns.replaced` for a turn that a rewind took back; 0 for one that is part of the conversation.
pub(crate) const REPLACED: i64 = 1;

/// The same for the turn to which the user went back, until that was reported.
pub(crate) const UNREPORTED: i64 = 2;

/// The same for a turn that a line of the same rollout of Codex took back.
pub(crate) const ROLLED_BACK: i64 = 3;

/// The same for a turn that a later rollout of the same session of Codex leaves out.
pub(crate) const LEFT_OUT: i64 = 4;

/// The turns that are [`UNREPORTED`], by an index that SQLite would not choose: every end of a turn looks for them.
const UNREPORTED_TURNS: &str = "turns INDEXED BY turns_taken_back";

/// Selects the turns of a session among [`UNREPORTED_TURNS`]. The index says `<> 0`, since SQLite would use `> 0` for its
/// search instead of the value.
const OF_SESSION: &str =
    "session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND replaced <> 0 AND replaced = 2";

/// A rewind that was not reported yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewind {
    /// The time of the message to which the user went back.
    pub at: Millis,
    /// The snapshot that was taken for that message.
    pub snapshot: Option<i64>,
}

/// Whether a rewind took back every turn of a prompt. Of a prompt without a reply, the turn is found by its text and time:
/// only in a session with a rewind, since a search asks for each of its candidates.
const IS_TAKEN_BACK: &str = "SELECT coalesce(
        (SELECT min(t.replaced) > 0 FROM turns t WHERE t.passage = p.id),
        (SELECT min(t.replaced) > 0 FROM turns t
         WHERE t.session_id = p.session_id AND abs(t.began_at - p.created_at) <= ?3 AND t.prompt = p.prompt
           AND EXISTS (SELECT 1 FROM turns INDEXED BY turns_taken_back
                       WHERE session_id = p.session_id AND replaced <> 0)),
        0)
    FROM prompts p WHERE p.session_id = ?1 AND p.prompt_number = ?2";

/// Returns whether a rewind took back the prompt with a number in a session, and with it everything that was done for it.
pub(crate) fn is_taken_back(connection: &Connection, session: i64, prompt_number: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(IS_TAKEN_BACK)?;
    let found = statement.query_row((session, prompt_number, SAME_PROMPT_MS), |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

impl Store {
    /// Returns the rewind of a session that was not reported yet.
    pub fn unreported_rewind(&self, session: &str) -> Result<Option<Rewind>, StoreError> {
        let failed = cannot("look for a rewind");
        let sql = format!("SELECT began_at FROM {UNREPORTED_TURNS} WHERE {OF_SESSION} LIMIT 1");
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let at: Option<Time> = statement.query_row([session], |row| row.get(0)).optional().map_err(&failed)?;
        let Some(at) = at else { return Ok(None) };
        // The client writes the time of a message before it starts the hook that takes the snapshot. If that failed, the
        // next snapshot is that of a later message.
        let sql = "SELECT id FROM snapshots
                   WHERE session_id = ?1 AND kind IN ('prompt', 'bookmark') AND commit_id IS NOT NULL AND created_at >= ?2
                     AND created_at < coalesce((SELECT min(began_at) FROM turns
                                                WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND began_at > ?2), created_at + 1)
                   ORDER BY created_at LIMIT 1";
        let snapshot = self.connection.query_row(sql, (session, at), |row| row.get(0)).optional().map_err(failed)?;
        Ok(Some(Rewind { at: at.0, snapshot }))
    }

    /// Records that a later rollout of Codex leaves these turns of a session out; returns how many were part of it.
    pub fn leave_out(&self, session: &str, turns: &[String]) -> Result<usize, StoreError> {
        self.write("record a rewind of Codex", |connection| {
            let sql =
                "UPDATE turns SET replaced = ?3 WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1)
                       AND turn_id = ?2 AND replaced = 0";
            let mut statement = connection.prepare(sql)?;
            let mut count = 0;
            for turn in turns {
                count += statement.execute((session, turn, LEFT_OUT))?;
            }
            Ok(count)
        })
    }

    /// Records that the rewind of a session was reported; returns whether this call did.
    pub fn settle_rewind(&self, session: &str) -> Result<bool, StoreError> {
        self.write("record that a rewind was reported", |connection| {
            let sql = format!("UPDATE {UNREPORTED_TURNS} SET replaced = ?2 WHERE {OF_SESSION}");
            Ok(connection.execute(&sql, (session, REPLACED))? > 0)
        })
    }
}
