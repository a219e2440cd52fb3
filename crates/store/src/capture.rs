//! Capture: what is known of a turn is merged into its row, whoever tells it: a hook, the spool, HTTP, a transcript or rollout, an
//! import, in any order and any number of times.
//!
//! [`find`] says which row it is: by the ids of turn and prompt, else by the text and the nearest time. [`remember`] adds the part
//! that the memory has of it, `transcript.rs` what the transcript has, `reply.rs` what a hook says that was answered, `calls.rs`
//! what was done.

pub(crate) mod calls;
mod import;
pub(crate) mod reply;
pub(crate) mod transcript;

use longhaul_core::Millis;
use rusqlite::{Connection, Row};

pub use self::calls::{NewNote, NewObservation, Reading, Taken};
pub use self::import::{Bulk, Moved, MovedCall, MovedIn, MovedTurn, PastPrompt, PastTurn};
pub use self::transcript::{BOOKMARK, turn_role};
use crate::memory::session_row::{MemorySession, session_row};
use crate::recall::{index, replies};
use crate::row_ids::SessionRow;
use crate::sql::Sql;
use crate::{Store, StoreError, What, cannot};

/// How far apart the times may be that two sources give one and the same prompt.
pub(crate) const SAME_PROMPT_MS: i64 = 120_000;

/// How long after its prompt a hook may run.
pub(crate) const LAG_MS: i64 = 2_000;

/// From how many bytes on another program may have cut a prompt, and how many of it are compared then.
const CUT: (usize, usize) = (4_000, 2_000);

/// Who tells of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A hook, as it happens, or what it has left in the spool.
    Hook,
    /// An import, for the memory, after it has happened.
    Import,
    /// A transcript or rollout, which has the id of the turn.
    Transcript,
}

/// What a source knows of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) source: Source,
    pub(crate) turn_id: Option<&'a str>,
    pub(crate) prompt_id: Option<&'a str>,
    pub(crate) prompt: &'a str,
    pub(crate) at: i64,
}

/// The row of a turn, as far as it is compared with what is told.
pub(crate) struct TurnRow {
    pub(crate) id: i64,
    prompt_id: Option<String>,
    turn_id: Option<String>,
    prompt: Option<String>,
    at: i64,
    /// As the memory has it.
    pub(crate) prompt_number: Option<i64>,
    pub(crate) is_forgotten: bool,
}

impl TurnRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            prompt_id: row.get(1)?,
            turn_id: row.get(2)?,
            prompt: row.get(3)?,
            at: row.get(4)?,
            prompt_number: row.get(5)?,
            is_forgotten: row.get(6)?,
        })
    }

    /// Returns whether only the hook at its end has told that there was such a turn: its time is that of the reply.
    fn is_of_reply(&self) -> bool {
        self.prompt_number.is_none() && self.turn_id.as_deref().is_some_and(|id| id.starts_with(reply::TURN))
    }

    /// Returns how far it is from being the turn that is told: how sure it is, and the time between; `None` if it is another one.
    fn distance(&self, told: &Told<'_>) -> Option<(u8, u64)> {
        let apart = self.at.abs_diff(told.at);
        let within = |rank: u8, most: i64| (apart <= most.unsigned_abs()).then_some((rank, apart));
        let is_told = told.turn_id.is_some() && self.turn_id.as_deref() == told.turn_id;
        let is_same_prompt = told.prompt_id.is_some() && self.prompt_id.as_deref() == told.prompt_id;
        let has_both_ids = told.prompt_id.is_some() && self.prompt_id.is_some();
        let has_transcript = self.turn_id.as_deref().is_some_and(|id| !id.starts_with(reply::TURN));
        if is_told {
            return Some((0, 0));
        }
        if has_transcript && told.turn_id.is_some() {
            return None;
        }
        if self.is_forgotten {
            // Without its text, and without its id, only the time tells.
            return match (is_same_prompt, has_both_ids) {
                (true, _) => within(1, SAME_PROMPT_MS),
                (false, false) => within(3, LAG_MS),
                (false, true) => None,
            };
        }
        if !self.has_text(told) {
            return None;
        }
        // A rollout gives the turn the id that its hooks give the prompt.
        let is_same_id = is_same_prompt
            || (told.turn_id.is_some() && self.prompt_id.as_deref() == told.turn_id)
            || (told.prompt_id.is_some() && self.turn_id.as_deref() == told.prompt_id);
        if is_same_id {
            return Some((1, apart));
        }
        let most = match told.source {
            _ if has_both_ids => return None,
            // A reply comes after its prompt, however late.
            source if self.is_of_reply() && (source == Source::Transcript || self.at >= told.at - LAG_MS) => i64::MAX,
            Source::Transcript | Source::Import => SAME_PROMPT_MS,
            Source::Hook if self.prompt_number.is_none() => SAME_PROMPT_MS,
            // Who types the same twice has asked twice.
            Source::Hook if self.prompt_id.is_none() && told.prompt_id.is_none() => 0,
            Source::Hook => LAG_MS,
        };
        within(2, most)
    }

    fn has_text(&self, told: &Told<'_>) -> bool {
        let Some(prompt) = &self.prompt else { return false };
        let is_cut = || {
            let begins = |text: &str| text.chars().take(CUT.1).collect::<String>();
            told.source == Source::Import && told.prompt.len() >= CUT.0 && begins(prompt) == begins(told.prompt)
        };
        squeeze(prompt) == squeeze(told.prompt) || is_cut()
    }
}

