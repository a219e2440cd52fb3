//! Records that mean something similar, among those that words have found.

use std::collections::{HashMap, HashSet};

use longhaul_memory::{FIRST_RESULTS, Looker, MeaningScale, WEIGHTS, keep_among_first};
use rusqlite::Connection;

use super::candidate::Candidate;
use super::expression::Strict;
use super::key::Key;
use super::order::{Asked, Ranked, arrange};
use crate::RecordId;

/// How many of the nearest records a search takes.
pub const NEAREST: usize = 50;

/// A record that has so much of the query's weight has every word of it.
const EVERY_WORD: f64 = 0.999;

/// Joins the records that are near in meaning with those that words have found, and orders them anew.
///
/// Words have the first say: a first result that is not weak stays the first, and a record that has every word and is among
/// the first results stays among them. Where a word or two are asked for, meaning only adds.
pub(super) fn join(
    connection: &Connection,
    looker: &mut Looker,
    by_words: Vec<Ranked>,
    near: &[(RecordId, f32)],
    strict: &Strict<'_>,
    asked: Asked,
) -> rusqlite::Result<Vec<Ranked>> {
    if near.is_empty() {
        return Ok(by_words);
    }
    let first = by_words.iter().take(FIRST_RESULTS);
    let exact: HashSet<RecordId> = first.filter(|one| one.look.covered >= EVERY_WORD).map(record).collect();
    let answer = by_words.first().filter(|one| one.look.covered >= WEIGHTS.weak).map(record);
    let places: HashMap<RecordId, usize> =
        by_words.iter().enumerate().map(|(place, one)| (record(one), place)).collect();
    let most = |of: fn(&Ranked) -> f64| by_words.iter().map(of).fold(0.0, f64::max);
    let least = near.iter().map(|(_, similarity)| *similarity).min_by(f32::total_cmp);
    let scale =
        MeaningScale::new(most(|one| one.own), most(|one| one.look.covered), least.filter(|_| near.len() >= NEAREST));
    let mut all = by_words;
    for (RecordId { what, id }, similarity) in near.iter().filter(|(record, _)| !places.contains_key(record)) {
        // The project is part of a key, but not needed to read a record.
        if f64::from(*similarity) >= WEIGHTS.found_alone
            && let Some(one) = Candidate::read(connection, Key::new(0, *what, *id))?
            && strict.passes(&one)
        {
            all.push(Ranked::new(one, looker));
        }
    }
    let similarities: HashMap<RecordId, f32> = near.iter().copied().collect();
    for one in &mut all {
        one.similarity = similarities.get(&record(one)).copied();
        // Passages beside it get no share of this part: what stands beside a record need not mean the same.
        one.score = one.own + one.similarity.map_or(0.0, |similarity| scale.part(similarity) * one.one.weight());
        one.is_older = false;
    }
    let order = arrange(all, looker);
    if asked == Asked::Words {
        // A word or two are looked for themselves: what has them comes first, as words order it.
        let (mut with_words, rest): (Vec<Ranked>, Vec<Ranked>) =
            order.into_iter().partition(|one| places.contains_key(&record(one)));
        with_words.sort_by_key(|one| places.get(&record(one)).copied());
        with_words.extend(rest);
        return Ok(with_words);
    }
    let mut order = keep_among_first(order, |one| exact.contains(&record(one)));
    if let Some(place) = order.iter().position(|one| Some(record(one)) == answer) {
        order[..=place].rotate_right(1);
    }
    Ok(order)
}

fn record(ranked: &Ranked) -> RecordId {
    RecordId { what: ranked.one.what, id: ranked.one.id }
}
