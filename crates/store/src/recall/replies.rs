//! The replies of turns, as parts of the prompt that they answer.

use rusqlite::{Connection, OptionalExtension, Row};

use super::backlog::{self, Room};
use super::index::{NewTerms, change, delete, insert, scope, terms};
use super::key::{Key, LAST_PART};
use crate::sync::host_row_of;
use crate::{What, forgotten_prompts};

/// Maximum difference between the times of a turn and of its prompt.
pub(crate) const SAME_PROMPT_MS: i64 = 120_000;

/// Maximum time after the start of its turn at which a prompt is stored, if the texts differ.
pub(crate) const LAG_MS: i64 = 2_000;

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
    origin: String,
    turn: i64,
    pub(super) prompt: i64,
    pub(super) part: i64,
}

/// Returns the replies of a turn: from the transcript, and those that a hook has reported since.
pub(crate) fn text(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<String> {
    let sql = "SELECT b.text, t.pending_reply FROM turns t
               LEFT JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                                 AND b.turn_number = t.turn_number AND b.role = 'assistant'
               WHERE t.origin_session_id = ?1 AND t.turn_number = ?2";
    let found: Option<(Option<String>, Option<String>)> =
        connection.prepare_cached(sql)?.query_row((origin, turn), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (body, pending) = found.unwrap_or_default();
    Ok(match (body, pending) {
        (Some(body), Some(pending)) => format!("{body}\n\n{pending}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => String::new(),
    })
}

/// Updates the index after the replies of a turn have changed from `before`.
pub(crate) fn reindex(connection: &Connection, origin: &str, turn: i64, before: &str) -> rusqlite::Result<()> {
    let after = text(connection, origin, turn)?;
    let Some(link) = link_of(connection, origin, turn)? else { return link(connection, origin, turn, &after) };
    if after.trim().is_empty() {
        return unlink(connection, origin, turn, &link, before);
    }
    if link.is_queued(connection)? {
        return Ok(());
    }
    let (old, new) = (terms(&link.scope, [before]), terms(&link.scope, [after.as_str()]));
    change(connection, link.key.row(link.part), &old, &new)
}

/// Removes the replies of a turn from the index. To be called before the turn is deleted.
pub(crate) fn remove(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<()> {
    let Some(link) = link_of(connection, origin, turn)? else { return Ok(()) };
    let before = text(connection, origin, turn)?;
    unlink(connection, origin, turn, &link, &before)
}

/// Removes all replies to a prompt from the index.
pub(super) fn unlink_all(connection: &Connection, prompt: i64) -> rusqlite::Result<()> {
    for (origin, turn) in of_prompt(connection, prompt)? {
        remove(connection, &origin, turn)?;
    }
    Ok(())
}

/// Returns the turns that answer a prompt, in order.
pub(crate) fn of_prompt(connection: &Connection, prompt: i64) -> rusqlite::Result<Vec<(String, i64)>> {
    connection
        .prepare_cached("SELECT origin_session_id, turn_number FROM replies WHERE prompt_id = ?1 ORDER BY part")?
        .query_map([prompt], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Returns the replies to a prompt.
pub(crate) fn to_prompt(connection: &Connection, prompt: i64) -> rusqlite::Result<String> {
    let sql = "SELECT b.text, t.pending_reply FROM replies r
               JOIN turns t ON t.origin_session_id = r.origin_session_id AND t.turn_number = r.turn_number
               LEFT JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                                 AND b.turn_number = t.turn_number AND b.role = 'assistant'
               WHERE r.prompt_id = ?1 ORDER BY r.part";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([prompt])?;
    let mut said = String::new();
    while let Some(row) = rows.next()? {
        for column in 0..2 {
            if let Some(text) = row.get_ref(column)?.as_str_or_null()? {
                if !said.is_empty() {
                    said.push_str("\n\n");
                }
                said.push_str(text);
            }
        }
    }
    Ok(said)
}

/// Returns the size of the replies to a prompt, in bytes.
pub(crate) fn bytes(connection: &Connection, prompt: i64) -> rusqlite::Result<u64> {
    Ok(to_prompt(connection, prompt)?.len() as u64)
}

/// Links the turns of a prompt that was stored after them, because the database was locked. Until then they were linked to the
/// prompt before it, or to none.
pub(crate) fn link_late(connection: &Connection, prompt: i64) -> rusqlite::Result<()> {
    let turns: Vec<(String, i64)> = connection
        .prepare_cached(
            "SELECT t.origin_session_id, t.turn_number FROM user_prompts p JOIN sessions s ON s.id = p.session_id
             JOIN turns t ON t.session_id = s.session_id AND t.created_at BETWEEN p.created_at - ?2 AND p.created_at + ?2
             JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                          AND b.turn_number = t.turn_number AND b.role = 'user' AND trim(b.text) = trim(p.prompt)
             WHERE p.id = ?1",
        )?
        .query_map((prompt, SAME_PROMPT_MS), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (origin, turn) in turns {
        let linked_to = link_of(connection, &origin, turn)?.map(|link| link.key.id());
        if linked_to != prompt_of(connection, &origin, turn)? {
            remove(connection, &origin, turn)?;
            link(connection, &origin, turn, &text(connection, &origin, turn)?)?;
        }
    }
    Ok(())
}

/// Adds the replies of a session that are not in the index, because their prompts were stored after them.
pub(crate) fn link_session(connection: &Connection, origin: &str) -> rusqlite::Result<()> {
    link_some(connection, origin, 0, &mut Room::unlimited()).map(drop)
}

/// Does the same from a turn on, as far as there is room. Returns the turn to continue with, if there are more.
pub(crate) fn link_some(
    connection: &Connection,
    origin: &str,
    from: i64,
    room: &mut Room,
) -> rusqlite::Result<Option<i64>> {
    let turns: Vec<i64> = connection
        .prepare_cached(
            "SELECT t.turn_number FROM turns t WHERE t.origin_session_id = ?1 AND t.turn_number >= ?2 AND NOT EXISTS
                 (SELECT 1 FROM replies r WHERE r.origin_session_id = ?1 AND r.turn_number = t.turn_number)
             ORDER BY t.turn_number",
        )?
        .query_map((origin, from), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for turn in turns {
        if room.is_full() {
            return Ok(Some(turn));
        }
        let said = text(connection, origin, turn)?;
        link(connection, origin, turn, &said)?;
        room.take(said.len());
    }
    Ok(None)
}

/// Returns the last replies up to a part of a prompt, the newest first.
pub(super) fn newest(connection: &Connection, (prompt, part): (i64, i64), most: usize) -> rusqlite::Result<Vec<Reply>> {
    let sql = format!(
        "SELECT origin_session_id, turn_number, prompt_id, part FROM replies
         WHERE (prompt_id, part) <= (?1, ?2) ORDER BY prompt_id DESC, part DESC LIMIT {most}"
    );
    let reply =
        |row: &Row<'_>| Ok(Reply { origin: row.get(0)?, turn: row.get(1)?, prompt: row.get(2)?, part: row.get(3)? });
    connection.prepare_cached(&sql)?.query_map((prompt, part), reply)?.collect()
}

/// Adds replies that were queued for the index. Returns the number of bytes of their terms.
pub(super) fn add_queued(connection: &Connection, reply: &Reply) -> rusqlite::Result<usize> {
    let Some(link) = link_of(connection, &reply.origin, reply.turn)? else { return Ok(0) };
    let terms = terms(&link.scope, [text(connection, &reply.origin, reply.turn)?.as_str()]);
    insert(connection, link.key.row(link.part), &terms)?;
    Ok(terms.len())
}

/// Adds the replies of a new turn to `new` if its prompt is in the memory.
pub(crate) fn link_new(
    connection: &Connection,
    origin: &str,
    turn: i64,
    said: &str,
    new: &mut NewTerms,
) -> rusqlite::Result<()> {
    if let Some((row, terms)) = linked(connection, origin, turn, said)? {
        new.take(row, terms);
    }
    Ok(())
}

/// Adds the replies of a turn if its prompt is in the memory.
fn link(connection: &Connection, origin: &str, turn: i64, said: &str) -> rusqlite::Result<()> {
    match linked(connection, origin, turn, said)? {
        Some((row, terms)) => insert(connection, row, &terms),
        None => Ok(()),
    }
}

/// Links a turn to its prompt. Returns its row in the index and its terms; `None` if there is nothing to add.
fn linked(connection: &Connection, origin: &str, turn: i64, said: &str) -> rusqlite::Result<Option<(i64, String)>> {
    if said.trim().is_empty() {
        return Ok(None);
    }
    let Some(prompt) = prompt_of(connection, origin, turn)? else { return Ok(None) };
    let part: i64 = connection
        .prepare_cached("SELECT 1 + coalesce(max(part), 0) FROM replies WHERE prompt_id = ?1")?
        .query_row([prompt], |row| row.get(0))?;
    // A prompt with thousands of turns is no longer a passage.
    if part > LAST_PART {
        return Ok(None);
    }
    connection
        .prepare_cached(
            "INSERT INTO replies (origin_session_id, turn_number, prompt_id, part) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((origin, turn, prompt, part))?;
    match link_of(connection, origin, turn)? {
        Some(link) if !link.is_queued(connection)? => Ok(Some((link.key.row(link.part), terms(&link.scope, [said])))),
        Some(_) | None => Ok(None),
    }
}

fn unlink(connection: &Connection, origin: &str, turn: i64, link: &Link, before: &str) -> rusqlite::Result<()> {
    let row = link.key.row(link.part);
    if !link.is_queued(connection)? {
        delete(connection, row, &terms(&link.scope, [before]))?;
    }
    connection
        .prepare_cached("DELETE FROM replies WHERE origin_session_id = ?1 AND turn_number = ?2")?
        .execute((origin, turn))
        .map(drop)
}

fn link_of(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<Option<Link>> {
    let found = connection
        .prepare_cached(
            "SELECT p.id, p.project_id, p.session_id, p.created_at, r.part FROM replies r
             JOIN user_prompts p ON p.id = r.prompt_id WHERE r.origin_session_id = ?1 AND r.turn_number = ?2",
        )?
        .query_row((origin, turn), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .optional()?;
    let Some((prompt, project, session, at, part)): Option<(i64, i64, i64, i64, i64)> = found else { return Ok(None) };
    let host = host_row_of(connection, What::Prompt, prompt)?;
    let key = Key::new(project, What::Prompt, prompt);
    Ok(Some(Link { key, part, scope: scope(What::Prompt, session, at, "", host) }))
}

/// Returns the prompt that began a turn: the one with the same text, or otherwise the last before it; `None` if that
/// was deleted.
fn prompt_of(connection: &Connection, origin: &str, turn: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT s.id, t.created_at, coalesce(b.text, '') FROM turns t JOIN sessions s ON s.session_id = ?1
               LEFT JOIN bodies b ON b.session_id = t.session_id AND b.origin_session_id = t.origin_session_id
                                 AND b.turn_number = t.turn_number AND b.role = 'user'
               WHERE t.origin_session_id = ?1 AND t.turn_number = ?2";
    let found: Option<(i64, i64, String)> = connection
        .prepare_cached(sql)?
        .query_row((origin, turn), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((session, at, asked)) = found else { return Ok(None) };
    if forgotten_prompts::has_asked_for(connection, origin, at)? {
        return Ok(None);
    }
    let sql = "SELECT id FROM user_prompts WHERE session_id = ?1 AND created_at BETWEEN ?2 - ?4 AND ?2 + ?4
               AND trim(prompt) = trim(?3) ORDER BY abs(created_at - ?2) LIMIT 1";
    let same: Option<i64> =
        connection.prepare_cached(sql)?.query_row((session, at, asked, SAME_PROMPT_MS), |row| row.get(0)).optional()?;
    if same.is_some() {
        return Ok(same);
    }
    let sql = "SELECT id FROM user_prompts WHERE session_id = ?1 AND created_at <= ?2 ORDER BY created_at DESC LIMIT 1";
    connection.prepare_cached(sql)?.query_row((session, at + LAG_MS), |row| row.get(0)).optional()
}