/// Finds rows that may be the turn that is told.
pub(crate) const CANDIDATES: &str =
    "SELECT id, prompt_id, turn_id, prompt, created_at, prompt_number, forgotten > 0 FROM turns
     -- Said each time, or else SQLite uses one index for all.
     WHERE (session_id = ?1 AND turn_id = ?2) OR (session_id = ?1 AND turn_id BETWEEN 'hook:' AND 'hook;')
        OR (session_id = ?1 AND prompt_id IN (?2, ?3)) OR (session_id = ?1 AND created_at BETWEEN ?4 - ?5 AND ?4 + ?5)";

/// Returns the row of a turn; `None` if nobody has told of it yet.
pub(crate) fn find(connection: &Connection, session: SessionRow, told: &Told<'_>) -> rusqlite::Result<Option<TurnRow>> {
    let values = (session, told.turn_id, told.prompt_id, told.at, SAME_PROMPT_MS);
    let turns = connection.all_with(CANDIDATES, values, TurnRow::read)?;
    let near = turns.into_iter().filter_map(|turn| Some((turn.distance(told)?, turn)));
    Ok(near.min_by_key(|(distance, turn)| (*distance, turn.id)).map(|(_, turn)| turn))
}

/// A prompt that the memory has.
pub(crate) struct Remembered {
    pub(crate) turn: i64,
    pub(crate) number: i64,
    pub(crate) is_new: bool,
}

/// Finds another prompt with the same id.
pub(crate) const IS_TAKEN: &str = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_id = ?2 AND id IS NOT ?3";

/// Has the memory remember the prompt of a turn; returns `None` if it was forgotten.
pub(crate) fn remember(
    connection: &Connection,
    session: &MemorySession,
    told: &Told<'_>,
) -> rusqlite::Result<Option<Remembered>> {
    if session.is_forgotten(Millis(told.at.unsigned_abs())) {
        return Ok(None);
    }
    let mut told = *told;
    let mut found = find(connection, session.row, &told)?;
    if connection.has(IS_TAKEN, (session.row, told.prompt_id, found.as_ref().map(|found| found.id)))? {
        // Another message, typed while the turn ran: it has the turn's id, and a number of its own.
        told.prompt_id = None;
        found = find(connection, session.row, &told)?;
    }
    let turn = match found {
        Some(TurnRow { is_forgotten: true, .. }) => return Ok(None),
        Some(TurnRow { id: turn, prompt_number: Some(number), prompt_id, .. }) => {
            if prompt_id.is_none() && told.prompt_id.is_some() {
                connection.run("UPDATE turns SET prompt_id = ?2 WHERE id = ?1", (turn, told.prompt_id))?;
            }
            return Ok(Some(Remembered { turn, number, is_new: false }));
        }
        found => found.map(|turn| turn.id),
    };
    let number = next_number(connection, session, told.prompt)?;
    // Whoever goes through the prompts by their ids has gone past those that were given before: it gets the next one.
    let turn = match turn {
        Some(before) => {
            let sql = "UPDATE sqlite_sequence SET seq = iif(seq = ?1, seq, seq + 1) WHERE name = 'turns' RETURNING seq";
            let id: i64 = connection.one(sql, [before])?;
            connection.run(
                "UPDATE turns SET id = ?2, passage = iif(passage IS id, ?2, passage) WHERE id = ?1",
                (before, id),
            )?;
            connection.run("UPDATE details SET turn = ?2 WHERE turn = ?1", (before, id))?;
            let sql = "UPDATE observations SET prompt_number = ?2
                       WHERE tool_use_id IN (SELECT source_id FROM details WHERE turn = ?1) AND session_id = ?3 AND prompt_number <> ?2";
            connection.run(sql, (id, number, session.row))?;
            id
        }
        None => {
            let sql = "INSERT INTO turns (session_id, owner_id, created_at) VALUES (?1, ?2, ?3)";
            connection.add(sql, (session.row, session.owner(connection)?, told.at))?
        }
    };
    let sql = "UPDATE turns SET project_id = ?2, prompt_number = ?3, prompt_id = ?4, prompt = ?5, created_at = ?6 WHERE id = ?1";
    connection.run(sql, (turn, session.project, number, told.prompt_id, told.prompt, told.at))?;
    index::add(connection, What::Prompt, turn)?;
    replies::link_late(connection, turn)?;
    Ok(Some(Remembered { turn, number, is_new: true }))
}

