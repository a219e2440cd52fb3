//! The entries of a transcript, to know what a rewind took back.

use longhaul_transcript::{Link, replaced_turns};
use rusqlite::Connection;

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

/// Marks the turns that a rewind took back, and unmarks those that it did not.
pub(super) fn mark_replaced(connection: &Connection, session: &str) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare("SELECT uuid, parent, turn FROM links WHERE session_id = ?1 ORDER BY position")?;
    let links: Vec<Link> = statement
        .query_map([session], |row| Ok(Link { uuid: row.get(0)?, parent: row.get(1)?, turn: row.get(2)? }))?
        .collect::<Result<_, _>>()?;
    connection.execute("UPDATE turns SET replaced = 0 WHERE origin_session_id = ?1", [session])?;
    for turn in replaced_turns(&links) {
        connection
            .execute("UPDATE turns SET replaced = 1 WHERE origin_session_id = ?1 AND turn_id = ?2", (session, turn))?;
    }
    Ok(())
}
