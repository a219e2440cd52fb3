//! Storing what was read from a transcript, with how far it was read, in one transaction.

mod links;
pub(crate) mod turn_rows;

use longhaul_core::event::predicates::bookmark_note;
use longhaul_core::{Config, Millis};
use longhaul_handoff::MAX_MERGES;
use longhaul_transcript::{Batch, Cursor, PromptOrigin, Turn, may_rewind};
use rusqlite::{Connection, OptionalExtension};

use self::links::{mark_replaced, position_before, roll_back, store_links, undo_rollback};
use self::turn_rows::store_turn;
use crate::memory::prompts::was_for_forgotten;
use crate::memory::session_row::session_row;
use crate::row_ids::{SessionRow, Time};
use crate::{Sanitizer, Session, Store, StoreError, pending_replies};

/// The role of a turn that begins with a bookmark.
pub const BOOKMARK: &str = "bookmark";

impl Store {
    /// Stores the turns of a read, and where the next read begins; returns whether it did.
    ///
    /// `expected` is how far the transcript had been read when this read began. If another process has read on meanwhile,
    /// nothing is stored: the other has stored it.
    pub fn ingest(
        &self,
        session: &Session,
        expected: &Cursor,
        batch: &Batch,
        config: &Config,
        now: Millis,
    ) -> Result<bool, StoreError> {
        self.write("store what the transcript says", |tx| {
            let sql = "SELECT read_offset, read_mark FROM sessions WHERE session_id = ?1";
            let read_so_far: (i64, u32) =
                tx.query_row(sql, [&session.session], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if read_so_far != (expected.offset as i64, expected.mark) {
                return Ok(false);
            }
            store_batch(tx, session, batch, config, now)?;
            Ok(true)
        })
    }
}

fn store_batch(
    connection: &Connection,
    session: &Session,
    batch: &Batch,
    config: &Config,
    now: Millis,
) -> rusqlite::Result<()> {
    let sanitizer = Sanitizer::new(config);
    let id = session.session.as_str();
    let owned = owned(connection, id)?;
    let sql = "SELECT forgotten_at FROM sessions WHERE session_id = ?1";
    let forgotten: Option<Time> = connection.query_row(sql, [id], |row| row.get(0))?;
    // What was forgotten does not come back with a part of the file that was not read then.
    let is_forgotten = |turn: &Turn| turn.at.map(Time).zip(forgotten).is_some_and(|(at, forgotten)| at <= forgotten);
    let mut before = session.cursor.turn.as_deref();
    let offset = session.cursor.offset;
    store_links(connection, id, offset, &batch.links)?;
    let mut rollbacks = batch.rollbacks.iter().peekable();
    for (number, turn) in batch.turns.iter().enumerate() {
        while let Some(rollback) = rollbacks.next_if(|rollback| rollback.after <= number) {
            roll_back(connection, id, owned.row, position_before(turn, offset, &batch.links), rollback.turns)?;
        }
        if turn.begins {
            undo_rollback(connection, owned.row, &turn.id)?;
        }
        let is_hidden = is_hidden(connection, id, owned.row, turn, before, sanitizer)?;
        before = Some(&turn.id);
        if is_hidden {
            hide(connection, id, turn)?;
        } else if !is_forgotten(turn) && !was_for_forgotten(connection, owned.row, turn.at.unwrap_or(now).0 as i64)? {
            store_turn(connection, owned, turn, config, now)?;
        }
    }
    for rollback in rollbacks {
        roll_back(connection, id, owned.row, i64::MAX, rollback.turns)?;
    }
    let replies = batch.turns.iter().map(|turn| sanitizer.reply(&turn.reply()));
    pending_replies::forget_replies(connection, owned.row, replies.filter(|reply| !reply.trim().is_empty()))?;
    if may_rewind(session.cursor.tip.as_deref(), &batch.links) {
        mark_replaced(connection, id, owned.row)?;
    }
    let cursor = &batch.cursor;
    connection.execute(
        "UPDATE sessions SET read_offset = ?2, read_mark = ?3, read_turn = ?4, read_tip = ?5 WHERE session_id = ?1",
        (id, cursor.offset as i64, cursor.mark, &cursor.turn, &cursor.tip),
    )?;
    Ok(())
}

/// Returns the role under which a turn is stored: that of its prompt, or `bookmark`.
///
/// A bookmark that is set while a turn runs begins a turn in the transcript, but is no request: the turn before it goes on.
pub fn turn_role(turn: &Turn, config: &Config) -> &'static str {
    let bookmarks = &config.bookmarks;
    let prompt = turn.prompt.as_ref().filter(|_| bookmarks.is_on() && turn.origin.is_person());
    let is_bookmark = prompt.is_some_and(|prompt| bookmark_note(&prompt.text, bookmarks.marker.as_str()).is_some());
    if is_bookmark { BOOKMARK } else { turn.origin.role() }
}

