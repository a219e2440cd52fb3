//! The search at the prompt. Its limits are far below those of a search, because the user waits.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use longhaul_core::Millis;
use longhaul_memory::{Evidence, Looker, PromptQuestion, Spot, WEIGHTS, WantedTerm};
use rusqlite::{Connection, OptionalExtension};

use super::candidate::Candidate;
use super::expression::Strict;
use super::key::{Key, range};
use super::order::{Asked, Ranked, rank};
use super::postings::{IS_NOTE, rows};
use super::{SearchQuery, backlog, meaning};
use crate::memory::millis;
use crate::memory::session_row::project_number;
use crate::sync::host_of;
use crate::{RecordId, Store, StoreError, What, cannot};

/// How many rows of the index all terms read together.
const ROWS: usize = 1_500;

/// How many of them one term reads, at least and at most.
const ROWS_OF_TERM: (usize, usize) = (100, 250);

/// How many passages are read and compared.
const CANDIDATES: usize = 8;

/// Maximum number of notes and decisions among them.
const NOTES: usize = 4;

/// Maximum number of tool calls that are read for an identifier.
const CALLS: usize = 12;

/// How many prompts of its own session are left out before their texts are read. Those of a longer session are left out later.
const OWN_PROMPTS: i64 = 300;

/// How many passages of a project are counted: how rare a word is does not depend on more.
const COUNTED: i64 = 4_000;

/// Maximum number of passages that are returned.
const RETURNED: usize = 10;

/// The record at this position among the nearest ones counts as unrelated to the prompt, because few are related.
const RELATED: usize = 9;

/// Number of records near in meaning that are added to those that words find. Each is read.
const NEAR: usize = 8;

/// Number of bytes that are read of long passages after their beginnings, of all together.
const READ_ON: usize = 128 * 1024;

/// The weight of a word in a tool call for its prompt.
const IN_CALL: f64 = 0.5;

/// A search at the prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptSearch<'a> {
    /// The question of the prompt.
    pub question: &'a PromptQuestion,
    /// The project.
    pub project_key: &'a str,
    /// The session of the prompt, whose own passages are excluded.
    pub session: &'a str,
    /// Records that are near in meaning, the most similar first; empty without a model.
    pub near: &'a [(RecordId, f32)],
}

/// A passage that may answer a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptPassage {
    /// The id of the record.
    pub record: RecordId,
    /// The session; empty for a note without one.
    pub session: String,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    /// The time of the passage.
    pub at: Millis,
    /// The prompt, or the title of a note.
    pub asked: String,
    /// The reply.
    pub replied: String,
    /// The position in the reply at which the words are close together, in bytes; `None` if they are elsewhere.
    pub spot: Option<usize>,
    /// The evidence for it, with its neighbouring passages.
    pub evidence: Evidence,
    /// The evidence without them.
    pub own: Evidence,
    /// The score by which it is ordered.
    pub score: f64,
    /// Whether a newer passage answers the same question.
    pub is_older: bool,
}

impl Store {
    /// Returns the passages of other sessions that answer a prompt best, the best first.
    ///
    /// Returns none until the index of passages is complete.
    pub fn passages_for_prompt(&self, search: &PromptSearch<'_>) -> Result<Vec<PromptPassage>, StoreError> {
        let found = self.connection.unchecked_transaction().and_then(|reading| find(&reading, search));
        found.map_err(cannot("look for passages that the prompt is about"))
    }
}

fn find(connection: &Connection, search: &PromptSearch<'_>) -> rusqlite::Result<Vec<PromptPassage>> {
    if !backlog::is_empty(connection)? {
        return Ok(Vec::new());
    }
    let Some(project) = project_number(connection, search.project_key)? else { return Ok(Vec::new()) };
    let own: Option<i64> = connection
        .prepare_cached("SELECT id FROM sessions WHERE session_id = ?1")?
        .query_row([search.session], |row| row.get(0))
        .optional()?;
    let own_prompts = own.map_or(Ok(HashSet::new()), |own| last_prompts(connection, own))?;
    let index = Index { connection, project, own_prompts };
    let found = index.read(&search.question.terms)?;
    let near = &search.near[..search.near.len().min(NEAR)];
    if found.records.is_empty() && near.is_empty() {
        return Ok(Vec::new());
    }
    let query = SearchQuery {
        project_key: Some(search.project_key),
        without_session: own.and(Some(search.session)),
        what: &[What::Prompt, What::Observation],
        ..SearchQuery::default()
    };
    let Some(strict) = Strict::new(connection, &query)? else { return Ok(Vec::new()) };
    let mut looker = Looker::new(found.terms.iter().map(|(term, rarity)| (term, *rarity)));
    looker.read_on = READ_ON;
    let ranked = rank(connection, &mut looker, found.records, &strict, Asked::Prompt)?;
    let mut ranked = meaning::join(connection, &mut looker, ranked, near, &strict, Asked::Prompt)?;
    // A prompt without a reply is no answer.
    let says_something = |one: &Candidate| {
        one.what == What::Observation || one.fields.get(1).is_some_and(|(reply, _)| !reply.trim().is_empty())
    };
    ranked.retain(|ranked| {
        let one = &ranked.one;
        one.what != What::Summary && says_something(one) && (own.is_none() || one.session != own)
    });
    let unrelated = search.near.get(RELATED).map_or(WEIGHTS.unrelated as f32, |(_, similarity)| *similarity);
    let evidence = |place: usize, beside: Beside| {
        let mut evidence = evidence(&looker, &ranked, place, found.most, beside);
        evidence.stands_out = evidence.similarity.map_or(0.0, |similarity| similarity - unrelated);
        evidence
    };
    let best = ranked.iter().enumerate().take(RETURNED);
    best.map(|(place, one)| {
        passage(connection, one, evidence(place, Beside::Counted), evidence(place, Beside::LeftOut))
    })
    .collect()
}

