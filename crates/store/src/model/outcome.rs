//! What requests to a model cost, in tokens, reserved before a request and counted after it; and storing the answer, or
//! the failure. Prices are in the crate `cost`.
//!
//! A day is the user's local date, `YYYY-MM-DD`. The caller passes it (`longhaul_runtime::today`). A request counts for
//! the day on which its tokens were reserved.

use longhaul_core::Millis;
use longhaul_memory::Summary;
use rusqlite::Connection;

use super::{JobTurn, ModelJob, lines};
use crate::recall::index;
use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, What, cannot};

/// What a request cost, as the reply reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub at: Millis,
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
            connection.run(sql, (prompt, day, number(tokens)))?;
            Ok(Some(connection.last_insert_rowid()))
        })
    }

    pub fn model_spending(&self, day: &str) -> Result<Spending, StoreError> {
        spending(&self.connection, day).map_err(cannot("read what was spent"))
    }

    /// Returns the last error, if no request has succeeded since.
    pub fn model_trouble(&self) -> Result<Option<Trouble>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| Ok(Trouble { at: row.get::<_, Time>(0)?.into(), error: row.get(1)? });
        self.connection
            .first_with(
                "SELECT error_at, error FROM model_spending WHERE error IS NOT NULL ORDER BY error_at DESC",
                [],
                read,
            )
            .map_err(cannot("read the last error"))
    }
}

fn spending(connection: &Connection, day: &str) -> rusqlite::Result<Spending> {
    let sql = "SELECT total(requests), total(tokens_in), total(tokens_out),
                      total(iif(prompt_id IS NULL, tokens_unreported, 0)), total(iif(prompt_id IS NULL, 0, tokens_unreported))
               FROM model_spending WHERE day = ?1";
    connection.one_with(sql, [day], |row| {
        let count = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, f64>(column)? as u64);
        let reported = Tokens { input: count(1)?, output: count(2)? };
        Ok(Spending { requests: count(0)?, reported, unreported: count(3)?, reserved: count(4)? })
    })
}

fn spend(connection: &Connection, day: &str, requests: u64, reported: Tokens, unreported: u64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO model_spending AS old (day, requests, tokens_in, tokens_out, tokens_unreported)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (day) WHERE prompt_id IS NULL DO UPDATE SET
                   requests = old.requests + excluded.requests,
                   tokens_in = old.tokens_in + excluded.tokens_in,
                   tokens_out = old.tokens_out + excluded.tokens_out,
                   tokens_unreported = old.tokens_unreported + excluded.tokens_unreported";
    let values = (day, number(requests), number(reported.input), number(reported.output), number(unreported));
    connection.run(sql, values).map(drop)
}

/// Converts a count, and limits it so that sums cannot overflow whatever a reply reports.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).min(1 << 40)
}

/// New texts for the records of a prompt. Private text has been removed from them, and long text cut.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    /// The number of the summary, and its new content.
    pub summary: Option<(i64, Summary)>,
    /// The numbers, titles and narratives of observations.
    pub observations: Vec<(i64, String, String)>,
    /// A line for each turn of the job, in the job's order; empty if the model returned none that can be used.
    pub lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reworded {
    /// Summaries: one or none.
    pub summaries: usize,
    pub observations: usize,
    pub turns: usize,
}

/// What a request without a usable answer has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it was not sent, or was refused.
    Nothing,
    Reported(Tokens),
    /// Unknown: all that was reserved is counted.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    At(Millis),
    /// Never: the texts of the rules stay.
    Never,
}

impl Store {
    /// Stores an answer, its cost, and what is left to ask about the prompt, in one transaction.
    ///
    /// Only records that a rule has made are changed. What was forgotten meanwhile does not come back.
    pub fn finish_model_job(
        &self,
        reservation: i64,
        job: &ModelJob,
        words: &Words,
        cost: Tokens,
        at: Millis,
    ) -> Result<Reworded, StoreError> {
        self.write("store the model's answer", |connection| finish(connection, reservation, job, words, cost, at))
    }

    /// Records that a request has failed, its cost, and when it is repeated.
    pub fn fail_model_job(
        &self,
        reservation: i64,
        cost: Cost,
        retry: Retry,
        error: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.write("record the model's failure", |connection| {
            let Some((prompt, day)) = settle(connection, reservation, cost)? else { return Ok(()) };
            put_off(connection, prompt, retry, at)?;
            let sql = "INSERT INTO model_spending (day, error, error_at) VALUES (?1, ?2, ?3)
                       ON CONFLICT (day) WHERE prompt_id IS NULL
                       DO UPDATE SET error = excluded.error, error_at = excluded.error_at";
            connection.run(sql, (day, error, Time(at))).map(drop)
        })
    }

