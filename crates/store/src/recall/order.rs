//! The ranking of search results, by words and by meaning.

use std::collections::{HashMap, HashSet};

use longhaul_memory::{
    BEST_RESULTS, FIRST_RESULTS, Looker, MeaningScale, NamedDate, Subjects, WEIGHTS, Weights, keep_among_first,
};
use rusqlite::Connection;

use super::candidate::{Candidate, Ranked};
use super::expression::Strict;
use super::key::Key;
use super::search::Effort;
use crate::{RecordId, What};

/// Number of the best tool calls whose prompts are read.
const WITH_PROMPT: usize = 4;

/// Number of prompts before a decision that may discuss it. Remarks such as `continue` are in between.
const DISCUSSED_BEFORE: i64 = 4;

/// How many characters of two texts are compared for whether they say the same, first and then.
const BEGINNING_CHARS: usize = 8;
const SAME_CHARS: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// One or two words: records without them do not match.
    Words,
    /// Identifiers, paths or file names only: records with the name match.
    Names,
    /// More words: the answer may be next to the passage that has the words.
    Question,
}

/// What is asked, and how much is read for it.
type How<'a> = (Asked, &'a Effort);

/// Returns the records in order, the best first.
pub(super) fn rank(
    connection: &Connection,
    looker: &mut Looker,
    found: Vec<Candidate>,
    strict: &Strict<'_>,
    (asked, effort): How<'_>,
) -> rusqlite::Result<Vec<Ranked>> {
    let mut ranked = Ranked::all(found, looker);
    sort(&mut ranked);
    if asked != Asked::Words {
        // A search that takes every call as a result does not need their prompts.
        if !effort.takes_calls {
            add_called(connection, looker, &mut ranked, strict)?;
        }
        add_neighbours(connection, looker, &mut ranked, strict, effort)?;
    }
    Ok(arrange(ranked, looker, effort))
}

/// Orders records by the scores of their own texts and of their neighbours.
fn arrange(mut ranked: Vec<Ranked>, looker: &Looker, effort: &Effort) -> Vec<Ranked> {
    add_shares(&mut ranked);
    prefer_newer(&mut ranked);
    prefer_dates(&mut ranked, &looker.dates);
    sort(&mut ranked);
    ranked.retain(|one| one.score > 0.0 || one.one.is_selected);
    fold(&mut ranked);
    put_newer_first(&mut ranked, looker, effort.compared);
    spread(ranked)
}

fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (b.one.at, b.one.id).cmp(&(a.one.at, a.one.id))));
}

/// Adds the passages before and after the best, because an answer need not have a word of the question.
fn add_neighbours(
    connection: &Connection,
    looker: &mut Looker,
    ranked: &mut Vec<Ranked>,
    strict: &Strict<'_>,
    effort: &Effort,
) -> rusqlite::Result<()> {
    let mut known: HashSet<(i64, i64)> = ranked.iter().filter_map(|ranked| place(&ranked.one)).collect();
    let best: Vec<(i64, i64)> =
        ranked.iter().filter_map(|ranked| place(&ranked.one)).take(effort.with_neighbours).collect();
    let mut found = Vec::new();
    for (session, number) in best {
        for distance in effort.distances {
            let beside = number + distance;
            if known.insert((session, beside))
                && let Some(one) = Candidate::prompt(connection, session, beside)?
                && strict.passes(&one)
            {
                found.push(one);
            }
        }
    }
    ranked.extend(Ranked::all(found, looker));
    Ok(())
}

/// Adds the prompts for which the best tool calls were made: they need not have the words.
fn add_called(
    connection: &Connection,
    looker: &mut Looker,
    ranked: &mut Vec<Ranked>,
    strict: &Strict<'_>,
) -> rusqlite::Result<()> {
    let mut known: HashSet<(i64, i64)> = ranked.iter().filter_map(|ranked| place(&ranked.one)).collect();
    let calls = ranked.iter().filter(|ranked| ranked.one.what == What::Observation);
    let made_for: Vec<(i64, i64)> =
        calls.filter_map(|call| Some((call.one.session?, call.one.prompt_number))).take(WITH_PROMPT).collect();
    let mut found = Vec::new();
    for (session, number) in made_for {
        if known.insert((session, number))
            && let Some(one) = Candidate::prompt(connection, session, number)?
            && strict.passes(&one)
        {
            found.push(one);
        }
    }
    ranked.extend(Ranked::all(found, looker));
    Ok(())
}

/// Returns the session and the number of a passage.
fn place(one: &Candidate) -> Option<(i64, i64)> {
    one.session.filter(|_| one.what == What::Prompt).map(|session| (session, one.prompt_number))
}

