//! Finds the records that have the wanted terms, in bounded time.
//!
//! The records of a term are read from the newest on, up to a limit. Terms with fewer records select the candidates;
//! the others only rank them. Thus a common word costs no more among a million records than among a thousand.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use longhaul_memory::{
    MAX_CORRECTED_WORDS, MAX_WORDS_FOR_ALL_ERRORS, MAX_WORDS_TO_CORRECT_ONE, MIN_BEGINNING_CHARS, WantedTerm,
    spelled_like,
};
use rusqlite::Connection;

use super::expression::{Strict, any_of};
use super::index::rows;
use super::key::{Key, range, range_of_others};
use super::search::Effort;
use crate::What;
use crate::sql::Sql;

/// Percentage of candidates that need not be passages. They weigh less, and there are many more of them.
const OTHERS: usize = 40;

/// The records of a query's terms.
pub(super) struct Postings {
    /// The terms, corrected if necessary, each with its rarity. Unknown ones are included.
    pub(super) terms: Vec<(WantedTerm, f64)>,
    /// The records with any of the selecting terms, ordered by the total weight of their terms.
    pub(super) records: Vec<Key>,
    /// Unknown words, as typed.
    pub(super) unknown: Vec<String>,
}

/// The records with a term, of one class: passages, or everything else.
#[derive(Default)]
struct List {
    keys: Vec<Key>,
    is_cut: bool,
}

/// The records with a term.
///
/// Passages are read separately, because a word that tools print a thousand times may be in few conversations.
#[derive(Default)]
struct Lists {
    passages: List,
    others: List,
}

impl Lists {
    fn is_empty(&self) -> bool {
        self.passages.keys.is_empty() && self.others.keys.is_empty()
    }
}

/// Reads the records of the wanted terms.
pub(super) fn read(
    connection: &Connection,
    wanted: &[WantedTerm],
    strict: &Strict<'_>,
    records: f64,
    most: usize,
    effort: &Effort,
) -> rusqlite::Result<Postings> {
    let limit = (effort.rows / wanted.len().max(1)).clamp(effort.rows_of_term.0, effort.rows_of_term.1);
    let scope = strict.expression(None, None);
    // Most projects have none, and then no term need be looked up for them.
    let has_notes = effort.takes_calls || !rows(connection, IS_NOTE, &range_of_others(strict.project), 1)?.is_empty();
    let last = LastIds::read(connection)?;
    let index = Index { connection, strict, scope: &scope, wanted: wanted.len(), limit, last, effort, has_notes };
    let (mut terms, mut lists, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for term in wanted {
        let mut term = term.clone();
        let mut list = index.lists(&term)?;
        if list.is_empty()
            && effort.corrects
            && term.is_word
            && wanted.len() <= MAX_WORDS_TO_CORRECT_ONE
            && unknown.len() < MAX_CORRECTED_WORDS
        {
            unknown.push(term.forms[0].clone());
            list = index.correct(&mut term)?;
        }
        terms.push(term);
        lists.push(list);
    }
    // For a prompt, an unknown word is not rarer than the rarest; otherwise words that only the prompt has would decide.
    let least = if effort.takes_calls { 0.0 } else { 1.0 };
    let rarity: Vec<f64> = lists.iter().map(|list| rarity(index.having(list, records).max(least), records)).collect();
    let weights: Vec<f64> = rarity.iter().zip(&terms).map(|(rarity, term)| rarity * term.weight).collect();
    let mut passages = select(lists.iter().map(|lists| &lists.passages), &weights);
    let mut others = select(lists.iter().map(|lists| &lists.others), &weights);
    // Candidates that one class does not need go to the other.
    let for_others = (most * OTHERS / 100).max(most.saturating_sub(passages.len()));
    others.truncate(for_others);
    passages.truncate(most - others.len());
    passages.append(&mut others);
    Ok(Postings { terms: terms.into_iter().zip(rarity).collect(), records: passages, unknown })
}

/// Returns the rarity of a term with this many records.
pub(super) fn rarity(having: f64, records: f64) -> f64 {
    let records = records.max(having);
    (1.0 + (records - having + 0.5) / (having + 0.5)).ln()
}

/// Returns the records with the highest total weight of terms, the best first.
fn select<'l>(lists: impl Iterator<Item = &'l List>, weights: &[f64]) -> Vec<Key> {
    let mut order: Vec<(&List, f64)> =
        lists.zip(weights.iter().copied()).filter(|(list, _)| !list.keys.is_empty()).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let selects_any = order.iter().any(|(list, _)| !list.is_cut);
    let mut sums: HashMap<Key, f64> = HashMap::new();
    for (place, (list, weight)) in order.iter().enumerate() {
        // If every word is common, the rarest of them selects.
        let selects = !list.is_cut || (!selects_any && place == 0);
        for key in &list.keys {
            if selects {
                *sums.entry(*key).or_default() += weight;
            } else if let Some(sum) = sums.get_mut(key) {
                *sum += weight;
            }
        }
    }
    let mut best: Vec<(Key, f64)> = sums.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
    best.into_iter().map(|(key, _)| key).collect()
}

