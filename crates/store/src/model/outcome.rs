//! What became of a request.

use longhaul_core::Millis;
use longhaul_memory::Summary;
use rusqlite::{Connection, OptionalExtension};

use super::budget::{Tokens, spend};
use super::{JobTurn, ModelJob, lines};
use crate::recall::index;
use crate::{Store, StoreError, What};

/// Better words for the records of a prompt. Nothing private is in them any more, and nothing too long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    /// The summary's number, and what it says now.
    pub summary: Option<(i64, Summary)>,
    /// Observations' numbers, titles and narratives.
    pub observations: Vec<(i64, String, String)>,
    /// A line for each turn of the job, in the job's order; empty where the model gave none that can be used.
    pub lines: Vec<String>,
}

/// How many records were put into other words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reworded {
    /// Summaries: one or none.
    pub summaries: usize,
    /// Observations.
    pub observations: usize,
    /// Turns that were put into a line.
    pub turns: usize,
}

/// What a request that came to nothing has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it never got there, or was turned away.
    Nothing,
    /// What the reply reports.
    Reported(Tokens),
    /// Nobody knows: as much as was set aside.
    Unknown,
}

/// When a prompt is asked about again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not before this.
    At(Millis),
    /// Never: the words of the rules stay.
    Never,
}

impl Store {
    /// Stores an answer, what it has cost, and what is left of the prompt: all of it or nothing.
    ///
    /// Only what still says what a rule has said is changed. What was forgotten meanwhile does not come back.
    pub fn finish_model_job(
        &self,
        reservation: i64,
        job: &ModelJob,
        words: &Words,
        cost: Tokens,
        at: Millis,
    ) -> Result<Reworded, StoreError> {
        self.write("store the model's words", |connection| finish(connection, reservation, job, words, cost, at))
    }

    /// Notes that a request came to nothing, what it has cost, and when it is tried again.
    pub fn fail_model_job(
        &self,
        reservation: i64,
        cost: Cost,
        retry: Retry,
        error: &str,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.write("note the model's failure", |connection| {
            let Some(prompt) = settle(connection, reservation, cost)? else { return Ok(()) };
            put_off(connection, prompt, retry, at)?;
            let sql = "INSERT INTO model_trouble (id, at, error) VALUES (1, ?1, ?2)
                       ON CONFLICT (id) DO UPDATE SET at = excluded.at, error = excluded.error";
            connection.execute(sql, (at.0 as i64, error)).map(drop)
        })
    }

    /// Counts as spent what a worker has left behind that was killed in the middle of a request; returns how often.
    ///
    /// `retry` says, by how often a prompt has failed before, when it is tried again: a request that ends its worker
    /// each time must not be begun for ever.
    pub fn settle_left_over(&self, at: Millis, retry: impl Fn(u32) -> Retry) -> Result<usize, StoreError> {
        self.write("settle what was left behind", |connection| {
            let mut statement = connection.prepare("SELECT id FROM model_reservations ORDER BY id")?;
            let left: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for reservation in &left {
                if let Some(prompt) = settle(connection, *reservation, Cost::Unknown)? {
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
    let Some(prompt) = settle(connection, reservation, Cost::Reported(cost))? else {
        return Ok(Reworded::default());
    };
    let mut reworded = Reworded::default();
    if let Some((id, summary)) = &words.summary {
        let Summary { request, investigated, learned, completed, next_steps, exchanges: _ } = summary;
        let before = index::before_change(connection, What::Summary, *id)?;
        // Its time stays: it is as old as what it tells.
        reworded.summaries = connection.execute(
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
        let JobTurn { origin, number, basis, .. } = turn;
        let is_stored = lines::put(connection, prompt, (origin, *number), *basis, line)?;
        reworded.turns += usize::from(is_stored && !line.is_empty());
        has_changed |= !is_stored;
    }
    put_off(connection, prompt, Retry::Never, at)?;
    if let Some(asked_to) = job.more_after {
        let sql = "INSERT INTO model_failures (prompt_id, attempts, next_at, asked_to)
                   SELECT id, 0, 0, ?2 FROM user_prompts WHERE id = ?1";
        connection.execute(sql, (prompt, asked_to))?;
    }
    // What has come since the model was asked, or has changed, is asked about again.
    let sql = "UPDATE user_prompts AS p SET model_at = NULL WHERE p.id = ?1 AND (?2 OR EXISTS
                   (SELECT 1 FROM observations o WHERE o.session_id = p.session_id AND o.prompt_number = p.prompt_number
                    AND o.made_by = 'rule' AND o.id > ?3))";
    connection.execute(sql, (prompt, has_changed, job.newest))?;
    connection.execute("DELETE FROM model_trouble", [])?;
    Ok(reworded)
}

/// Turns a reservation into what was spent; returns the prompt, or `None` where there is no such reservation.
fn settle(connection: &Connection, reservation: i64, cost: Cost) -> rusqlite::Result<Option<i64>> {
    let sql = "DELETE FROM model_reservations WHERE id = ?1 RETURNING prompt_id, day, tokens";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<(i64, String, i64)> = connection.query_row(sql, [reservation], read).optional()?;
    let Some((prompt, day, tokens)) = found else { return Ok(None) };
    match cost {
        Cost::Nothing => {}
        Cost::Reported(reported) => spend(connection, &day, 1, reported, 0)?,
        Cost::Unknown => spend(connection, &day, 1, Tokens::default(), tokens.unsigned_abs())?,
    }
    Ok(Some(prompt))
}

/// Says when a prompt is asked about again.
fn put_off(connection: &Connection, prompt: i64, retry: Retry, at: Millis) -> rusqlite::Result<()> {
    match retry {
        Retry::At(next) => {
            // A prompt that was forgotten meanwhile is not tried again.
            let sql = "INSERT INTO model_failures AS old (prompt_id, attempts, next_at)
                       SELECT id, 1, ?2 FROM user_prompts WHERE id = ?1
                       ON CONFLICT (prompt_id) DO UPDATE SET attempts = old.attempts + 1, next_at = excluded.next_at";
            connection.execute(sql, (prompt, next.0 as i64)).map(drop)
        }
        Retry::Never => {
            connection.execute("DELETE FROM model_failures WHERE prompt_id = ?1", [prompt])?;
            connection.execute("UPDATE user_prompts SET model_at = ?2 WHERE id = ?1", (prompt, at.0 as i64)).map(drop)
        }
    }
}

fn attempts(connection: &Connection, prompt: i64) -> rusqlite::Result<u32> {
    let sql = "SELECT attempts FROM model_failures WHERE prompt_id = ?1";
    Ok(connection.query_row(sql, [prompt], |row| row.get(0)).optional()?.unwrap_or_default())
}