/// Whether neighbouring passages count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Counted,
    LeftOut,
}

/// Returns the evidence for a passage.
fn evidence(looker: &Looker, ranked: &[Ranked], place: usize, most: f64, beside: Beside) -> Evidence {
    let one = &ranked[place];
    let mut has = one.look.has.clone();
    let mut near = one.look.near;
    let is_beside = |other: &&Ranked| {
        beside == Beside::Counted
            && other.one.session == one.one.session
            && one.one.session.is_some()
            && other.one.prompt_number.abs_diff(one.one.prompt_number) <= 1
    };
    for other in ranked.iter().filter(is_beside) {
        near = near.max(other.look.near);
        has.iter_mut().zip(&other.look.has).for_each(|(has, other)| *has |= other);
    }
    let mut evidence = Evidence::default();
    evidence.words = looker.weight(&has) / most;
    evidence.covered = looker.share(&has);
    evidence.near = near;
    evidence.similarity = one.similarity;
    evidence
}

fn passage(
    connection: &Connection,
    ranked: &Ranked,
    evidence: Evidence,
    own: Evidence,
) -> rusqlite::Result<PromptPassage> {
    let one = &ranked.one;
    let session: Option<String> = match one.session {
        Some(id) => connection
            .prepare_cached("SELECT session_id FROM sessions WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?,
        None => None,
    };
    let Spot { field, start } = ranked.look.spot(&one.fields());
    let text = |field: usize| one.fields.get(field).map(|(text, _)| text.clone()).unwrap_or_default();
    Ok(PromptPassage {
        record: RecordId { what: one.what, id: one.id },
        session: session.unwrap_or_default(),
        host: host_of(connection, one.what, one.id)?,
        at: millis(one.at),
        asked: text(0),
        replied: text(1),
        spot: (field == 1 && ranked.look.near > 0.0).then_some(start),
        evidence,
        own,
        score: ranked.score,
        is_older: ranked.is_older,
    })
}

/// The result for a prompt's terms.
struct Found {
    /// The terms, each with its rarity.
    terms: Vec<(WantedTerm, f64)>,
    /// The rarity of a word that one passage has.
    most: f64,
    records: Vec<Candidate>,
}

/// Records that have a term.
struct Keys {
    keys: Vec<Key>,
    /// Whether there may be more.
    is_cut: bool,
}

struct Index<'a> {
    connection: &'a Connection,
    project: i64,
    /// The prompts of the session itself.
    own_prompts: HashSet<i64>,
}

/// Returns the last prompts of a session.
fn last_prompts(connection: &Connection, session: i64) -> rusqlite::Result<HashSet<i64>> {
    let sql = "SELECT id FROM user_prompts WHERE session_id = ?1 ORDER BY prompt_number DESC LIMIT ?2";
    connection.prepare_cached(sql)?.query_map((session, OWN_PROMPTS), |row| row.get(0))?.collect()
}

