//! What requests to a model for summaries cost, in tokens: reserved before a request, counted after it. Prices are in
//! the crate `cost`.
//!
//! A day is the user's local date, `YYYY-MM-DD`. The caller passes it (`longhaul_runtime::today`). A request counts for
//! the day on which its tokens were reserved.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// What a request cost, as the reply reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

/// What was spent on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Requests whose end is known.
    pub requests: u64,
    /// Tokens that replies have reported.
    pub reported: Tokens,
    /// Tokens that requests may have cost whose answer never came.
    pub unreported: u64,
    /// Tokens reserved for the request that is running.
    pub reserved: u64,
}

impl Spending {
    /// Returns the sum: what was spent, what may have been spent, and what is reserved.
    pub fn total(&self) -> u64 {
        self.reported.input + self.reported.output + self.unreported + self.reserved
    }
}

/// The last error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// When it happened.
    pub at: Millis,
    /// The message.
    pub error: String,
}

impl Store {
    /// Reserves tokens for a request; returns the reservation, or `None` if the day's budget has too little left.
    pub fn reserve_tokens(&self, prompt: i64, day: &str, tokens: u64, budget: u64) -> Result<Option<i64>, StoreError> {
        self.write("reserve tokens", |connection| {
            if spending(connection, day)?.total().saturating_add(tokens) > budget {
                return Ok(None);
            }
            let sql = "INSERT INTO model_spending (prompt_id, day, tokens_unreported) VALUES (?1, ?2, ?3)";
            connection.execute(sql, (prompt, day, number(tokens)))?;
            Ok(Some(connection.last_insert_rowid()))
        })
    }

    /// Returns what was spent on a day.
    pub fn model_spending(&self, day: &str) -> Result<Spending, StoreError> {
        spending(&self.connection, day).map_err(cannot("read what was spent"))
    }

    /// Returns the last error, if no request has succeeded since.
    pub fn model_trouble(&self) -> Result<Option<Trouble>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| Ok(Trouble { at: row.get::<_, Time>(0)?.into(), error: row.get(1)? });
        self.connection
            .query_row(
                "SELECT error_at, error FROM model_spending WHERE error IS NOT NULL ORDER BY error_at DESC",
                [],
                read,
            )
            .optional()
            .map_err(cannot("read the last error"))
    }
}

fn spending(connection: &Connection, day: &str) -> rusqlite::Result<Spending> {
    let sql = "SELECT total(requests), total(tokens_in), total(tokens_out),
                      total(iif(prompt_id IS NULL, tokens_unreported, 0)), total(iif(prompt_id IS NULL, 0, tokens_unreported))
               FROM model_spending WHERE day = ?1";
    connection.prepare_cached(sql)?.query_row([day], |row| {
        let count = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, f64>(column)? as u64);
        let reported = Tokens { input: count(1)?, output: count(2)? };
        Ok(Spending { requests: count(0)?, reported, unreported: count(3)?, reserved: count(4)? })
    })
}

/// Counts what a request has cost.
pub(super) fn spend(
    connection: &Connection,
    day: &str,
    requests: u64,
    reported: Tokens,
    unreported: u64,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO model_spending AS old (day, requests, tokens_in, tokens_out, tokens_unreported)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (day) WHERE prompt_id IS NULL DO UPDATE SET
                   requests = old.requests + excluded.requests,
                   tokens_in = old.tokens_in + excluded.tokens_in,
                   tokens_out = old.tokens_out + excluded.tokens_out,
                   tokens_unreported = old.tokens_unreported + excluded.tokens_unreported";
    let values = (day, number(requests), number(reported.input), number(reported.output), number(unreported));
    connection.execute(sql, values).map(drop)
}

/// Converts a count, and limits it so that sums cannot overflow whatever a reply reports.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).min(1 << 40)
}
