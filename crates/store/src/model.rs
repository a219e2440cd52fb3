//! Records that a model rewords: which prompts it is asked about and when, and how many records one request has.
//!
//! A request is about one prompt of a session: its summary, its turns and its observations. If that is too much for one
//! request, others follow. The tokens that a request may cost are reserved before it, and what it did cost is counted
//! in the transaction that stores the answer. A worker that is killed has either stored an answer and counted it, or
//! left a reservation behind.

pub(crate) mod lines;
mod outcome;

use longhaul_core::Millis;
use longhaul_core::text::cut_middle;
use longhaul_memory::{Observation, SAID_CHARS, Summary};
use rusqlite::{Connection, Row, named_params};

use self::outcome::dealt_with;
use crate::memory::{read_observation, read_summary};
use crate::row_ids::{SessionRow, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit, newest_last};

pub use self::outcome::{Cost, Retry, Reworded, Spending, Tokens, Trouble, Words};

/// How many of a prompt's observations one request has; the first request has the most important ones.
const OBSERVATIONS: usize = 16;

/// How many of a prompt's turns one request has.
const TURNS: usize = 8;

/// By how much a prompt may be older than another and still be asked about before the other's further requests.
///
/// What most prompts need most is in their first request, and one prompt with hundreds of records would use up the budget of
/// days. Compared with the whole past, though, the records of today come first.
const FIRST_WITHIN_MS: u64 = 24 * 3_600_000;

/// How many prompts before it a request has, for context.
const PROMPTS: usize = 3;

/// When a session counts as at rest.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    pub now: Millis,
    /// Nothing may have happened in the session since then.
    pub quiet_since: Millis,
    /// The same for a turn whose end no hook has reported: it may be waiting for something that takes long.
    pub silent_since: Millis,
}

/// A prompt of a session at rest, with the records that rules have made for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelJob {
    /// The prompt's number among all prompts.
    pub prompt: i64,
    pub session: String,
    pub project: String,
    /// The prompt and those before it in the session, oldest first.
    pub prompts: Vec<String>,
    pub at: Millis,
    /// When the next prompt was sent.
    pub until: Option<Millis>,
    /// The summary up to the prompt, if a rule has made it.
    pub summary: Option<(i64, Summary)>,
    /// The observations that rules have made for the prompt, oldest first.
    pub observations: Vec<(i64, Observation)>,
    /// The prompt's turns that have no line by a model yet, oldest first.
    pub turns: Vec<JobTurn>,
    pub attempts: u32,
    /// If more is left for a further request: observations up to this number have been asked about.
    pub more_after: Option<i64>,
    /// The newest of the prompt's observations when this was read.
    pub newest: i64,
}

/// A turn that is to be put into one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTurn {
    pub id: i64,
    /// The session in which it ran.
    pub origin: String,
    pub number: i64,
    pub replied: String,
    /// A fingerprint of what the line is made of.
    pub basis: u64,
}

/// A prompt that a model is to be asked about.
struct Candidate {
    prompt: i64,
    session: SessionRow,
    number: i64,
    at: Millis,
    name: String,
    project: String,
    path: String,
    attempts: u32,
    /// The observations up to this number were asked about; `None` before the first request.
    asked_to: Option<i64>,
}

impl Store {
    /// Returns the newest prompt whose records a model can reword and whose project's folder `may_ask` allows.
    ///
    /// Prompts without such records are marked as dealt with, so that they are not read each time.
    pub fn next_model_job(&self, rest: Rest, may_ask: impl Fn(&str) -> bool) -> Result<Option<ModelJob>, StoreError> {
        let failed = cannot("look for records to reword");
        let (first, mut empty) = look(&self.connection, AT_REST, rest, &may_ask).map_err(&failed)?;
        let (further, done) = look(&self.connection, FURTHER, rest, &may_ask).map_err(&failed)?;
        empty.extend(done);
        if !empty.is_empty() {
            self.write("mark prompts as dealt with", |connection| {
                empty.iter().try_for_each(|prompt| dealt_with(connection, *prompt, rest.now))
            })?;
        }
        let is_first_sooner = |first: &ModelJob, further: &ModelJob| further.at.since(first.at) <= FIRST_WITHIN_MS;
        Ok(match (first, further) {
            (Some(first), Some(further)) if !is_first_sooner(&first, &further) => Some(further),
            (first, further) => first.or(further),
        })
    }
}

