//! Storing what was read from a transcript, with how far it was read, in one transaction: the row of each turn, its
//! details, and the links between entries, which show what a rewind took back.

use std::collections::HashMap;

use longhaul_core::event::predicates::bookmark_note;
use longhaul_core::{Config, Millis, private_tags};
use longhaul_handoff::{ToolUse, TurnWork, skeleton};
use longhaul_transcript::{
    Batch, COMPACTED, Cursor, Detail, DetailKind, Link, PromptOrigin, Turn, may_rewind, replaced_turns,
};
use rusqlite::{Connection, named_params};

use super::calls::set_prompt;
use super::reply::{self, NEXT_NUMBER, ReplyText};
use super::{Source, Told, find, was_for_forgotten};
use crate::memory::session_row::{Owned, owned};
use crate::model::lines;
use crate::recall::replies;
use crate::row_ids::{SessionRow, Time};
use crate::sql::Sql;
use crate::turns::{REPLACED, ROLLED_BACK, UNREPORTED};
use crate::{Sanitizer, Session, Store, StoreError};

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
            let read_so_far: (i64, u32) = tx.one(sql, [&session.session])?;
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
    let forgotten: Option<Time> = connection.one(sql, [id])?;
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
    reply::forget_replies(connection, owned.row, replies.filter(|reply| !reply.trim().is_empty()))?;
    if may_rewind(session.cursor.tip.as_deref(), &batch.links) {
        mark_replaced(connection, id, owned.row)?;
    }
    let cursor = &batch.cursor;
    connection.run(
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
    connection.has(sql, (session, turn))
}

/// Stores a turn, or what a further read of the transcript adds to it.
fn store_turn(
    connection: &Connection,
    session: Owned,
    turn: &Turn,
    config: &Config,
    now: Millis,
) -> rusqlite::Result<()> {
    let sanitizer = Sanitizer::new(config);
    let at = turn.at.unwrap_or(now);
    let asked = turn.prompt.as_ref().map(|prompt| sanitizer.capped(&prompt.text));
    let role = turn_role(turn, config);
    let Some(id) = row_of(connection, session, turn, role, asked.as_deref(), at)? else { return Ok(()) };
    let line_before = lines::before_change(connection, id)?;
    let mut reply = ReplyText::read(connection, id)?;
    let said_before = reply.whole();
    let is_hidden: bool = connection.one("SELECT hidden FROM turns WHERE id = ?1", [id])?;
    let mut said = turn.reply();
    if is_hidden && !turn.begins {
        // An earlier read ended inside a private passage, which goes on here.
        said = sanitizer.reopened(&said);
    }
    if turn.begins {
        // The file may be another one than before, with another reply in it.
        reply.kept.clear();
    }
    let added = sanitizer.reply(&said);
    let mut replied_at = None;
    if !added.is_empty() {
        let first = turn.replies.first().and_then(|said| said.at).filter(|_| turn.begins);
        replied_at = Some(Time(first.unwrap_or(at)));
        reply.add(&added);
    }
    let detail_bytes = put_details(connection, session, id, turn, sanitizer, at)?;
    if let Some(prompt) = connection.one::<Option<i64>>("SELECT prompt_number FROM turns WHERE id = ?1", [id])? {
        for call in &turn.calls {
            set_prompt(connection, session.row, &call.id, prompt)?;
        }
    }
    let bytes = added.len() + asked.as_ref().map_or(0, String::len) + detail_bytes;
    connection.run(
        "UPDATE turns SET prompt = iif(prompt_number IS NULL, coalesce(nullif(:asked, ''), prompt), prompt), reply = nullif(:reply, ''),
                              provisional = :provisional,
                              replied_at = iif(:begins, :replied_at, coalesce(replied_at, :replied_at)),
                              interrupted = max(interrupted, :interrupted), failure = coalesce(:failure, failure),
                              chars = iif(:begins, :bytes, chars + :bytes), hidden = :hidden
             WHERE id = :id",
        named_params! {
            ":id": id,
            ":asked": asked,
            ":reply": reply.whole(),
            ":provisional": reply.provisional.len() as i64,
            ":begins": turn.begins,
            ":replied_at": replied_at,
            ":interrupted": turn.interrupted,
            ":failure": turn.failure.as_ref().map(|failure| sanitizer.capped(&failure.text)),
            ":bytes": bytes as i64,
            ":hidden": private_tags::leaves_open(&said),
        },
    )?;
    replies::reindex(connection, id, &said_before)?;
    lines::after_change(connection, id, line_before)?;
    put_line(connection, id, &reply.kept)
}

