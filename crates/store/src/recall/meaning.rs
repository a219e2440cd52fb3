//! Adds records that are similar in meaning to those that words have found.

use std::collections::{HashMap, HashSet};

use longhaul_memory::{BEST_RESULTS, FIRST_RESULTS, Looker, MeaningScale, WEIGHTS, keep_among_first};
use rusqlite::Connection;

use super::candidate::Candidate;
use super::expression::Strict;
use super::key::Key;
use super::order::{Asked, How, arrange};
use super::ranked::Ranked;
use crate::RecordId;

/// Number of the nearest records that a search uses.
pub const NEAREST: usize = 50;

/// Records that are similar in meaning to a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NearRecords {
    /// The records with their similarities, the most similar first.
    pub records: Vec<(RecordId, f32)>,
    /// How close their closest sentences are to the query, in the same order; empty where only vectors were compared.
    pub closeness: Vec<f32>,
    /// Whether they are results even if words find nothing. Otherwise they only add to what words find.
    pub are_enough: bool,
}

/// A record with this share of the query's weight has every word.
const EVERY_WORD: f64 = 0.999;

/// Adds the records that are near in meaning to those that words have found, and orders them again.
///
/// Words take precedence: a first result that is not weak stays the first, a record with most of the query stays among
/// the first five, and one with every word among the first ten. For a query of names, the first five stay as they are;
/// for a query of one or two words, meaning only adds results.
pub(super) fn join(
    connection: &Connection,
    looker: &mut Looker,
    by_words: Vec<Ranked>,
    NearRecords { records: near, closeness, .. }: &NearRecords,
    strict: &Strict<'_>,
    (asked, effort): How<'_>,
) -> rusqlite::Result<Vec<Ranked>> {
    if near.is_empty() {
        return Ok(by_words);
    }
    let first = |results: usize, covered: f64| -> HashSet<RecordId> {
        by_words.iter().take(results).filter(|one| one.look.covered >= covered).map(record).collect()
    };
    let exact = first(FIRST_RESULTS, EVERY_WORD);
    let best = first(BEST_RESULTS, WEIGHTS.most);
    let answer = by_words.first().filter(|one| one.look.covered >= WEIGHTS.weak).map(record);
    let places: HashMap<RecordId, usize> =
        by_words.iter().enumerate().map(|(place, one)| (record(one), place)).collect();
    let most = |of: fn(&Ranked) -> f64| by_words.iter().map(of).fold(0.0, f64::max);
    let by_sentences = !closeness.is_empty();
    let closeness: HashMap<RecordId, f32> = match by_sentences {
        false => near.iter().copied().collect(),
        true => near.iter().zip(closeness).map(|((record, _), closeness)| (*record, *closeness)).collect(),
    };
    let least = closeness.values().copied().min_by(f32::total_cmp);
    let scale = MeaningScale::new(
        most(|one| one.own),
        most(|one| one.look.covered),
        least.filter(|_| near.len() >= NEAREST),
        by_sentences,
    );
    let near = &near[..near.len().min(effort.nearest)];
    let mut all = by_words;
    all.extend(found_by_meaning(connection, looker, near, strict, |record| places.contains_key(record))?);
    let similarities: HashMap<RecordId, f32> = near.iter().copied().collect();
    for one in &mut all {
        one.similarity = similarities.get(&record(one)).copied();
        // Neighbouring passages get no share of this part, because they need not have the same meaning.
        let close = one.similarity.and_then(|_| closeness.get(&record(one)).copied()).unwrap_or_default();
        one.meant = scale.above(close);
        one.parts.meaning = scale.part(close) * one.one.weight();
        one.score = one.own + one.parts.meaning;
        one.is_older = false;
    }
    let order = arrange(all, looker, effort);
    // The results that stay where words have placed them.
    let fixed = match asked {
        Asked::Words => usize::MAX,
        Asked::Names => BEST_RESULTS,
        Asked::Question => 0,
    };
    let place = |one: &Ranked| places.get(&record(one)).copied().filter(|place| *place < fixed);
    let (mut order, rest): (Vec<Ranked>, Vec<Ranked>) = order.into_iter().partition(|one| place(one).is_some());
    order.sort_by_key(place);
    order.extend(rest);
    if fixed > 0 {
        return Ok(order);
    }
    let order = keep_among_first(order, FIRST_RESULTS, |one| exact.contains(&record(one)));
    let mut order = keep_among_first(order, BEST_RESULTS, |one| best.contains(&record(one)));
    if let Some(place) = order.iter().position(|one| Some(record(one)) == answer) {
        order[..=place].rotate_right(1);
    }
    Ok(order)
}

/// Reads the records that no word has found and that are near enough to be found by meaning alone.
fn found_by_meaning(
    connection: &Connection,
    looker: &mut Looker,
    near: &[(RecordId, f32)],
    strict: &Strict<'_>,
    is_known: impl Fn(&RecordId) -> bool,
) -> rusqlite::Result<Vec<Ranked>> {
    let mut found = Vec::new();
    for (RecordId { what, id }, similarity) in near.iter().filter(|(record, _)| !is_known(record)) {
        // The project is part of a key, but is not needed to read a record.
        if f64::from(*similarity) >= WEIGHTS.found_alone
            && let Some(one) = Candidate::read(connection, Key::new(0, *what, *id))?
            && strict.passes(&one)
        {
            found.push(one);
        }
    }
    Ok(Ranked::all(found, looker))
}

fn record(ranked: &Ranked) -> RecordId {
    RecordId { what: ranked.one.what, id: ranked.one.id }
}