/// Prompts whose turn has ended. It has if a summary of it was written, or the next has begun.
const AT_REST: &str =
    "SELECT p.id, p.session_id, p.prompt_number, p.created_at, s.session_id, s.project, s.project_path,
            p.attempts, NULL
     FROM prompts p JOIN sessions s ON s.id = p.session_id
     WHERE p.model_at IS NULL AND p.created_at <= :quiet AND p.next_at <= :now
     AND NOT EXISTS (SELECT 1 FROM prompts o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND NOT EXISTS (SELECT 1 FROM session_summaries o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND (EXISTS (SELECT 1 FROM session_summaries o
                  WHERE o.session_id = p.session_id AND o.prompt_number >= p.prompt_number)
          OR EXISTS (SELECT 1 FROM prompts o
                     WHERE o.session_id = p.session_id AND o.prompt_number > p.prompt_number)
          OR p.created_at <= :silent
             AND NOT EXISTS (SELECT 1 FROM observations o
                             WHERE o.session_id = p.session_id AND o.created_at > :silent))
     ORDER BY p.created_at DESC, p.id DESC";

/// Prompts that need a further request. Their observations do not change any more.
const FURTHER: &str =
    "SELECT p.id, p.session_id, p.prompt_number, p.created_at, s.session_id, s.project, s.project_path,
            p.attempts, p.asked_to
     FROM turns p INDEXED BY turns_special JOIN sessions s ON s.id = p.session_id
     WHERE p.asked_to IS NOT NULL AND p.model_at IS NOT NULL AND p.next_at <= :now
     AND p.created_at <= max(:quiet, :silent)
     ORDER BY p.created_at DESC, p.id DESC";

/// Returns the first job that `sql` finds, and the prompts before it that have no records to reword.
fn look(
    connection: &Connection,
    sql: &str,
    rest: Rest,
    may_ask: impl Fn(&str) -> bool,
) -> rusqlite::Result<(Option<ModelJob>, Vec<i64>)> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! {
        ":now": Time(rest.now),
        ":quiet": Time(rest.quiet_since),
        ":silent": Time(rest.silent_since),
    })?;
    let mut empty = Vec::new();
    while let Some(row) = rows.next()? {
        let candidate = Candidate {
            prompt: row.get(0)?,
            session: row.get(1)?,
            number: row.get(2)?,
            at: row.get::<_, Time>(3)?.into(),
            name: row.get(4)?,
            project: row.get(5)?,
            path: row.get(6)?,
            attempts: row.get(7)?,
            asked_to: row.get(8)?,
        };
        if !may_ask(&candidate.path) {
            continue;
        }
        let prompt = candidate.prompt;
        match job(connection, candidate)? {
            Some(job) => return Ok((Some(job), empty)),
            None => empty.push(prompt),
        }
    }
    Ok((None, empty))
}

/// Reads the records of a prompt that a model can reword; `None` if there are none.
fn job(connection: &Connection, candidate: Candidate) -> rusqlite::Result<Option<ModelJob>> {
    let summary = summary(connection, &candidate)?;
    let mut observations = observations(connection, &candidate)?;
    let mut turns = turns(connection, candidate.prompt)?;
    if summary.is_none() && observations.is_empty() && turns.is_empty() {
        return Ok(None);
    }
    let is_more = observations.len() > OBSERVATIONS || turns.len() > TURNS;
    observations.truncate(OBSERVATIONS);
    turns.truncate(TURNS);
    // After the first request, which has the most important ones, they are asked about in the order of their numbers.
    let last = observations.last().map(|(id, _)| *id);
    let asked_to = candidate.asked_to.map_or(0, |before| last.unwrap_or(before));
    let more_after = is_more.then_some(asked_to);
    observations.sort_by_key(|(id, _)| *id);
    let sql = "SELECT min(created_at) FROM prompts WHERE session_id = ?1 AND prompt_number > ?2";
    let until: Option<Time> = connection.one(sql, (candidate.session, candidate.number))?;
    let prompts = prompts(connection, &candidate)?;
    let sql = "SELECT coalesce(max(id), 0) FROM observations WHERE session_id = ?1 AND prompt_number = ?2";
    let newest = connection.one(sql, (candidate.session, candidate.number))?;
    let Candidate { prompt, at, name: session, project, attempts, .. } = candidate;
    let until = until.map(Millis::from);
    Ok(Some(ModelJob {
        prompt,
        session,
        project,
        prompts,
        at,
        until,
        summary,
        observations,
        turns,
        attempts,
        more_after,
        newest,
    }))
}

/// Returns the turns that answer a prompt and have no line by a model, up to one more than a request has.
fn turns(connection: &Connection, prompt: i64) -> rusqlite::Result<Vec<JobTurn>> {
    let sql = format!(
        "SELECT t.id, s.session_id, t.number, coalesce(t.reply, '') FROM turns t JOIN sessions s ON s.id = t.session_id
         WHERE t.passage = ?1 AND t.replaced = 0 AND t.model_line IS NULL ORDER BY t.part {}",
        limit(TURNS + 1)
    );
    let read = |row: &Row<'_>| {
        let replied = cut_middle(&row.get::<_, String>(3)?, SAID_CHARS);
        Ok(JobTurn { id: row.get(0)?, origin: row.get(1)?, number: row.get(2)?, replied, basis: 0 })
    };
    let mut turns: Vec<JobTurn> = connection.all_with(&sql, [prompt], read)?;
    for turn in &mut turns {
        turn.basis = lines::basis(connection, turn.id)?.unwrap_or_default();
    }
    Ok(turns)
}

