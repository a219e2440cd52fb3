//! The entries of a transcript, to know what a rewind took back.

use std::collections::HashMap;

use longhaul_transcript::{Link, Turn, replaced_turns};
use rusqlite::Connection;

use crate::rewinds::{REPLACED, ROLLED_BACK, UNREPORTED};
use crate::row_ids::SessionRow;

/// Stores where entries stand in the conversation; `offset` is where their read began.
pub(super) fn store_links(connection: &Connection, session: &str, offset: u64, links: &[Link]) -> rusqlite::Result<()> {
    if offset == 0 {
        // The file is read for the first time, or is another than before.
        connection.prepare_cached("DELETE FROM links WHERE session_id = ?1")?.execute([session])?;
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
pub(super) fn roll_back(
    connection: &Connection,
    session: &str,
    row: SessionRow,
    position: i64,
    count: usize,
) -> rusqlite::Result<()> {
    let sql = "SELECT uuid FROM links WHERE session_id = ?1 AND uuid = turn AND position < ?2
               ORDER BY position DESC LIMIT ?3";
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let turns: Vec<String> = connection
        .prepare_cached(sql)?
        .query_map((session, position, count), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
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
pub(super) fn position_before(next: &Turn, offset: u64, links: &[Link]) -> i64 {
    // The rest of a turn that began in an earlier read has no such entry, and everything before it is before this read.
    let index = links.iter().position(|link| link.uuid == next.id).unwrap_or_default();
    offset as i64 + index as i64
}

/// Unmarks a turn that [`roll_back`] has marked, when its beginning is read again: the rollback, too, is read again.
pub(super) fn undo_rollback(connection: &Connection, session: SessionRow, turn: &str) -> rusqlite::Result<()> {
    let sql = "UPDATE turns SET replaced = 0 WHERE session_id = ?1 AND turn_id = ?2 AND replaced = ?3";
    connection.prepare_cached(sql)?.execute((session, turn, ROLLED_BACK)).map(drop)
}

/// Marks the turns that a rewind took back, and unmarks those that it did not.
///
/// The first turn that was not marked before is the one to which the user went back, and gets [`UNREPORTED`].
pub(super) fn mark_replaced(connection: &Connection, session: &str, row: SessionRow) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare("SELECT uuid, parent, turn FROM links WHERE session_id = ?1 ORDER BY position")?;
    let links: Vec<Link> = statement
        .query_map([session], |row| Ok(Link { uuid: row.get(0)?, parent: row.get(1)?, turn: row.get(2)? }))?
        .collect::<Result<_, _>>()?;
    let sql = "SELECT turn_id, replaced FROM turns WHERE session_id = ?1 AND turn_id IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let marks: HashMap<String, i64> =
        statement.query_map([row], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let replaced = replaced_turns(&links);
    let first = replaced.iter().position(|turn| marks.get(*turn) == Some(&0));
    // A private turn is not stored: if there is one before it, the user may have gone back to that one.
    let is_sure = |at: &usize| at.checked_sub(1).is_none_or(|before| marks.contains_key(replaced[before]));
    let target = first.filter(is_sure).map(|at| replaced[at]);
    let sql = "UPDATE turns SET replaced = 0 WHERE session_id = ?1 AND replaced <> 0 AND replaced <= ?2";
    connection.execute(sql, (row, UNREPORTED))?;
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