/// Returns the prompt of a turn if the memory has it.
pub(crate) fn known(
    connection: &Connection,
    session: &MemorySession,
    told: &Told<'_>,
) -> rusqlite::Result<Option<Remembered>> {
    let found = find(connection, session.row, told)?;
    Ok(found.and_then(|found| Some(Remembered { turn: found.id, number: found.prompt_number?, is_new: false })))
}

/// How many prompts of a session were counted.
const COUNTED: &str = "SELECT prompt_counter FROM sessions WHERE id = ?1";

/// Returns the number of a prompt that is to be stored. One that no hook has counted is counted here.
fn next_number(connection: &Connection, session: &MemorySession, prompt: &str) -> rusqlite::Result<i64> {
    let (row, counted) = (session.row, connection.one::<i64>(COUNTED, [session.row])?);
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND prompt_number = ?2";
    if counted > 0 && !connection.has(sql, (row, counted))? {
        return Ok(counted);
    }
    let sql = "UPDATE sessions SET prompt_counter = ?2, last_prompt = ?3,
                                   first_user_prompt = coalesce(first_user_prompt, ?3) WHERE id = ?1";
    connection.run(sql, (row, counted + 1, prompt))?;
    Ok(counted + 1)
}

/// Returns whether what a session said or did at `at` was for a forgotten prompt: of all prompts up to then, none that is
/// remembered is nearer in time. It belongs to no other prompt, and is not kept.
pub(crate) fn was_for_forgotten(connection: &Connection, session: SessionRow, at: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT min(abs(created_at - ?2)) FROM turns
               WHERE session_id = ?1 AND forgotten > 0 AND created_at <= ?2 + ?3";
    let distance: Option<i64> = connection.one(sql, (session, at, LAG_MS))?;
    let Some(distance) = distance else { return Ok(false) };
    let sql = "SELECT 1 FROM prompts WHERE session_id = ?1 AND created_at <= ?2 + ?3 AND abs(created_at - ?2) <= ?4";
    Ok(!connection.has(sql, (session, at, LAG_MS, distance))?)
}

/// Finds the number of a prompt by its id.
pub(crate) const BY_ID: &str = "SELECT prompt_number FROM prompts WHERE session_id = ?1 AND prompt_id = ?2
     -- The plus keeps SQLite from using another index than the one by id.
     ORDER BY +prompt_number DESC LIMIT 1";

impl Store {
    /// Stores a prompt; returns its number in the session, or `None` if there is no such session or the prompt was forgotten.
    ///
    /// The number is the session's prompt counter. A hook has counted the prompt by [`Store::count_prompt`]; one that comes
    /// from a transcript is counted here. Storing the same text with the same `prompt_id` again changes nothing.
    pub fn remember_prompt(
        &self,
        session: &str,
        prompt_id: Option<&str>,
        prompt: &str,
        at: Millis,
    ) -> Result<Option<i64>, StoreError> {
        self.write("remember the prompt", |tx| {
            let Some(session) = MemorySession::find(tx, session)? else { return Ok(None) };
            let told = Told { source: Source::Hook, turn_id: None, prompt_id, prompt, at: at.0 as i64 };
            Ok(remember(tx, &session, &told)?.map(|remembered| remembered.number))
        })
    }

    /// Returns the text of the prompt with this id in a session, if it is stored.
    pub fn prompt_text(&self, session: &str, prompt_id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT u.prompt FROM prompts u JOIN sessions s ON s.id = u.session_id
                   WHERE s.session_id = ?1 AND u.prompt_id = ?2 ORDER BY u.prompt_number DESC LIMIT 1";
        self.connection.first(sql, (session, prompt_id)).map_err(cannot("look for the prompt"))
    }

    /// Returns the number of the prompt with this id in a session, if it is stored.
    pub fn prompt_number(&self, session: &str, prompt_id: &str) -> Result<Option<i64>, StoreError> {
        self.try_to("look for the prompt", |connection| match session_row(connection, session)? {
            Some(session) => connection.first(BY_ID, (session, prompt_id)),
            None => Ok(None),
        })
    }
}

/// Returns a text without white space, in which the hook and the transcript differ.
pub(crate) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