/// The newest ids, for estimating how many records a cut list leaves out.
struct LastIds {
    prompt: i64,
    observation: i64,
}

impl LastIds {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let last = |what: What| {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {}", what.table());
            connection.one(&sql, [])
        };
        Ok(Self { prompt: last(What::Prompt)?, observation: last(What::Observation)? })
    }
}

struct Index<'a> {
    connection: &'a Connection,
    strict: &'a Strict<'a>,
    scope: &'a str,
    wanted: usize,
    /// Number of rows of a class that are read for a term.
    limit: usize,
    last: LastIds,
    effort: &'a Effort,
    /// Whether there may be notes and decisions.
    has_notes: bool,
}

impl Index<'_> {
    fn lists(&self, term: &WantedTerm) -> rusqlite::Result<Lists> {
        let any = any_of(self.connection, &term.forms, term.is_prefix)?;
        let project = self.strict.project;
        let read = |is_wanted: bool, any: &str, range: RangeInclusive<i64>| match is_wanted {
            true => self.read(any, &range),
            false => Ok(List::default()),
        };
        // Pairs of characters are not identifiers.
        let is_identifier = !term.is_word && term.forms[0].is_ascii();
        let takes_calls = self.effort.takes_calls || is_identifier;
        let takes_others = (takes_calls || self.has_notes)
            && (self.strict.takes(What::Observation) || self.strict.takes(What::Summary));
        let of_others = if takes_calls { any.clone() } else { and(&any, IS_NOTE) };
        Ok(Lists {
            passages: read(self.strict.takes(What::Prompt), &any, range(project, What::Prompt))?,
            others: read(takes_others, &of_others, range_of_others(project))?,
        })
    }

    fn read(&self, any: &str, range: &RangeInclusive<i64>) -> rusqlite::Result<List> {
        let expression = self.strict.without_session(and(any, self.scope));
        let rows = rows(self.connection, &expression, range, self.limit)?;
        let is_cut = rows.len() == self.limit;
        let mut keys: Vec<Key> = rows.into_iter().map(Key::of_row).collect();
        // The parts of a record are adjacent.
        keys.dedup();
        Ok(List { keys, is_cut })
    }

    /// Returns the estimated number of records with a term.
    fn having(&self, lists: &Lists, records: f64) -> f64 {
        self.estimate(&lists.passages, self.last.prompt, records)
            + self.estimate(&lists.others, self.last.observation, records)
    }

    fn estimate(&self, list: &List, last: i64, records: f64) -> f64 {
        let read = list.keys.len() as f64;
        match (list.keys.last(), self.strict.project) {
            (Some(oldest), Some(_)) if list.is_cut => {
                // Ids grow with time, so the rows that were read cover this share of the time.
                let share = (last - oldest.id() + 1).max(1) as f64 / last.max(1) as f64;
                read / share.min(1.0)
            }
            // Across projects, rows are not ordered by time.
            (Some(_), None) if list.is_cut => (read * 2.0).max(records / 8.0),
            _ => read,
        }
    }

    /// Searches for similar words, as after a typing error, then for words with the same beginning.
    fn correct(&self, term: &mut WantedTerm) -> rusqlite::Result<Lists> {
        let [few, many] = spelled_like(&term.forms[0]);
        // Searching for hundreds of words is worthwhile only if there are few others.
        let many = if self.wanted <= MAX_WORDS_FOR_ALL_ERRORS { many } else { Vec::new() };
        for like in [few, many].into_iter().filter(|like| !like.is_empty()) {
            // All of them at once: the text shows which of them it is.
            let mut meant = term.clone();
            meant.exact = like.len();
            meant.forms = like;
            let list = self.lists(&meant)?;
            if !list.is_empty() {
                *term = meant;
                return Ok(list);
            }
        }
        // The stem is also the beginning of compounds.
        let stems = term.forms.iter().filter(|form| form.chars().count() >= MIN_BEGINNING_CHARS);
        let Some(beginning) = stems.min_by_key(|form| form.len()).cloned() else {
            return Ok(Lists::default());
        };
        term.forms = vec![beginning];
        term.exact = 1;
        term.is_prefix = true;
        self.lists(term)
    }
}

/// The expression that matches notes and decisions.
pub(super) const IS_NOTE: &str = "(\"=knote\" OR \"=kdecision\")";

/// Returns the notes and decisions of a project that were stored last, the newest first.
pub(crate) fn newest_notes(connection: &Connection, project: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let rows = rows(connection, IS_NOTE, &range(Some(project), What::Observation), most)?;
    let mut ids: Vec<i64> = rows.into_iter().map(|row| Key::of_row(row).id()).collect();
    ids.dedup();
    Ok(ids)
}

/// Joins an expression for terms with one for the scope.
pub(super) fn and(any: &str, scope: &str) -> String {
    match (any, scope) {
        (any, "") => any.to_owned(),
        ("", scope) => scope.to_owned(),
        (any, scope) => format!("({any}) AND {scope}"),
    }
}