/// Adds to every passage a share of the scores of its neighbours and of its tool calls.
fn add_shares(ranked: &mut [Ranked]) {
    let passages: HashMap<(i64, i64), f64> =
        ranked.iter().filter_map(|ranked| Some((place(&ranked.one)?, ranked.own))).collect();
    let mut done: HashMap<(i64, i64), f64> = HashMap::new();
    for ranked in ranked.iter().filter(|ranked| ranked.one.what == What::Observation) {
        if let Some(session) = ranked.one.session {
            let best = done.entry((session, ranked.one.prompt_number)).or_default();
            *best = best.max(ranked.own);
        }
    }
    for ranked in ranked {
        let Some((session, number)) = place(&ranked.one) else { continue };
        let beside = |number: i64| passages.get(&(session, number)).copied().unwrap_or_default();
        let share = if ranked.own > 0.0 { 1.0 } else { WEIGHTS.silent_neighbour };
        let near = WEIGHTS.neighbour * (beside(number - 1) + beside(number + 1));
        let far = WEIGHTS.second_neighbour * (beside(number - 2) + beside(number + 2));
        let discussed = (1..=DISCUSSED_BEFORE).map(|back| beside(number - back)).fold(0.0, f64::max);
        let decided = if ranked.one.decides() { WEIGHTS.decided_after * discussed } else { 0.0 };
        ranked.parts.neighbours = share * (near + far).max(decided);
        ranked.parts.calls = WEIGHTS.done_for_it * done.get(&(session, number)).copied().unwrap_or_default();
        ranked.score += ranked.parts.neighbours + ranked.parts.calls;
    }
}

fn prefer_newer(ranked: &mut [Ranked]) {
    let times = || ranked.iter().map(|ranked| ranked.one.at);
    let (Some(oldest), Some(newest)) = (times().min(), times().max()) else { return };
    let span = (newest - oldest).max(1) as f64;
    for ranked in ranked {
        let age = (newest - ranked.one.at) as f64 / span;
        ranked.parts.age = 1.0 - WEIGHTS.newer * age;
        ranked.score *= ranked.parts.age;
    }
}

/// Prefers records of a time that the query names.
fn prefer_dates(ranked: &mut [Ranked], dates: &[NamedDate]) {
    for ranked in ranked {
        let close = dates.iter().map(|date| date.closeness(ranked.one.at)).fold(0.0, f64::max);
        ranked.parts.date = 1.0 + WEIGHTS.dated * close;
        ranked.score *= ranked.parts.date;
    }
}

/// Removes records with the same content as an earlier one.
fn fold(ranked: &mut Vec<Ranked>) {
    // Few records begin alike, and only those are compared further.
    let beginnings: Vec<u64> = ranked.iter().map(|ranked| ranked.one.sameness(BEGINNING_CHARS)).collect();
    let mut having: HashMap<u64, usize> = HashMap::new();
    beginnings.iter().for_each(|beginning| *having.entry(*beginning).or_default() += 1);
    let mut beginnings = beginnings.iter();
    let mut seen = HashSet::new();
    ranked.retain(|ranked| {
        let begins_alike = beginnings.next().is_none_or(|beginning| having[beginning] > 1);
        !begins_alike || seen.insert(ranked.one.sameness(SAME_CHARS))
    });
}

/// Returns whether comparing the subjects of some records can change anything: one may overtake another, or be outdated by it.
fn may_change_places(ranked: &[Ranked]) -> bool {
    let Weights { same_answer, same_subject_answer, amended_answer, amended_subject_answer, .. } = WEIGHTS;
    let least = same_answer.min(same_subject_answer).min(amended_answer).min(amended_subject_answer);
    (1..ranked.len()).any(|later| {
        let behind = &ranked[later];
        ranked[..later].iter().filter(|before| before.one.session != behind.one.session).any(|before| {
            let may_overtake = behind.one.what != What::Observation && behind.score >= before.score * least;
            let may_be_outdated = before.one.decides() && behind.one.decides() && before.one.at > behind.one.at;
            may_overtake || may_be_outdated
        })
    })
}