    /// Counts the reservations as spent that a killed worker has left behind; returns how many there were.
    ///
    /// `retry` returns when a prompt is asked about again, by how often that has failed before: a request that kills its worker
    /// each time must not be repeated for ever.
    pub fn settle_left_over(&self, at: Millis, retry: impl Fn(u32) -> Retry) -> Result<usize, StoreError> {
        self.write("count the reservations left behind", |connection| {
            let left: Vec<i64> = connection.all("SELECT id FROM model_spending WHERE prompt_id IS NOT NULL", [])?;
            for reservation in &left {
                if let Some((prompt, _)) = settle(connection, *reservation, Cost::Unknown)? {
                    put_off(connection, prompt, retry(attempts(connection, prompt)?), at)?;
                }
            }
            Ok(left.len())
        })
    }
}

fn finish(
    connection: &Connection,
    reservation: i64,
    job: &ModelJob,
    words: &Words,
    cost: Tokens,
    at: Millis,
) -> rusqlite::Result<Reworded> {
    let Some((prompt, _)) = settle(connection, reservation, Cost::Reported(cost))? else {
        return Ok(Reworded::default());
    };
    let mut reworded = Reworded::default();
    if let Some((id, summary)) = &words.summary {
        let Summary { request, investigated, learned, completed, next_steps, .. } = summary;
        let before = index::before_change(connection, What::Summary, *id)?;
        // Its time stays that of the turn.
        reworded.summaries = connection.run(
            "UPDATE session_summaries SET request = ?2, investigated = ?3, learned = ?4, completed = ?5,
                    next_steps = ?6, made_by = 'model' WHERE id = ?1 AND made_by = 'rule'",
            (id, request, investigated, learned, completed, next_steps),
        )?;
        index::replace(connection, What::Summary, *id, before)?;
    }
    let mut statement = connection.prepare_cached(
        "UPDATE observations SET title = ?2, narrative = ?3, made_by = 'model' WHERE id = ?1 AND made_by = 'rule'",
    )?;
    for (id, title, narrative) in &words.observations {
        let before = index::before_change(connection, What::Observation, *id)?;
        reworded.observations += statement.execute((id, title, narrative))?;
        index::replace(connection, What::Observation, *id, before)?;
    }
    let mut has_changed = false;
    for (turn, line) in job.turns.iter().zip(&words.lines) {
        let JobTurn { id, basis, .. } = turn;
        let is_stored = lines::put(connection, prompt, *id, *basis, line)?;
        reworded.turns += usize::from(is_stored && !line.is_empty());
        has_changed |= !is_stored;
    }
    dealt_with(connection, prompt, at)?;
    let sql = "UPDATE turns SET asked_to = ?2 WHERE id = ?1 AND prompt_number IS NOT NULL";
    connection.run(sql, (prompt, job.more_after))?;
    // The model is asked again about what has been added or changed since.
    let sql = "UPDATE turns AS p SET model_at = NULL WHERE p.id = ?1 AND (?2 OR EXISTS
                   (SELECT 1 FROM observations o WHERE o.session_id = p.session_id AND o.prompt_number = p.prompt_number
                    AND o.made_by = 'rule' AND o.id > ?3))";
    connection.run(sql, (prompt, has_changed, job.newest))?;
    connection.run("UPDATE model_spending SET error = NULL, error_at = NULL WHERE error IS NOT NULL", [])?;
    Ok(reworded)
}

/// Counts a reservation as spent; returns its prompt and its day, or `None` if there is no such reservation.
fn settle(connection: &Connection, reservation: i64, cost: Cost) -> rusqlite::Result<Option<(i64, String)>> {
    let sql = "DELETE FROM model_spending WHERE id = ?1 AND prompt_id IS NOT NULL
               RETURNING prompt_id, day, tokens_unreported";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, String, i64)> = connection.first_with(sql, [reservation], read)?;
    let Some((prompt, day, tokens)) = found else { return Ok(None) };
    match cost {
        Cost::Nothing => {}
        Cost::Reported(reported) => spend(connection, &day, 1, reported, 0)?,
        Cost::Unknown => spend(connection, &day, 1, Tokens::default(), tokens.unsigned_abs())?,
    }
    Ok(Some((prompt, day)))
}

/// Records when a prompt is asked about again.
fn put_off(connection: &Connection, prompt: i64, retry: Retry, at: Millis) -> rusqlite::Result<()> {
    match retry {
        Retry::At(next) => {
            let sql = "UPDATE turns SET attempts = attempts + 1, next_at = ?2 WHERE id = ?1";
            connection.run(sql, (prompt, Time(next))).map(drop)
        }
        Retry::Never => dealt_with(connection, prompt, at),
    }
}

/// Records that a model is done with a prompt.
pub(super) fn dealt_with(connection: &Connection, prompt: i64, at: Millis) -> rusqlite::Result<()> {
    let sql = "UPDATE turns SET model_at = ?2, attempts = 0, next_at = 0, asked_to = NULL WHERE id = ?1";
    connection.run(sql, (prompt, Time(at))).map(drop)
}

fn attempts(connection: &Connection, prompt: i64) -> rusqlite::Result<u32> {
    let sql = "SELECT attempts FROM turns WHERE id = ?1";
    Ok(connection.first(sql, [prompt])?.unwrap_or_default())
}