impl Index<'_> {
    fn read(&self, wanted: &[WantedTerm]) -> rusqlite::Result<Found> {
        let passages = self.passages()?;
        let limit = (ROWS / wanted.len().max(1)).clamp(ROWS_OF_TERM.0, ROWS_OF_TERM.1);
        let prompts = range(Some(self.project), What::Prompt);
        let (mut terms, mut weights) = (Vec::new(), HashMap::new());
        let mut lists: Vec<(f64, Vec<Key>)> = Vec::new();
        for term in wanted {
            let Keys { keys, is_cut } = self.keys(&any(term), prompts.clone(), limit)?;
            // Where the list is cut, the term has at least so many: it is a common one.
            let having = if is_cut { (limit as f64 * 2.0).max(passages / 8.0) } else { keys.len() as f64 };
            let rarity = rarity(having, passages);
            // A common word only ranks what rarer ones have found.
            lists.push((term.weight * rarity, if is_cut { Vec::new() } else { keys }));
            terms.push((term.clone(), rarity));
        }
        for (weight, keys) in lists {
            keys.into_iter().for_each(|key| *weights.entry(key).or_insert(0.0) += weight);
        }
        let called = self.called(&terms)?;
        for (key, _, weight) in &called {
            *weights.entry(*key).or_insert(0.0) += weight * IN_CALL;
        }
        let mut best: Vec<(Key, f64)> = weights.into_iter().collect();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
        best.truncate(CANDIDATES);
        let mut records = Vec::new();
        for key in best.into_iter().map(|(key, _)| key).chain(self.notes(wanted)?) {
            let Some(mut one) = Candidate::read(self.connection, key)? else { continue };
            // Tool calls contain names of files that no message mentions.
            one.fields.extend(called.iter().filter(|(of, ..)| *of == key).map(|(_, text, _)| (text.clone(), IN_CALL)));
            records.push(one);
        }
        Ok(Found { terms, most: rarity(1.0, passages), records })
    }

    /// Returns the number of passages of the project, up to the limit.
    fn passages(&self) -> rusqlite::Result<f64> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM user_prompts WHERE project_id = ?1 LIMIT ?2)";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row((self.project, COUNTED), |row| row.get(0))?;
        Ok(count.max(1) as f64)
    }

    /// Returns the records that an expression finds, the last stored first. The session's own passages are not among them.
    fn keys(&self, expression: &str, range: RangeInclusive<i64>, limit: usize) -> rusqlite::Result<Keys> {
        let rows = rows(self.connection, expression, range, limit)?;
        let is_cut = rows.len() >= limit;
        let mut keys: Vec<Key> = rows.into_iter().map(Key::of_row).collect();
        // The parts of a record are neighbours.
        keys.dedup();
        keys.retain(|key| key.what() != What::Prompt || !self.own_prompts.contains(&key.id()));
        Ok(Keys { keys, is_cut })
    }

    /// Returns notes and decisions with any of the terms.
    fn notes(&self, wanted: &[WantedTerm]) -> rusqlite::Result<Vec<Key>> {
        let range = range(Some(self.project), What::Observation);
        // Most projects have none, and then no term need be looked up again.
        if self.keys(IS_NOTE, range.clone(), 1)?.keys.is_empty() {
            return Ok(Vec::new());
        }
        let any: Vec<String> = wanted.iter().map(any).collect();
        Ok(self.keys(&format!("({}) AND {IS_NOTE}", any.join(" OR ")), range, NOTES)?.keys)
    }

    /// Returns the prompts whose tool calls contain an identifier, with the names and their weight.
    fn called(&self, terms: &[(WantedTerm, f64)]) -> rusqlite::Result<Vec<(Key, String, f64)>> {
        let mut found = Vec::new();
        let calls = range(Some(self.project), What::Observation);
        let sql = "SELECT p.id, o.title || char(10) || o.files_read || char(10) || o.files_modified
                   FROM observations o
                   JOIN user_prompts p ON p.session_id = o.session_id AND p.prompt_number = o.prompt_number
                   WHERE o.id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        // Pairs of characters are not identifiers.
        let is_identifier = |term: &&(WantedTerm, f64)| !term.0.is_word && term.0.forms[0].is_ascii();
        for (term, rarity) in terms.iter().filter(is_identifier) {
            for key in self.keys(&any(term), calls.clone(), CALLS)?.keys {
                let call = statement.query_row([key.id()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
                let Some((id, text)): Option<(i64, String)> = call else { continue };
                if self.own_prompts.contains(&id) {
                    continue;
                }
                found.push((Key::new(self.project, What::Prompt, id), text, term.weight * rarity));
            }
        }
        Ok(found)
    }
}

/// Returns the expression that matches a term in any form. Terms of a prompt are never beginnings of words.
fn any(term: &WantedTerm) -> String {
    let forms: Vec<String> = term.forms.iter().map(|form| format!("\"{form}\"")).collect();
    forms.join(" OR ")
}

/// Returns the rarity of a word that `having` of the passages have.
fn rarity(having: f64, passages: f64) -> f64 {
    // An unknown word is not rarer than the rarest; otherwise words that only the prompt has would decide.
    let having = having.max(1.0);
    let passages = passages.max(having);
    (1.0 + (passages - having + 0.5) / (having + 0.5)).ln()
}
