//! Cutting prompts and replies that an earlier version, which had no limit, has stored whole.

use longhaul_core::cut_text::cut_middle;
use longhaul_memory::{REPLY_CHARS, SAID_CHARS};
use rusqlite::Connection;

use crate::recall::replies;
use crate::{Store, StoreError};

/// The columns of prompts and replies. Those of the memory are not among them: they always had a limit.
const COLUMNS: [Column; 5] = [
    Column { chars: SAID_CHARS, table: "sessions", key: "rowid", name: "first_user_prompt", only: "1", turn: "'', 0" },
    Column { chars: SAID_CHARS, table: "sessions", key: "rowid", name: "last_prompt", only: "1", turn: "'', 0" },
    Column { chars: SAID_CHARS, only: "role <> 'assistant'", ..BODIES },
    Column { chars: REPLY_CHARS, only: "role = 'assistant'", ..BODIES },
    Column {
        chars: REPLY_CHARS,
        table: "turns",
        key: "origin_session_id || char(10) || turn_id",
        name: "pending_reply",
        only: "1",
        turn: "origin_session_id, turn_number",
    },
];

const BODIES: Column = Column {
    chars: SAID_CHARS,
    table: "bodies",
    key: "rowid",
    name: "text",
    only: "1",
    turn: "origin_session_id, turn_number",
};

/// A column of texts.
struct Column {
    /// Maximum number of characters.
    chars: usize,
    table: &'static str,
    /// An expression that identifies a row.
    key: &'static str,
    name: &'static str,
    /// The condition for the rows that have this maximum.
    only: &'static str,
    /// The turn whose replies are in the search index.
    turn: &'static str,
}

impl Store {
    /// Cuts texts that are longer than what is stored now, at most `most` of them; returns how many there were.
    ///
    /// Call it again until that is none. Each call is a transaction of its own, so that hooks can write in between.
    pub fn cut_long_texts(&self, most: usize) -> Result<usize, StoreError> {
        self.write("cut long texts", |tx| {
            let mut done = 0;
            for column in COLUMNS {
                done += cut_column(tx, &column, most - done)?;
            }
            Ok(done)
        })
    }
}

fn cut_column(connection: &Connection, column: &Column, most: usize) -> rusqlite::Result<usize> {
    let Column { chars, table, key, name, only, turn } = column;
    // The length in bytes is known without reading a text, and no text has more characters than bytes.
    let sql = format!(
        "SELECT {key}, {name}, {turn} FROM {table}
         WHERE {only} AND octet_length({name}) > ?1 AND length({name}) > ?1 LIMIT ?2"
    );
    let found: Vec<(rusqlite::types::Value, String, String, i64)> = connection
        .prepare(&sql)?
        .query_map((*chars as i64, most as i64), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    let mut update = connection.prepare(&format!("UPDATE {table} SET {name} = ?2 WHERE {key} = ?1"))?;
    for (key, text, origin, turn) in &found {
        let before = replies::text(connection, origin, *turn)?;
        update.execute((key, cut_middle(text, *chars)))?;
        replies::reindex(connection, origin, *turn, &before)?;
    }
    Ok(found.len())
}
