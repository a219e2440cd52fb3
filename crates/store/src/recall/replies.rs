//! The replies of turns, as parts of the prompt that they answer.

use rusqlite::{Connection, Row};

use super::backlog::{self, Room};
use super::index::{NewTerms, change, delete, insert, scope, terms};
use super::key::{Key, LAST_PART};
use crate::What;
use crate::capture::{LAG_MS, SAME_PROMPT_MS, was_for_forgotten};
use crate::row_ids::SessionRow;
use crate::sql::Sql;

/// A turn whose replies are linked to a prompt.
struct Link {
    key: Key,
    part: i64,
    scope: String,
}

impl Link {
    /// Returns whether the replies are not in the index yet.
    fn is_queued(&self, connection: &Connection) -> rusqlite::Result<bool> {
        backlog::has_reply(connection, self.key.id(), self.part)
    }
}

/// The replies of a turn, as a part of a prompt.
pub(super) struct Reply {
    turn: i64,
    pub(super) prompt: i64,
    pub(super) part: i64,
}

/// Returns the replies of a turn.
pub(crate) fn text(connection: &Connection, turn: i64) -> rusqlite::Result<String> {
    let sql = "SELECT coalesce(reply, '') FROM turns WHERE id = ?1";
    Ok(connection.first(sql, [turn])?.unwrap_or_default())
}

/// Updates the index after the replies of a turn have changed from `before`.
pub(crate) fn reindex(connection: &Connection, turn: i64, before: &str) -> rusqlite::Result<()> {
    let after = text(connection, turn)?;
    let Some(link) = link_of(connection, turn)? else { return link(connection, turn, &after) };
    if after.trim().is_empty() {
        return unlink(connection, turn, &link, before);
    }
    if link.is_queued(connection)? {
        return Ok(());
    }
    let (old, new) = (terms(&link.scope, [before]), terms(&link.scope, [after.as_str()]));
    change(connection, link.key.row(link.part), &old, &new)
}

/// Removes the replies of a turn from the index.
pub(crate) fn remove(connection: &Connection, turn: i64) -> rusqlite::Result<()> {
    let Some(link) = link_of(connection, turn)? else { return Ok(()) };
    unlink(connection, turn, &link, &text(connection, turn)?)
}

/// Removes all replies to a prompt from the index.
pub(super) fn unlink_all(connection: &Connection, prompt: i64) -> rusqlite::Result<()> {
    of_prompt(connection, prompt)?.into_iter().try_for_each(|turn| remove(connection, turn))
}

/// Returns the turns that answer a prompt, in order.
pub(crate) fn of_prompt(connection: &Connection, prompt: i64) -> rusqlite::Result<Vec<i64>> {
    connection.all("SELECT id FROM turns WHERE passage = ?1 ORDER BY part", [prompt])
}

/// Returns the replies to a prompt.
pub(crate) fn to_prompt(connection: &Connection, prompt: i64) -> rusqlite::Result<String> {
    let sql = "SELECT reply FROM turns WHERE passage = ?1 AND reply IS NOT NULL ORDER BY part";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([prompt])?;
    let mut said = String::new();
    while let Some(row) = rows.next()? {
        if !said.is_empty() {
            said.push_str("\n\n");
        }
        said.push_str(row.get_ref(0)?.as_str()?);
    }
    Ok(said)
}

/// Links the turns of a prompt that was stored after them, because the database was locked. Until then they were linked to the
/// prompt before it, or to none.
pub(crate) fn link_late(connection: &Connection, prompt: i64) -> rusqlite::Result<()> {
    let turns: Vec<i64> = connection.all(
        "SELECT t.id FROM prompts p
             JOIN turns t ON t.session_id = p.session_id AND t.began_at BETWEEN p.created_at - ?2 AND p.created_at + ?2
                         AND trim(t.prompt) = trim(p.prompt)
             WHERE p.id = ?1",
        (prompt, SAME_PROMPT_MS),
    )?;
    for turn in turns {
        let linked_to = link_of(connection, turn)?.map(|link| link.key.id());
        if linked_to != prompt_of(connection, turn)? {
            remove(connection, turn)?;
            link(connection, turn, &text(connection, turn)?)?;
        }
    }
    Ok(())
}

/// Adds the replies of a session that are not in the index, because their prompts were stored after them.
pub(crate) fn link_session(connection: &Connection, session: SessionRow) -> rusqlite::Result<()> {
    link_some(connection, session, 0, &mut Room::unlimited()).map(drop)
}

/// Does the same from a turn's number on, as far as there is room. Returns the number to continue with, if there are more.
pub(crate) fn link_some(
    connection: &Connection,
    session: SessionRow,
    from: i64,
    room: &mut Room,
) -> rusqlite::Result<Option<i64>> {
    let turns: Vec<(i64, i64)> = connection.all(
        "SELECT id, number FROM turns WHERE session_id = ?1 AND number >= ?2 AND passage IS NULL ORDER BY number",
        (session, from),
    )?;
    for (turn, number) in turns {
        if room.is_full() {
            return Ok(Some(number));
        }
        let said = text(connection, turn)?;
        link(connection, turn, &said)?;
        room.take(said.len());
    }
    Ok(None)
}

