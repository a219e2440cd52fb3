//! What is worth asking a model for.

use longhaul_core::Millis;
use longhaul_memory::{Observation, Summary};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::lines;
use crate::memory::{millis, observed};
use crate::recall::replies;
use crate::{Store, StoreError, cannot, limit};

/// How many of a prompt's observations one request is about; the first request is about those that tell most.
const OBSERVATIONS: usize = 16;

/// How many of a prompt's turns one request is about.
const TURNS: usize = 8;

/// By how much a prompt may be older than another and still be asked about before the other's further requests.
///
/// What most prompts need most is in their first request, and one prompt with hundreds of records would use up the budget of
/// days. Compared with the whole past, though, the records of today come first.
const FIRST_WITHIN_MS: u64 = 24 * 3_600_000;

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
    /// The prompt's turns that no model has put into a line yet, oldest first.
    pub turns: Vec<JobTurn>,
    /// How often it has failed.
    pub attempts: u32,
    /// Where more is left for a further request: observations up to this number have been asked about.
    pub more_after: Option<i64>,
    /// The newest of the prompt's observations when this was read.
    pub newest: i64,
}

/// A turn that is to be told in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTurn {
    /// The session that it was in at first.
    pub origin: String,
    /// Its number there.
    pub number: i64,
    /// What was replied.
    pub replied: String,
    /// A fingerprint of what the line is made of.
    pub basis: u64,
}

/// A prompt that a model is to be asked about.
struct Candidate {
    prompt: i64,
    session: i64,
    number: i64,
    at: i64,
    name: String,
    project: String,
    path: String,
    attempts: u32,
    /// The observations up to this number were asked about; `None` before the first request.
    asked_to: Option<i64>,
}

impl Store {
    /// Returns the newest prompt that is worth better words and whose project's folder `may_ask`.
    ///
    /// Prompts of which rules have made nothing are set down as dealt with, so that they are not looked at each time.
    pub fn next_model_job(&self, rest: Rest, may_ask: impl Fn(&str) -> bool) -> Result<Option<ModelJob>, StoreError> {
        let failed = cannot("look for something to put into better words");
        let (first, mut empty) = look(&self.connection, AT_REST, rest, &may_ask).map_err(&failed)?;
        let (further, done) = look(&self.connection, FURTHER, rest, &may_ask).map_err(&failed)?;
        empty.extend(done);
        if !empty.is_empty() {
            self.write("set prompts down as dealt with", |connection| {
                let mut dealt_with = connection.prepare("UPDATE user_prompts SET model_at = ?2 WHERE id = ?1")?;
                let mut settled = connection.prepare("DELETE FROM model_failures WHERE prompt_id = ?1")?;
                empty.iter().try_for_each(|prompt| {
                    dealt_with.execute((prompt, rest.now.0 as i64))?;
                    settled.execute([prompt]).map(drop)
                })
            })?;
        }
        let is_first_sooner = |first: &ModelJob, further: &ModelJob| further.at.since(first.at) <= FIRST_WITHIN_MS;
        Ok(match (first, further) {
            (Some(first), Some(further)) if !is_first_sooner(&first, &further) => Some(further),
            (first, further) => first.or(further),
        })
    }
}

/// A turn has ended where a summary of it was written, or the next has begun.
const AT_REST: &str =
    "SELECT p.id, p.session_id, p.prompt_number, p.created_at, s.session_id, s.project, s.project_path,
            coalesce(f.attempts, 0), NULL
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

/// Prompts that were too much for one request, and are not done. What was observed for them does not change any more.
const FURTHER: &str =
    "SELECT p.id, p.session_id, p.prompt_number, p.created_at, s.session_id, s.project, s.project_path,
            f.attempts, f.asked_to
     FROM model_failures f JOIN user_prompts p ON p.id = f.prompt_id JOIN sessions s ON s.id = p.session_id
     WHERE f.asked_to IS NOT NULL AND p.model_at IS NOT NULL AND f.next_at <= :now
     AND p.created_at <= max(:quiet, :silent)
     ORDER BY p.created_at DESC, p.id DESC";

/// Returns the first job that `sql` leads to, and the prompts before it that have nothing in them.
fn look(
    connection: &Connection,
    sql: &str,
    rest: Rest,
    may_ask: impl Fn(&str) -> bool,
) -> rusqlite::Result<(Option<ModelJob>, Vec<i64>)> {
    let mut statement = connection.prepare_cached(sql)?;
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

/// Reads what there is to put into better words.
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
    // By their numbers only after the first request, which is about those that tell most.
    let last = observations.last().map(|(id, _)| *id);
    let asked_to = candidate.asked_to.map_or(0, |before| last.unwrap_or(before));
    let more_after = is_more.then_some(asked_to);
    observations.sort_by_key(|(id, _)| *id);
    let sql = "SELECT min(created_at) FROM user_prompts WHERE session_id = ?1 AND prompt_number > ?2";
    let until: Option<i64> =
        connection.prepare_cached(sql)?.query_row((candidate.session, candidate.number), |row| row.get(0))?;
    let prompts = prompts(connection, &candidate)?;
    let sql = "SELECT coalesce(max(id), 0) FROM observations WHERE session_id = ?1 AND prompt_number = ?2";
    let newest = connection.prepare_cached(sql)?.query_row((candidate.session, candidate.number), |row| row.get(0))?;
    let Candidate { prompt, at, name: session, project, attempts, .. } = candidate;
    let (at, until) = (millis(at), until.map(millis));
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

/// Returns the turns that answer a prompt and have no line by a model, up to one more than a request is about.
fn turns(connection: &Connection, prompt: i64) -> rusqlite::Result<Vec<JobTurn>> {
    let sql = format!(
        "SELECT t.origin_session_id, t.turn_number FROM replies r
         JOIN turns t ON t.origin_session_id = r.origin_session_id AND t.turn_number = r.turn_number
         WHERE r.prompt_id = ?1 AND t.replaced = 0 AND NOT EXISTS
             (SELECT 1 FROM skeletons k WHERE k.session_id = t.session_id AND k.origin_session_id = t.origin_session_id
              AND k.turn_number = t.turn_number AND k.role = 'model')
         ORDER BY r.part {}",
        limit(TURNS + 1)
    );
    let found: Vec<(String, i64)> = connection
        .prepare_cached(&sql)?
        .query_map([prompt], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut turns = Vec::with_capacity(found.len());
    for (origin, number) in found {
        if let Some(basis) = lines::basis(connection, &origin, number)? {
            let replied = replies::text(connection, &origin, number)?;
            turns.push(JobTurn { origin, number, replied, basis });
        }
    }
    Ok(turns)
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
                exchanges: Vec::new(),
            };
            Ok((row.get(0)?, summary))
        })
        .optional()
}

/// Returns what rules have noted for the prompt, up to one more than a request is about.
///
/// A line that a rule has made of reading a file can hardly be told better; it comes last.
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
    let mut statement = connection.prepare_cached(&sql)?;
    let values = (candidate.session, candidate.number, candidate.at, candidate.asked_to.unwrap_or_default());
    let rows = statement.query_map(values, |row| Ok((row.get(7)?, observed(row, 0)?)))?;
    rows.collect()
}
