//! Reads the records with the terms of a prompt from the index.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use longhaul_memory::WantedTerm;
use rusqlite::{Connection, OptionalExtension};

use super::candidate::Candidate;
use super::index::rows;
use super::key::{Key, range};
use super::postings::IS_NOTE;
use crate::What;

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

/// The weight of a word in a tool call for its prompt.
const IN_CALL: f64 = 0.5;

/// The result for a prompt's terms.
pub(super) struct Found {
    /// The terms, each with its rarity.
    pub(super) terms: Vec<(WantedTerm, f64)>,
    /// The rarity of a word that one passage has.
    pub(super) most: f64,
    pub(super) records: Vec<Candidate>,
}

/// Records that have a term.
struct Keys {
    keys: Vec<Key>,
    /// Whether there may be more.
    is_cut: bool,
}

/// The index of a project's passages, without those of the prompt's own session.
pub(super) struct Index<'a> {
    pub(super) connection: &'a Connection,
    pub(super) project: i64,
    /// The prompts of the session itself.
    pub(super) own_prompts: HashSet<i64>,
}

/// Returns the last prompts of a session.
pub(super) fn last_prompts(connection: &Connection, session: i64) -> rusqlite::Result<HashSet<i64>> {
    let sql = "SELECT id FROM prompts WHERE session_id = ?1 ORDER BY prompt_number DESC LIMIT ?2";
    connection.prepare_cached(sql)?.query_map((session, OWN_PROMPTS), |row| row.get(0))?.collect()
}

impl Index<'_> {
    /// Returns the records with the rarest of the terms.
    pub(super) fn read(&self, wanted: &[WantedTerm]) -> rusqlite::Result<Found> {
        let passages = self.passages()?;
        let limit = (ROWS / wanted.len().max(1)).clamp(ROWS_OF_TERM.0, ROWS_OF_TERM.1);
        let prompts = range(Some(self.project), What::Prompt);
        let (mut terms, mut weights) = (Vec::new(), HashMap::new());
        let mut lists: Vec<(f64, Vec<Key>)> = Vec::new();
        for term in wanted {
            let Keys { keys, is_cut } = self.keys(&any(term), &prompts, limit)?;
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
        let sql = "SELECT count(*) FROM (SELECT 1 FROM prompts WHERE project_id = ?1 LIMIT ?2)";
        let count: i64 = self.connection.prepare_cached(sql)?.query_row((self.project, COUNTED), |row| row.get(0))?;
        Ok(count.max(1) as f64)
    }

    /// Returns the records that an expression finds, the last stored first. The session's own passages are not among them.
    fn keys(&self, expression: &str, range: &RangeInclusive<i64>, limit: usize) -> rusqlite::Result<Keys> {
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
        if self.keys(IS_NOTE, &range, 1)?.keys.is_empty() {
            return Ok(Vec::new());
        }
        let any: Vec<String> = wanted.iter().map(any).collect();
        Ok(self.keys(&format!("({}) AND {IS_NOTE}", any.join(" OR ")), &range, NOTES)?.keys)
    }

    /// Returns the prompts whose tool calls contain an identifier, with the names and their weight.
    fn called(&self, terms: &[(WantedTerm, f64)]) -> rusqlite::Result<Vec<(Key, String, f64)>> {
        let mut found = Vec::new();
        let calls = range(Some(self.project), What::Observation);
        let sql = "SELECT p.id, o.title || char(10) || o.files_read || char(10) || o.files_modified
                   FROM observations o
                   JOIN prompts p ON p.session_id = o.session_id AND p.prompt_number = o.prompt_number
                   WHERE o.id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        // Pairs of characters are not identifiers.
        let is_identifier = |term: &&(WantedTerm, f64)| !term.0.is_word && term.0.forms[0].is_ascii();
        for (term, rarity) in terms.iter().filter(is_identifier) {
            for key in self.keys(&any(term), &calls, CALLS)?.keys {
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
