//! Records that mean something similar, among those that words have found.

use std::collections::{HashMap, HashSet};

use longhaul_memory::{FIRST_RESULTS, Looker, MeaningScale, keep_among_first};
use rusqlite::Connection;

use super::candidate::Candidate;
use super::expression::Strict;
use super::key::Key;
use super::order::{Ranked, arrange};
use crate::RecordId;

/// How many of the nearest records a search takes.
pub const NEAREST: usize = 50;

/// A record that has so much of the query's weight has every word of it.
const EVERY_WORD: f64 = 0.999;

/// Joins the records that are near in meaning with those that words have found, and orders them anew.
///
/// A record that has every word and is among the first results by words stays among the first results.
pub(super) fn join(
    connection: &Connection,
    looker: &mut Looker,
    by_words: Vec<Ranked>,
    near: &[(RecordId, f32)],
    strict: &Strict<'_>,
) -> rusqlite::Result<Vec<Ranked>> {
    if near.is_empty() {
        return Ok(by_words);
    }
    let first = by_words.iter().take(FIRST_RESULTS);
    let exact: HashSet<RecordId> = first.filter(|one| one.look.covered >= EVERY_WORD).map(record).collect();
    let known: HashSet<RecordId> = by_words.iter().map(record).collect();
    let most = |of: fn(&Ranked) -> f64| by_words.iter().map(of).fold(0.0, f64::max);
    let least = near.iter().map(|(_, similarity)| *similarity).min_by(f32::total_cmp);
    let scale =
        MeaningScale::new(most(|one| one.own), most(|one| one.look.covered), least.filter(|_| near.len() >= NEAREST));
    let mut all = by_words;
    for (RecordId { what, id }, similarity) in near.iter().filter(|(record, _)| !known.contains(record)) {
        // The project is part of a key, but not needed to read a record.
        if scale.part(*similarity) > 0.0
            && let Some(one) = Candidate::read(connection, Key::new(0, *what, *id))?
            && strict.passes(&one)
        {
            all.push(Ranked::new(one, looker));
        }
    }
    let similarities: HashMap<RecordId, f32> = near.iter().copied().collect();
    for one in &mut all {
        one.similarity = similarities.get(&record(one)).copied();
        one.own += one.similarity.map_or(0.0, |similarity| scale.part(similarity) * one.one.weight());
        one.score = one.own;
        one.is_older = false;
    }
    Ok(keep_among_first(arrange(all, looker), |one| exact.contains(&record(one))))
}

fn record(ranked: &Ranked) -> RecordId {
    RecordId { what: ranked.one.what, id: ranked.one.id }
}
