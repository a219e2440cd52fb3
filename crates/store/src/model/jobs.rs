//! What is worth asking a model for.

use longhaul_core::Millis;
use longhaul_memory::{Observation, Summary};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::at_once;
use crate::memory::{millis, observed};
use crate::{Store, StoreError, cannot};

/// How many of a prompt's observations are put into better words, those that tell most first.
const OBSERVATIONS: usize = 16;

/// How many prompts before it are told along, to know what it was about.
const PROMPTS: usize = 3;

/// When a session counts as resting.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// Now.
    pub now: Millis,
    /// Nothing has happened in it since.
    pub quiet_since: Millis,
    /// The same for a turn whose end nobody has seen: it may be at work on something that takes long.
    pub silent_since: Millis,
}

/// A prompt of a session at rest, with what rules have made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelJob {
    /// The prompt's number among all prompts.
    pub prompt: i64,
    /// The session.
    pub session: String,
    /// The project's name.
    pub project: String,
    /// The prompt and those before it in the session, oldest first.
    pub prompts: Vec<String>,
    /// When the prompt came.
    pub at: Millis,
    /// When the next one came.
    pub until: Option<Millis>,
    /// What the session had come to by then, where a rule says so.
    pub summary: Option<(i64, Summary)>,
    /// What rules have noted for the prompt, oldest first.
    pub observations: Vec<(i64, Observation)>,
    /// How often it has failed.
    pub attempts: u32,
}

/// A prompt that no model has been asked about.
struct Candidate {
    prompt: i64,
    session: i64,
    number: i64,
    at: i64,
    name: String,
    project: String,
    path: String,
    attempts: u32,
}

impl Store {
    /// Returns the newest prompt that is worth better words and whose project's folder `may_ask`.
    ///
    /// Prompts of which rules have made nothing are set down as dealt with, so that they are not looked at each time.
    pub fn next_model_job(&self, rest: Rest, may_ask: impl Fn(&str) -> bool) -> Result<Option<ModelJob>, StoreError> {
        let failed = cannot("look for something to put into better words");
        let (found, empty) = look(&self.connection, rest, may_ask).map_err(&failed)?;
        if !empty.is_empty() {
            at_once(self, "set prompts down as dealt with", |connection| {
                let mut statement = connection.prepare("UPDATE user_prompts SET model_at = ?2 WHERE id = ?1")?;
                empty.iter().try_for_each(|prompt| statement.execute((prompt, rest.now.0 as i64)).map(drop))
            })?;
        }
        Ok(found)
    }
}

