//! Cutting prompts and replies that a version without a limit has stored whole.

use rusqlite::{Connection, TransactionBehavior};

use crate::{Store, StoreError, cannot};

/// Where what was said is kept, beside the prompts that can be searched, which always had a limit.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("sessions", "rowid", "first_user_prompt"),
    ("sessions", "rowid", "last_prompt"),
    ("bodies", "rowid", "text"),
    ("turns", "origin_session_id || char(10) || turn_id", "pending_reply"),
];

impl Store {
    /// Cuts texts that are longer than `chars` characters, at most `most` of them; returns how many there were.
    ///
    /// To be called again until that is none: each call is a transaction of its own, so that hooks write in between.
    pub fn cut_long_texts(
        &mut self,
        chars: usize,
        most: usize,
        cut: impl Fn(&str) -> String,
    ) -> Result<usize, StoreError> {
        let failed = cannot("cut long texts");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let mut done = 0;
        for (table, key, column) in COLUMNS {
            done += cut_column(&transaction, (table, key, column), chars, most - done, &cut).map_err(&failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(done)
    }
}

fn cut_column(
    connection: &Connection,
    (table, key, column): (&str, &str, &str),
    chars: usize,
    most: usize,
    cut: impl Fn(&str) -> String,
) -> rusqlite::Result<usize> {
    // The length in bytes is known without reading a text, and no text has more characters than bytes.
    let sql = format!(
        "SELECT {key}, {column} FROM {table} WHERE octet_length({column}) > ?1 AND length({column}) > ?1 LIMIT ?2"
    );
    let found: Vec<(rusqlite::types::Value, String)> = connection
        .prepare(&sql)?
        .query_map((chars as i64, most as i64), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut update = connection.prepare(&format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1"))?;
    for (key, text) in &found {
        update.execute((key, cut(text)))?;
    }
    Ok(found.len())
}
