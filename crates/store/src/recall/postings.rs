//! Which records have which of the wanted terms, in bounded time.
//!
//! A term's records are read from the last stored on, up to a limit. Terms that have fewer select the candidates; the
//! others only rank them. So a common word costs no more among a million records than among a thousand.

use std::collections::HashMap;

use longhaul_memory::{WEIGHTS, WantedTerm, spelled_like};
use rusqlite::Connection;

use super::expression::Strict;
use super::key::{Key, range};

/// How many rows all terms of a query read together.
const ROWS: usize = 24_000;

/// How many of them one term reads, at least and at most.
const ROWS_OF_TERM: (usize, usize) = (300, 3_000);

/// How many words that are nowhere are corrected; each is looked up in hundreds of forms.
const MOST_CORRECTED: usize = 2;

/// A longer query is a quotation: its words are as they are.
const CORRECTED_AMONG: usize = 12;

/// A shorter word is the beginning of too many others.
const SHORTEST_BEGINNING: usize = 4;

/// What the index says of a query.
pub(super) struct Postings {
    /// The terms, corrected where that was necessary, each with its rarity. Those that are nowhere count, too.
    pub(super) terms: Vec<(WantedTerm, f64)>,
    /// The records that have any of the selecting terms, the best first by what they have together.
    pub(super) records: Vec<Key>,
    /// Words that are nowhere, as they were typed.
    pub(super) unknown: Vec<String>,
}

/// A term's records.
struct List {
    keys: Vec<Key>,
    is_cut: bool,
}

/// Reads the records of the wanted terms.
pub(super) fn read(
    connection: &Connection,
    wanted: &[WantedTerm],
    strict: &Strict<'_>,
    records: f64,
    most: usize,
) -> rusqlite::Result<Postings> {
    let scope = strict.expression(None, None);
    let range = range(strict.project, None);
    let limit = (ROWS / wanted.len().max(1)).clamp(ROWS_OF_TERM.0, ROWS_OF_TERM.1);
    let index = Index { connection, strict, scope: &scope, range };
    let (mut terms, mut lists, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for term in wanted {
        let mut term = term.clone();
        let mut list = index.list(&term, limit)?;
        if list.keys.is_empty() && term.is_word && wanted.len() <= CORRECTED_AMONG && unknown.len() < MOST_CORRECTED {
            unknown.push(term.forms[0].clone());
            list = index.correct(&mut term, limit)?;
        }
        terms.push(term);
        lists.push(list);
    }
    let rarity: Vec<f64> = lists.iter().map(|list| rarity(list, limit, records)).collect();
    let best = select(&lists, &terms, &rarity, most);
    Ok(Postings { terms: terms.into_iter().zip(rarity).collect(), records: best, unknown })
}

/// Returns how rare a term is among the records.
fn rarity(list: &List, limit: usize, records: f64) -> f64 {
    // Where the list was cut, the term has at least so many; how many more does not matter for a common word.
    let having = if list.is_cut { (limit as f64 * 2.0).max(records / 8.0) } else { list.keys.len() as f64 };
    let records = records.max(having);
    (1.0 + (records - having + 0.5) / (having + 0.5)).ln()
}

/// Returns the records whose terms weigh most together.
fn select(lists: &[List], terms: &[WantedTerm], rarity: &[f64], most: usize) -> Vec<Key> {
    let mut order: Vec<usize> = (0..lists.len()).filter(|index| !lists[*index].keys.is_empty()).collect();
    order.sort_by(|a, b| rarity[*b].total_cmp(&rarity[*a]));
    let selects_any = order.iter().any(|index| !lists[*index].is_cut);
    let mut weights: HashMap<Key, f64> = HashMap::new();
    for (place, index) in order.iter().enumerate() {
        let list = &lists[*index];
        let weight = rarity[*index] * terms[*index].weight;
        // Where every word is common, the rarest of them selects.
        let selects = !list.is_cut || (!selects_any && place == 0);
        for key in &list.keys {
            if selects {
                *weights.entry(*key).or_default() += weight;
            } else if let Some(sum) = weights.get_mut(key) {
                *sum += weight;
            }
        }
    }
    let mut best: Vec<(Key, f64)> = weights.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    best.truncate(most);
    best.into_iter().map(|(key, _)| key).collect()
}

struct Index<'a> {
    connection: &'a Connection,
    strict: &'a Strict<'a>,
    scope: &'a str,
    range: (i64, i64),
}

impl Index<'_> {
    fn list(&self, term: &WantedTerm, limit: usize) -> rusqlite::Result<List> {
        let star = if term.is_prefix { "*" } else { "" };
        let any: Vec<String> = term.forms.iter().map(|form| format!("\"{form}\"{star}")).collect();
        self.read(&any.join(" OR "), limit)
    }

    fn read(&self, any: &str, limit: usize) -> rusqlite::Result<List> {
        let keys = rows(self.connection, &self.strict.without_session(and(any, self.scope)), self.range, limit)?;
        let is_cut = keys.len() == limit;
        let mut keys: Vec<Key> = keys.into_iter().map(Key::of_row).collect();
        // The parts of a record are neighbours.
        keys.dedup();
        Ok(List { keys, is_cut })
    }

    /// Looks for words that a typing error may have made this one of, then for words that begin so.
    fn correct(&self, term: &mut WantedTerm, limit: usize) -> rusqlite::Result<List> {
        let like = spelled_like(&term.forms[0]);
        if !like.is_empty() {
            // All at once: which of them it is will be seen in the text.
            let meant =
                WantedTerm { exact: like.len(), forms: like, weight: term.weight * WEIGHTS.corrected, ..term.clone() };
            let list = self.list(&meant, limit)?;
            if !list.keys.is_empty() {
                *term = meant;
                return Ok(list);
            }
        }
        // The stem begins compounds, too.
        let stems = term.forms.iter().filter(|form| form.chars().count() >= SHORTEST_BEGINNING);
        let Some(beginning) = stems.min_by_key(|form| form.len()).cloned() else {
            return Ok(List { keys: Vec::new(), is_cut: false });
        };
        *term = WantedTerm { forms: vec![beginning], exact: 1, is_prefix: true, ..term.clone() };
        self.list(term, limit)
    }
}

/// Joins what is looked for with where.
pub(super) fn and(any: &str, scope: &str) -> String {
    match (any, scope) {
        (any, "") => any.to_owned(),
        ("", scope) => scope.to_owned(),
        (any, scope) => format!("({any}) AND {scope}"),
    }
}

/// Returns the rows that an expression finds, the last stored first.
pub(super) fn rows(
    connection: &Connection,
    expression: &str,
    (first, last): (i64, i64),
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT rowid FROM passage_terms WHERE passage_terms MATCH ?1 AND rowid BETWEEN ?2 AND ?3
               ORDER BY rowid DESC LIMIT ?4";
    connection.prepare_cached(sql)?.query_map((expression, first, last, limit as i64), |row| row.get(0))?.collect()
}