/// A turn has ended where a summary of it was written, or the next has begun.
const AT_REST: &str =
    "SELECT p.id, p.session_id, p.prompt_number, p.created_at, s.session_id, s.project, s.project_path,
            coalesce(f.attempts, 0)
     FROM user_prompts p JOIN sessions s ON s.id = p.session_id
     LEFT JOIN model_failures f ON f.prompt_id = p.id
     WHERE p.model_at IS NULL AND p.created_at <= :quiet AND coalesce(f.next_at, 0) <= :now
     AND NOT EXISTS (SELECT 1 FROM user_prompts o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND NOT EXISTS (SELECT 1 FROM session_summaries o WHERE o.session_id = p.session_id AND o.created_at > :quiet)
     AND (EXISTS (SELECT 1 FROM session_summaries o
                  WHERE o.session_id = p.session_id AND o.prompt_number >= p.prompt_number)
          OR EXISTS (SELECT 1 FROM user_prompts o
                     WHERE o.session_id = p.session_id AND o.prompt_number > p.prompt_number)
          OR p.created_at <= :silent
             AND NOT EXISTS (SELECT 1 FROM observations o
                             WHERE o.session_id = p.session_id AND o.created_at > :silent))
     ORDER BY p.created_at DESC, p.id DESC";

/// Returns the first job, and the prompts before it that have nothing in them.
fn look(
    connection: &Connection,
    rest: Rest,
    may_ask: impl Fn(&str) -> bool,
) -> rusqlite::Result<(Option<ModelJob>, Vec<i64>)> {
    let mut statement = connection.prepare_cached(AT_REST)?;
    let mut rows = statement.query(named_params! {
        ":now": rest.now.0 as i64,
        ":quiet": rest.quiet_since.0 as i64,
        ":silent": rest.silent_since.0 as i64,
    })?;
    let mut empty = Vec::new();
    while let Some(row) = rows.next()? {
        let candidate = Candidate {
            prompt: row.get(0)?,
            session: row.get(1)?,
            number: row.get(2)?,
            at: row.get(3)?,
            name: row.get(4)?,
            project: row.get(5)?,
            path: row.get(6)?,
            attempts: row.get(7)?,
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

/// Reads what there is to put into better words.
fn job(connection: &Connection, candidate: Candidate) -> rusqlite::Result<Option<ModelJob>> {
    let summary = summary(connection, &candidate)?;
    let observations = observations(connection, &candidate)?;
    if summary.is_none() && observations.is_empty() {
        return Ok(None);
    }
    let sql = "SELECT min(created_at) FROM user_prompts WHERE session_id = ?1 AND prompt_number > ?2";
    let until: Option<i64> =
        connection.prepare_cached(sql)?.query_row((candidate.session, candidate.number), |row| row.get(0))?;
    let prompts = prompts(connection, &candidate)?;
    let Candidate { prompt, at, name: session, project, attempts, .. } = candidate;
    let (at, until) = (millis(at), until.map(millis));
    Ok(Some(ModelJob { prompt, session, project, prompts, at, until, summary, observations, attempts }))
}

fn prompts(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT prompt FROM user_prompts WHERE session_id = ?1 AND prompt_number <= ?2
               ORDER BY prompt_number DESC LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((candidate.session, candidate.number, PROMPTS as i64), |row| row.get(0))?;
    let mut prompts: Vec<String> = rows.collect::<Result<_, _>>()?;
    prompts.reverse();
    Ok(prompts)
}

fn summary(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Option<(i64, Summary)>> {
    // What was said in the middle of the turn is counted as a prompt, and is none of its own.
    let sql = "SELECT id, request, investigated, learned, completed, next_steps FROM session_summaries
               WHERE session_id = ?1 AND prompt_number >= ?2 AND made_by = 'rule'
               AND prompt_number < coalesce((SELECT min(prompt_number) FROM user_prompts
                                             WHERE session_id = ?1 AND prompt_number > ?2), prompt_number + 1)
               ORDER BY prompt_number DESC LIMIT 1";
    connection
        .prepare_cached(sql)?
        .query_row((candidate.session, candidate.number), |row| {
            let summary = Summary {
                request: row.get(1)?,
                investigated: row.get(2)?,
                learned: row.get(3)?,
                completed: row.get(4)?,
                next_steps: row.get(5)?,
            };
            Ok((row.get(0)?, summary))
        })
        .optional()
}

/// A line that a rule has made of reading a file can hardly be told better; it comes last.
fn observations(connection: &Connection, candidate: &Candidate) -> rusqlite::Result<Vec<(i64, Observation)>> {
    let sql = "SELECT kind, tool_name, title, narrative, facts, files_read, files_modified, id FROM observations
               WHERE session_id = ?1 AND prompt_number = ?2 AND created_at >= ?3 AND made_by = 'rule'
               ORDER BY CASE kind WHEN 'decision' THEN 0 WHEN 'problem' THEN 0 WHEN 'fix' THEN 0 WHEN 'delegation' THEN 1
                                  WHEN 'change' THEN 2 WHEN 'command' THEN 3 ELSE 4 END, created_at DESC, id DESC
               LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let values = (candidate.session, candidate.number, candidate.at, OBSERVATIONS as i64);
    let rows = statement.query_map(values, |row| Ok((row.get(7)?, observed(row, 0)?)))?;
    let mut found: Vec<(i64, Observation)> = rows.collect::<Result<_, _>>()?;
    found.sort_by_key(|(id, _)| *id);
    Ok(found)
}