/// Of two passages about the same subject that answer about equally well, puts the newer one first. `most` are
/// compared.
fn put_newer_first(ranked: &mut [Ranked], looker: &Looker, most: usize) {
    let compared = ranked.len().min(most);
    if !may_change_places(&ranked[..compared]) {
        return;
    }
    let subjects = Subjects::new(ranked[..compared].iter().map(|ranked| ranked.one.subject()));
    // The original positions.
    let mut places: Vec<usize> = (0..compared).collect();
    for later in 1..compared {
        let newer = &ranked[later];
        // The output of a tool states no decision.
        if newer.one.what == What::Observation {
            continue;
        }
        let says_so = newer.one.amends();
        let enough = |(earlier, older): (usize, &Ranked)| {
            let is_other = newer.one.at > older.one.at && newer.one.session != older.one.session;
            let coverage = if says_so { WEIGHTS.amended_coverage } else { WEIGHTS.same_coverage };
            let by_subject = newer.look.covered >= coverage * older.look.covered
                && subjects.likeness(places[earlier], places[later]) >= WEIGHTS.same_subject;
            let by_question = shared_question(older, newer, looker) >= WEIGHTS.same_question;
            match (is_other, by_subject, by_question, says_so) {
                (true, true, _, true) => Some(WEIGHTS.amended_subject_answer),
                (true, true, _, false) => Some(WEIGHTS.same_subject_answer),
                (true, false, true, true) => Some(WEIGHTS.amended_answer),
                (true, false, true, false) => Some(WEIGHTS.same_answer),
                (false, ..) | (true, false, false, _) => None,
            }
        };
        // An amendment of a session's decision also answers the question that the session began with.
        let amended: HashMap<Option<i64>, f64> = ranked[..compared]
            .iter()
            .enumerate()
            .filter(|_| says_so)
            .filter_map(|one| Some((one.1.one.session, enough(one)?)))
            .collect();
        // What few words have found answers by its meaning, and so must what replaces it.
        let is_meant = |older: &Ranked| {
            older.look.covered >= WEIGHTS.weak || newer.meant >= WEIGHTS.replaced_meaning * older.meant
        };
        let comes_first = |(earlier, older): &(usize, &Ranked)| {
            let enough = enough((*earlier, older)).or_else(|| amended.get(&older.one.session).copied());
            is_meant(older) && enough.is_some_and(|share| newer.score >= older.score * share)
        };
        // Records between them, of the same session or about another subject, do not prevent the move.
        let Some((first, _)) = ranked[..later].iter().enumerate().find(comes_first) else { continue };
        ranked[first].is_older = true;
        ranked[first..=later].rotate_right(1);
        places[first..=later].rotate_right(1);
    }
    mark_outdated(&mut ranked[..compared], looker, |a, b| subjects.likeness(places[a], places[b]));
}

/// Marks decisions that a newer one before them has replaced, even if that came first by its score.
///
/// Unless it says that something has changed, both must answer the same question: two decisions about one subject are
/// often both in force.
fn mark_outdated(ranked: &mut [Ranked], looker: &Looker, likeness: impl Fn(usize, usize) -> f64) {
    let says_so = |one: &Ranked| one.one.decides() && one.one.amends();
    let amending: Vec<bool> = ranked.iter().map(says_so).collect();
    let is_outdated = |older: usize| {
        (0..older).any(|newer| {
            let (new, old) = (&ranked[newer], &ranked[older]);
            let shared = shared_question(old, new, looker);
            let is_amended = || {
                amending[newer] && (shared >= WEIGHTS.same_question || likeness(newer, older) >= WEIGHTS.same_subject)
            };
            new.one.at > old.one.at
                && new.one.session != old.one.session
                && new.one.decides()
                && old.one.decides()
                && new.score >= old.score * WEIGHTS.same_subject_answer
                && (shared >= WEIGHTS.decided_again || is_amended())
        })
    };
    let outdated: Vec<usize> = (0..ranked.len()).filter(|older| is_outdated(*older)).collect();
    outdated.into_iter().for_each(|older| ranked[older].is_older = true);
}

/// Returns the share of the query's terms in either of two records that both have.
fn shared_question(a: &Ranked, b: &Ranked, looker: &Looker) -> f64 {
    let both: Vec<bool> = a.look.has.iter().zip(&b.look.has).map(|(a, b)| *a && *b).collect();
    let any: Vec<bool> = a.look.has.iter().zip(&b.look.has).map(|(a, b)| *a || *b).collect();
    looker.share(&both) / looker.share(&any).max(f64::MIN_POSITIVE)
}

/// Reduces the score of every further record of a session, so that other sessions are shown.
fn spread(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut counts: HashMap<Option<i64>, i32> = HashMap::new();
    let mut scored: Vec<(f64, Ranked)> = Vec::with_capacity(ranked.len());
    let mut least = f64::INFINITY;
    for one in ranked {
        let before = counts.entry(one.one.session).or_default();
        // A record that was put first for another reason stays there.
        least = least.min(one.score);
        scored.push((least * (1.0 - WEIGHTS.spread).powi(*before), one));
        *before += 1;
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, one)| one).collect()
}

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
pub(super) fn join_by_meaning(
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