/// A session, and the one that its turns belong to: itself, or the one that has inherited it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owned {
    pub(crate) row: SessionRow,
    pub(crate) owner: SessionRow,
}

pub(crate) fn owned(connection: &Connection, session: &str) -> rusqlite::Result<Owned> {
    let row = session_row(connection, session)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let mut owner = row;
    // A longer chain is damage, and any end of it will do.
    for _ in 0..MAX_MERGES {
        let sql = "SELECT h.id FROM sessions s JOIN sessions h ON h.session_id = s.merged_into WHERE s.id = ?1";
        let next: Option<SessionRow> =
            connection.prepare_cached(sql)?.query_row([owner], |row| row.get(0)).optional()?;
        match next {
            Some(next) if next != row => owner = next,
            Some(_) | None => break,
        }
    }
    Ok(Owned { row, owner })
}

/// Returns whether nothing of a turn may be stored: its prompt is wholly private, or it belongs to a turn whose prompt was.
fn is_hidden(
    connection: &Connection,
    session: &str,
    row: SessionRow,
    turn: &Turn,
    before: Option<&str>,
    sanitizer: Sanitizer,
) -> rusqlite::Result<bool> {
    let prompt = turn.prompt.as_ref().map_or("", |prompt| prompt.text.as_str());
    if !prompt.trim().is_empty() && sanitizer.capped(prompt).trim().is_empty() {
        return Ok(true);
    }
    let mut known = connection.prepare_cached("SELECT 1 FROM known_ids WHERE scope = ?1 AND id = ?2")?;
    if let Some(id) = &turn.prompt_id
        && known.exists((session, id))?
    {
        return Ok(true);
    }
    if !turn.begins {
        return Ok(!is_kept(connection, row, Some(&turn.id))?);
    }
    // What was typed during a turn that is not stored, and what comes back from its work, is not stored either.
    if (turn.origin == PromptOrigin::Queued || !turn.origin.is_person()) && !is_kept(connection, row, before)? {
        return Ok(true);
    }
    let mut named = connection.prepare_cached("SELECT 1 FROM known_ids WHERE scope = ?1 AND instr(?2, id) > 0")?;
    Ok(!turn.origin.is_person() && named.exists((session, prompt))?)
}

/// Records the ids by which the rest of a turn that is not stored will be recognised.
fn hide(connection: &Connection, session: &str, turn: &Turn) -> rusqlite::Result<()> {
    let agents = turn.calls.iter().filter(|call| matches!(call.name.as_deref(), Some("Agent" | "Task")));
    let ids = turn.prompt_id.iter().chain(agents.map(|call| &call.id));
    let sql = "INSERT INTO known_ids (scope, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    let mut statement = connection.prepare_cached(sql)?;
    for id in ids.filter(|id| !id.is_empty()) {
        statement.execute((session, id))?;
    }
    Ok(())
}

/// Returns whether a turn is stored; `true` if there is no turn, because nothing is hidden then.
fn is_kept(connection: &Connection, session: SessionRow, turn: Option<&str>) -> rusqlite::Result<bool> {
    let Some(turn) = turn else { return Ok(true) };
    let sql = "SELECT 1 FROM turns WHERE session_id = ?1 AND turn_id = ?2";
    connection.prepare_cached(sql)?.exists((session, turn))
}