/// Returns a turn's row, adding it if the turn begins; `None` if it was forgotten, or for the rest of a turn that is not stored.
fn row_of(
    connection: &Connection,
    session: Owned,
    turn: &Turn,
    role: &str,
    asked: Option<&str>,
    at: Millis,
) -> rusqlite::Result<Option<i64>> {
    if !turn.begins {
        let sql = "SELECT id FROM turns WHERE session_id = ?1 AND turn_id = ?2 AND forgotten = 0";
        return connection.first(sql, (session.row, &turn.id));
    }
    let told = Told {
        source: Source::Transcript,
        turn_id: Some(&turn.id),
        prompt_id: turn.prompt_id.as_deref(),
        prompt: asked.unwrap_or_default(),
        at: at.0 as i64,
    };
    let row = match find(connection, session.row, &told)? {
        Some(found) if found.is_forgotten => return Ok(None),
        Some(found) => found.id,
        None => {
            let sql = "INSERT INTO turns (session_id, owner_id, created_at, prompt_id) VALUES (?1, ?2, ?3, ?4)";
            connection.add(sql, (session.row, session.owner, Time(at), &turn.prompt_id))?
        }
    };
    let sql = format!(
        "UPDATE turns SET turn_id = ?3, role = ?4, began_at = ?5, number = {NEXT_NUMBER},
                          -- What the memory has, it knows from the hook.
                          created_at = iif(prompt_number IS NULL, ?5, created_at),
                          prompt_id = iif(prompt_number IS NULL, coalesce(?6, prompt_id), prompt_id)
         WHERE id = ?2 AND turn_id IS NOT ?3"
    );
    connection.run(&sql, (session.row, row, &turn.id, role, Time(at), &turn.prompt_id))?;
    Ok(Some(row))
}

/// Stores a turn's details; returns the bytes of their whole texts.
fn put_details(
    connection: &Connection,
    session: Owned,
    turn_row: i64,
    turn: &Turn,
    sanitizer: Sanitizer,
    at: Millis,
) -> rusqlite::Result<usize> {
    let mut bytes = 0;
    for detail in turn.details() {
        bytes += detail.text.len();
        // The summary at a compaction repeats everything before it, private turns included, without their tags.
        if detail.name != COMPACTED {
            let text = sanitizer.detail(detail.kind, detail.name, detail.text);
            put_detail(connection, session, turn_row, &detail, &text, at)?;
        }
    }
    Ok(bytes)
}

fn put_detail(
    connection: &Connection,
    session: Owned,
    turn: i64,
    detail: &Detail<'_>,
    text: &str,
    at: Millis,
) -> rusqlite::Result<()> {
    let (kind, source, input, output) = match detail.kind {
        DetailKind::ToolInput => ("tool", &*detail.source, Some(text), None),
        DetailKind::ToolOutput => {
            ("tool", detail.source.strip_suffix(":result").unwrap_or(&detail.source), None, Some(text))
        }
        DetailKind::System | DetailKind::Image | DetailKind::Thinking => {
            (detail.kind.as_str(), &*detail.source, None, Some(text))
        }
    };
    connection.run(
        "INSERT INTO details (session_id, turn, source_id, kind, tool_name, input_text, output_text, is_error, created_at)
         SELECT :session, :turn, :source, :kind, :name, :input, :output, :is_error, :at
         -- A call that was forgotten does not come back.
         WHERE NOT EXISTS (SELECT 1 FROM known_ids WHERE scope = 'a call' AND id = :source AND same_as IS NULL)
         -- The memory may have stored it before the turn was known, or an earlier read of the file had the input only.
         ON CONFLICT DO UPDATE SET turn = excluded.turn, tool_name = coalesce(nullif(excluded.tool_name, ''), tool_name),
                                   input_text = coalesce(excluded.input_text, input_text),
                                   output_text = coalesce(excluded.output_text, output_text),
                                   created_at = iif(excluded.input_text IS NULL, created_at, excluded.created_at),
                                   is_error = max(is_error, excluded.is_error)",
        named_params! {
            ":session": session.row,
            ":turn": turn,
            ":source": source,
            ":kind": kind,
            ":name": detail.name,
            ":input": input,
            ":output": output,
            ":is_error": detail.is_error,
            ":at": Time(detail.at.unwrap_or(at)),
        },
    )?;
    Ok(())
}

/// Writes the turn in one line, from what is stored of it.
fn put_line(connection: &Connection, turn: i64, answered: &str) -> rusqlite::Result<()> {
    let (interrupted, failure, role, prompt): (bool, Option<String>, String, Option<String>) =
        connection.one("SELECT interrupted, failure, role, prompt FROM turns WHERE id = ?1", [turn])?;
    let asked = prompt.filter(|_| role != BOOKMARK).unwrap_or_default();
    let calls: Vec<(String, String, bool)> = connection.all(
        "SELECT coalesce(tool_name, ''), coalesce(input_text, ''), is_error FROM details
         WHERE turn = ?1 AND input_text IS NOT NULL ORDER BY rowid",
        [turn],
    )?;
    let actions: Vec<ToolUse<'_>> = calls
        .iter()
        .map(|(tool, input, is_error)| {
            let mut action = ToolUse::new(tool, input);
            action.is_error = *is_error;
            action
        })
        .collect();
    let mut work = TurnWork::new(&asked, answered, &actions);
    work.interrupted = interrupted;
    work.failure = failure.as_deref();
    let line = skeleton(&work);
    connection.run("UPDATE turns SET line = ?2 WHERE id = ?1", (turn, line)).map(drop)
}