/// Returns the last replies up to a part of a prompt, the newest first.
pub(super) fn newest(connection: &Connection, (prompt, part): (i64, i64), most: usize) -> rusqlite::Result<Vec<Reply>> {
    let sql = format!(
        "SELECT id, passage, part FROM turns INDEXED BY turns_by_answered
         WHERE passage IS NOT NULL AND (passage, part) <= (?1, ?2) ORDER BY passage DESC, part DESC LIMIT {most}"
    );
    let reply = |row: &Row<'_>| Ok(Reply { turn: row.get(0)?, prompt: row.get(1)?, part: row.get(2)? });
    connection.all_with(&sql, (prompt, part), reply)
}

/// Adds replies that were queued for the index. Returns the number of bytes of their terms.
pub(super) fn add_queued(connection: &Connection, reply: &Reply) -> rusqlite::Result<usize> {
    let Some(link) = link_of(connection, reply.turn)? else { return Ok(0) };
    let terms = terms(&link.scope, [text(connection, reply.turn)?.as_str()]);
    insert(connection, link.key.row(link.part), &terms)?;
    Ok(terms.len())
}

/// Adds the replies of a new turn to `new` if its prompt is in the memory.
pub(crate) fn link_new(connection: &Connection, turn: i64, said: &str, new: &mut NewTerms) -> rusqlite::Result<()> {
    if let Some((row, terms)) = linked(connection, turn, said)? {
        new.take(row, terms);
    }
    Ok(())
}

/// Adds the replies of a turn if its prompt is in the memory.
fn link(connection: &Connection, turn: i64, said: &str) -> rusqlite::Result<()> {
    match linked(connection, turn, said)? {
        Some((row, terms)) => insert(connection, row, &terms),
        None => Ok(()),
    }
}

/// Links a turn to its prompt. Returns its row in the index and its terms; `None` if there is nothing to add.
fn linked(connection: &Connection, turn: i64, said: &str) -> rusqlite::Result<Option<(i64, String)>> {
    if said.trim().is_empty() {
        return Ok(None);
    }
    let Some(prompt) = prompt_of(connection, turn)? else { return Ok(None) };
    let part: i64 = connection.one("SELECT 1 + coalesce(max(part), 0) FROM turns WHERE passage = ?1", [prompt])?;
    // A prompt with thousands of turns is no longer a passage.
    if part > LAST_PART {
        return Ok(None);
    }
    let sql = "UPDATE turns SET passage = ?2, part = ?3 WHERE id = ?1";
    connection.run(sql, (turn, prompt, part))?;
    match link_of(connection, turn)? {
        Some(link) if !link.is_queued(connection)? => Ok(Some((link.key.row(link.part), terms(&link.scope, [said])))),
        Some(_) | None => Ok(None),
    }
}

fn unlink(connection: &Connection, turn: i64, link: &Link, before: &str) -> rusqlite::Result<()> {
    let row = link.key.row(link.part);
    if !link.is_queued(connection)? {
        delete(connection, row, &terms(&link.scope, [before]))?;
    }
    let sql = "UPDATE turns SET passage = NULL, part = NULL WHERE id = ?1";
    connection.run(sql, [turn]).map(drop)
}

fn link_of(connection: &Connection, turn: i64) -> rusqlite::Result<Option<Link>> {
    let sql = "SELECT p.id, p.project_id, p.session_id, p.created_at, p.host_id, t.part FROM turns t
               JOIN prompts p ON p.id = t.passage WHERE t.id = ?1";
    connection.first_with(sql, [turn], |row| {
        let key = Key::new(row.get(1)?, What::Prompt, row.get(0)?);
        let scope = scope(What::Prompt, row.get(2)?, row.get(3)?, "", row.get(4)?);
        Ok(Link { key, part: row.get(5)?, scope })
    })
}

/// Returns the prompt that began a turn: the one with the same text, or otherwise the last before it; `None` if that
/// was deleted.
fn prompt_of(connection: &Connection, turn: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT session_id, coalesce(began_at, created_at), coalesce(prompt, ''), prompt_number IS NOT NULL
               FROM turns WHERE id = ?1";
    let found: Option<(SessionRow, i64, String, bool)> = connection.first(sql, [turn])?;
    let Some((session, at, asked, is_prompt)) = found else { return Ok(None) };
    if is_prompt {
        return Ok(Some(turn));
    }
    if was_for_forgotten(connection, session, at)? {
        return Ok(None);
    }
    let sql = "SELECT id FROM prompts WHERE session_id = ?1 AND created_at BETWEEN ?2 - ?4 AND ?2 + ?4
               AND trim(prompt) = trim(?3) ORDER BY abs(created_at - ?2) LIMIT 1";
    let same: Option<i64> = connection.first(sql, (session, at, asked, SAME_PROMPT_MS))?;
    if same.is_some() {
        return Ok(same);
    }
    let sql = "SELECT id FROM prompts WHERE session_id = ?1 AND created_at <= ?2 ORDER BY created_at DESC LIMIT 1";
    connection.first(sql, (session, at + LAG_MS))
}