fn prompts(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT prompt FROM prompts WHERE session_id = ?1 AND prompt_number <= ?2
               ORDER BY prompt_number DESC LIMIT ?3";
    newest_last(connection, sql, (candidate.session, candidate.number, PROMPTS as i64), |row| row.get(0))
}

fn summary(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Option<(i64, Summary)>> {
    // What was typed during the turn counts as a prompt, and has no summary of its own.
    let sql = "SELECT id, request, investigated, learned, completed, next_steps FROM session_summaries
               WHERE session_id = ?1 AND prompt_number >= ?2 AND made_by = 'rule'
               AND prompt_number < coalesce((SELECT min(prompt_number) FROM prompts
                                             WHERE session_id = ?1 AND prompt_number > ?2), prompt_number + 1)
               ORDER BY prompt_number DESC LIMIT 1";
    connection.first_with(sql, (candidate.session, candidate.number), |row| Ok((row.get("id")?, read_summary(row)?)))
}

/// Returns the observations that rules have made for the prompt, up to one more than a request has.
///
/// The line of a file that was read can hardly be improved, so these come last.
fn observations(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Vec<(i64, Observation)>> {
    let order = match candidate.asked_to {
        None => {
            "CASE kind WHEN 'decision' THEN 0 WHEN 'problem' THEN 0 WHEN 'fix' THEN 0 WHEN 'delegation' THEN 1
                       WHEN 'change' THEN 2 WHEN 'command' THEN 3 ELSE 4 END, created_at DESC, id DESC"
        }
        Some(_) => "id",
    };
    let sql = format!(
        "SELECT kind, tool_name, title, narrative, facts, files_read, files_modified, id FROM observations
         WHERE session_id = ?1 AND prompt_number = ?2 AND created_at >= ?3 AND made_by = 'rule' AND id > ?4
         ORDER BY {order} {}",
        limit(OBSERVATIONS + 1)
    );
    let values = (candidate.session, candidate.number, Time(candidate.at), candidate.asked_to.unwrap_or_default());
    connection.all_with(&sql, values, |row| Ok((row.get("id")?, read_observation(row)?)))
}

/// Prompts whose turn has ended: the project's folder, when something last happened in the session, and when a failed request
/// is tried again.
const ENDED_TURNS: &str = "SELECT s.project_path,
            max(p.created_at,
                coalesce((SELECT max(o.created_at) FROM prompts o WHERE o.session_id = p.session_id), 0),
                coalesce((SELECT max(o.created_at) FROM observations o WHERE o.session_id = p.session_id), 0),
                coalesce((SELECT max(o.created_at) FROM session_summaries o WHERE o.session_id = p.session_id), 0)),
            p.next_at
     FROM prompts p JOIN sessions s ON s.id = p.session_id
     WHERE p.model_at IS NULL
     AND (EXISTS (SELECT 1 FROM session_summaries o
                  WHERE o.session_id = p.session_id AND o.prompt_number >= p.prompt_number)
          OR EXISTS (SELECT 1 FROM prompts o
                     WHERE o.session_id = p.session_id AND o.prompt_number > p.prompt_number))";

/// Prompts that need a further request: those do not wait for the session to rest.
const FURTHER_REQUESTS: &str =
    "SELECT s.project_path, 0, p.next_at FROM turns p INDEXED BY turns_special JOIN sessions s ON s.id = p.session_id
     WHERE p.asked_to IS NOT NULL AND p.model_at IS NOT NULL";

impl Store {
    /// Returns when the next prompt is to be asked about, as far as is known. That time may have passed.
    ///
    /// A turn that is still running does not count: its end is an event. `quiet_ms` is how long a session must have rested;
    /// `may_ask` returns whether the prompts of a project's folder are asked about at all.
    pub fn next_model_time(&self, quiet_ms: u64, may_ask: impl Fn(&str) -> bool) -> Result<Option<Millis>, StoreError> {
        self.try_to("look for the next prompt to ask a model about", |connection| {
            let mut earliest: Option<Millis> = None;
            for sql in [ENDED_TURNS, FURTHER_REQUESTS] {
                let mut statement = connection.prepare_cached(sql)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    if may_ask(&row.get::<_, String>(0)?) {
                        let last = Millis::from(row.get::<_, Time>(1)?);
                        let due = Millis(last.0.saturating_add(quiet_ms)).max(row.get::<_, Time>(2)?.into());
                        earliest = Some(earliest.map_or(due, |earliest| earliest.min(due)));
                    }
                }
            }
            Ok(earliest)
        })
    }
}