/// Stores where entries stand in the conversation; `offset` is where their read began.
fn store_links(connection: &Connection, session: &str, offset: u64, links: &[Link]) -> rusqlite::Result<()> {
    if offset == 0 {
        // The file is read for the first time, or is another than before.
        connection.run("DELETE FROM links WHERE session_id = ?1", [session])?;
    }
    let mut statement = connection.prepare_cached(
        "INSERT INTO links (session_id, uuid, position, parent, turn) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
    )?;
    // An entry takes more than one byte: the next read's positions come after these.
    for (link, position) in links.iter().zip(offset as i64..) {
        statement.execute((session, &link.uuid, position, &link.parent, &link.turn))?;
    }
    Ok(())
}

/// Takes the `count` newest turns back whose entries stand before `position`, as a line of Codex's rollout says.
///
/// A turn that is not stored, because it is private or was forgotten, counts like any other: only its entries show that it
/// was there. The entries of what was taken back are deleted, so that the next rollback does not count it again.
fn roll_back(
    connection: &Connection,
    session: &str,
    row: SessionRow,
    position: i64,
    count: usize,
) -> rusqlite::Result<()> {
    let sql = "SELECT uuid FROM links WHERE session_id = ?1 AND uuid = turn AND position < ?2
               ORDER BY position DESC LIMIT ?3";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let turns: Vec<String> = connection.all(sql, (session, position, count))?;
    let sql = "UPDATE turns SET replaced = ?3 WHERE session_id = ?1 AND turn_id = ?2 AND replaced = 0";
    let mut mark = connection.prepare_cached(sql)?;
    let mut forget = connection.prepare_cached("DELETE FROM links WHERE session_id = ?1 AND turn = ?2")?;
    for turn in &turns {
        mark.execute((row, turn, ROLLED_BACK))?;
        forget.execute((session, turn))?;
    }
    Ok(())
}

/// Returns the position before which a rollback looks for turns: that of the entry which begins `next`, the first turn
/// after it in `links`.
fn position_before(next: &Turn, offset: u64, links: &[Link]) -> i64 {
    // The rest of a turn that began in an earlier read has no such entry, and everything before it is before this read.
    let index = links.iter().position(|link| link.uuid == next.id).unwrap_or_default();
    offset as i64 + index as i64
}

/// Unmarks a turn that [`roll_back`] has marked, when its beginning is read again: the rollback, too, is read again.
fn undo_rollback(connection: &Connection, session: SessionRow, turn: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE turns SET replaced = 0 WHERE session_id = ?1 AND turn_id = ?2 AND replaced = ?3";
    connection.run(sql, (session, turn, ROLLED_BACK)).map(drop)
}

/// Marks the turns that a rewind took back, and unmarks those that it did not.
///
/// The first turn that was not marked before is the one to which the user went back, and gets [`UNREPORTED`].
fn mark_replaced(connection: &Connection, session: &str, row: SessionRow) -> rusqlite::Result<()> {
    let sql = "SELECT uuid, parent, turn FROM links WHERE session_id = ?1 ORDER BY position";
    let link = |row: &rusqlite::Row<'_>| Ok(Link { uuid: row.get(0)?, parent: row.get(1)?, turn: row.get(2)? });
    let links: Vec<Link> = connection.all_with(sql, [session], link)?;
    let sql = "SELECT turn_id, replaced FROM turns WHERE session_id = ?1 AND turn_id IS NOT NULL";
    let marks: HashMap<String, i64> = connection.all(sql, [row])?.into_iter().collect();
    let replaced = replaced_turns(&links);
    let first = replaced.iter().position(|turn| marks.get(*turn) == Some(&0));
    // A private turn is not stored: if there is one before it, the user may have gone back to that one.
    let is_sure = |at: &usize| at.checked_sub(1).is_none_or(|before| marks.contains_key(replaced[before]));
    let target = first.filter(is_sure).map(|at| replaced[at]);
    let sql = "UPDATE turns SET replaced = 0 WHERE session_id = ?1 AND replaced <> 0 AND replaced <= ?2";
    connection.run(sql, (row, UNREPORTED))?;
    let sql = "UPDATE turns SET replaced = ?3 WHERE session_id = ?1 AND turn_id = ?2";
    let mut statement = connection.prepare(sql)?;
    for turn in replaced {
        let mark = match target {
            Some(target) if target == turn => UNREPORTED,
            // A later rewind makes an earlier one irrelevant.
            Some(_) => REPLACED,
            None => marks.get(turn).copied().unwrap_or_default().max(REPLACED),
        };
        statement.execute((row, turn, mark))?;
    }
    Ok(())
}
