//! The ranking of search results, by words and by meaning.

use std::collections::{HashMap, HashSet};

use longhaul_memory::embedding::{Likeness, Question};
use longhaul_memory::{FIRST_RESULTS, Looker, NamedDate, Subjects, WEIGHTS, keep_among_first};
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
pub(super) enum QueryKind {
    /// One or two words: records without them do not match.
    Words,
    /// Identifiers, paths or file names only: records with the name match.
    Names,
    /// More words: the answer may be next to the passage that has the words.
    Question,
}

/// What kind of query it is, and how much is read for it.
type How<'a> = (QueryKind, &'a Effort);

/// Returns the records in order, the best first.
pub(super) fn rank(
    connection: &Connection,
    looker: &mut Looker,
    found: Vec<Candidate>,
    strict: &Strict<'_>,
    (kind, effort): How<'_>,
) -> rusqlite::Result<Vec<Ranked>> {
    let mut ranked = Ranked::all(found, looker);
    sort(&mut ranked);
    if kind != QueryKind::Words {
        // A search that takes every call as a result does not need their prompts.
        if !effort.takes_calls {
            add_called(connection, looker, &mut ranked, strict)?;
        }
        add_neighbours(connection, looker, &mut ranked, strict, effort)?;
    }
    let mut ranked = arrange(ranked, looker, effort);
    ranked.iter_mut().for_each(|ranked| ranked.by_words = ranked.score);
    Ok(ranked)
}

/// Orders records by the scores of their own texts and of their neighbours.
fn arrange(mut ranked: Vec<Ranked>, looker: &Looker, effort: &Effort) -> Vec<Ranked> {
    add_shares(&mut ranked);
    prefer_newer(&mut ranked);
    prefer_dates(&mut ranked, &looker.dates);
    sort(&mut ranked);
    ranked.retain(|ranked| ranked.score > 0.0 || ranked.candidate.is_selected);
    fold(&mut ranked);
    put_newer_first(&mut ranked, looker, effort.compared);
    spread(ranked)
}

fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (b.candidate.at, b.candidate.id).cmp(&(a.candidate.at, a.candidate.id)))
    });
}

/// Adds the passages before and after the best, because an answer need not have a word of the question.
fn add_neighbours(
    connection: &Connection,
    looker: &mut Looker,
    ranked: &mut Vec<Ranked>,
    strict: &Strict<'_>,
    effort: &Effort,
) -> rusqlite::Result<()> {
    let mut known: HashSet<(i64, i64)> = ranked.iter().filter_map(|ranked| place(&ranked.candidate)).collect();
    let best: Vec<(i64, i64)> =
        ranked.iter().filter_map(|ranked| place(&ranked.candidate)).take(effort.with_neighbours).collect();
    let mut found = Vec::new();
    for (session, number) in best {
        for distance in effort.distances {
            let beside = number + distance;
            if known.insert((session, beside))
                && let Some(candidate) = Candidate::prompt(connection, session, beside)?
                && strict.passes(&candidate)
            {
                found.push(candidate);
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
    let mut known: HashSet<(i64, i64)> = ranked.iter().filter_map(|ranked| place(&ranked.candidate)).collect();
    let calls = ranked.iter().filter(|ranked| ranked.candidate.what == What::Observation);
    let made_for: Vec<(i64, i64)> = calls
        .filter_map(|call| Some((call.candidate.session?, call.candidate.prompt_number)))
        .take(WITH_PROMPT)
        .collect();
    let mut found = Vec::new();
    for (session, number) in made_for {
        if known.insert((session, number))
            && let Some(candidate) = Candidate::prompt(connection, session, number)?
            && strict.passes(&candidate)
        {
            found.push(candidate);
        }
    }
    ranked.extend(Ranked::all(found, looker));
    Ok(())
}

/// Returns the session and the number of a passage.
fn place(candidate: &Candidate) -> Option<(i64, i64)> {
    candidate.session.filter(|_| candidate.what == What::Prompt).map(|session| (session, candidate.prompt_number))
}

/// Adds to every passage a share of the scores of its neighbours and of its tool calls.
fn add_shares(ranked: &mut [Ranked]) {
    let passages: HashMap<(i64, i64), f64> =
        ranked.iter().filter_map(|ranked| Some((place(&ranked.candidate)?, ranked.own))).collect();
    let mut done: HashMap<(i64, i64), f64> = HashMap::new();
    for ranked in ranked.iter().filter(|ranked| ranked.candidate.what == What::Observation) {
        if let Some(session) = ranked.candidate.session {
            let best = done.entry((session, ranked.candidate.prompt_number)).or_default();
            *best = best.max(ranked.own);
        }
    }
    for ranked in ranked {
        let Some((session, number)) = place(&ranked.candidate) else { continue };
        let beside = |number: i64| passages.get(&(session, number)).copied().unwrap_or_default();
        let share = if ranked.own > 0.0 { 1.0 } else { WEIGHTS.silent_neighbour };
        let near = WEIGHTS.neighbour * (beside(number - 1) + beside(number + 1));
        let discussed = (1..=DISCUSSED_BEFORE).map(|back| beside(number - back)).fold(0.0, f64::max);
        let decided = if ranked.candidate.decides() { WEIGHTS.decided_after * discussed } else { 0.0 };
        ranked.parts.neighbours = share * near.max(decided);
        ranked.parts.calls = WEIGHTS.done_for_it * done.get(&(session, number)).copied().unwrap_or_default();
        ranked.score += ranked.parts.neighbours + ranked.parts.calls;
    }
}

fn prefer_newer(ranked: &mut [Ranked]) {
    let times = || ranked.iter().map(|ranked| ranked.candidate.at);
    let (Some(oldest), Some(newest)) = (times().min(), times().max()) else { return };
    let span = (newest - oldest).max(1) as f64;
    for ranked in ranked {
        ranked.parts.age = 1.0 - WEIGHTS.newer * (newest - ranked.candidate.at) as f64 / span;
        ranked.score *= ranked.parts.age;
    }
}

/// Prefers records of a time that the query names.
fn prefer_dates(ranked: &mut [Ranked], dates: &[NamedDate]) {
    for ranked in ranked {
        let close = dates.iter().map(|date| date.closeness(ranked.candidate.at)).fold(0.0, f64::max);
        ranked.parts.date = 1.0 + WEIGHTS.dated * close;
        ranked.score *= ranked.parts.date;
    }
}

/// Removes records with the same content as an earlier one.
fn fold(ranked: &mut Vec<Ranked>) {
    // Few records begin alike, and only those are compared further.
    let beginnings: Vec<u64> = ranked.iter().map(|ranked| ranked.candidate.sameness(BEGINNING_CHARS)).collect();
    let mut having: HashMap<u64, usize> = HashMap::new();
    beginnings.iter().for_each(|beginning| *having.entry(*beginning).or_default() += 1);
    let mut beginnings = beginnings.iter();
    let mut seen = HashSet::new();
    ranked.retain(|ranked| {
        let begins_alike = beginnings.next().is_none_or(|beginning| having[beginning] > 1);
        !begins_alike || seen.insert(ranked.candidate.sameness(SAME_CHARS))
    });
}

/// Of two passages of different sessions that answer the same, puts the newer one first, and marks the older one.
///
/// They do if the newer one says that something has changed, and both are about the same subject: then it may be far behind. Without
/// saying so, both must have the same words of the query and answer about equally well. `most` are compared.
fn put_newer_first(ranked: &mut [Ranked], looker: &Looker, most: usize) {
    let most = most.min(ranked.len());
    let ranked = &mut ranked[..most];
    let is_newer = |newer: &Ranked, older: &Ranked| {
        newer.candidate.at > older.candidate.at && newer.candidate.session != older.candidate.session
    };
    let subjects = ranked
        .iter()
        .any(|ranked| ranked.candidate.amends())
        .then(|| Subjects::new(ranked.iter().map(|ranked| ranked.candidate.subject())));
    let are_alike =
        |a: usize, b: usize| subjects.as_ref().is_some_and(|all| all.likeness(a, b) >= WEIGHTS.same_subject);
    // The original positions.
    let mut places: Vec<usize> = (0..ranked.len()).collect();
    for later in 1..ranked.len() {
        let newer = &ranked[later];
        // The output of a tool states no decision.
        if newer.candidate.what == What::Observation {
            continue;
        }
        let says_so = newer.candidate.amends();
        let is_about_same = |earlier: usize| says_so && are_alike(places[earlier], places[later]);
        // An amendment of a session's decision also answers the question that the session began with.
        let amended: HashSet<Option<i64>> = (0..ranked.len())
            .filter(|earlier| is_newer(newer, &ranked[*earlier]) && is_about_same(*earlier))
            .map(|earlier| ranked[earlier].candidate.session)
            .collect();
        let comes_first = |older: &Ranked| {
            is_newer(newer, older)
                && if amended.contains(&older.candidate.session) {
                    newer.score >= older.score * WEIGHTS.amended_answer
                } else {
                    newer.score >= older.score * WEIGHTS.same_answer
                        && newer.candidate.decides()
                        && older.candidate.decides()
                        && shared_question(older, newer, looker) >= WEIGHTS.same_question
                }
        };
        // Records between them, of the same session or about another subject, do not prevent the move.
        let Some(first) = ranked[..later].iter().position(comes_first) else { continue };
        ranked[first].is_older = true;
        ranked[first..=later].rotate_right(1);
        places[first..=later].rotate_right(1);
    }
    mark_outdated(ranked, looker, |a, b| are_alike(places[a], places[b]));
}

/// Marks decisions that a newer one before them has replaced, even if that came first by its score.
///
/// Unless it says that something has changed, both must answer the same question: two decisions about one subject are
/// often both in force.
fn mark_outdated(ranked: &mut [Ranked], looker: &Looker, are_alike: impl Fn(usize, usize) -> bool) {
    for older in 1..ranked.len() {
        let replaces = |newer: usize| {
            let (new, old) = (&ranked[newer], &ranked[older]);
            let shared = shared_question(old, new, looker);
            new.candidate.at > old.candidate.at
                && new.candidate.session != old.candidate.session
                && new.candidate.decides()
                && old.candidate.decides()
                && (shared >= WEIGHTS.decided_again
                    || new.candidate.amends() && (shared >= WEIGHTS.same_question || are_alike(newer, older)))
        };
        ranked[older].is_older |= (0..older).any(replaces);
    }
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
    for ranked in ranked {
        let before = counts.entry(ranked.candidate.session).or_default();
        // A record that was put first for another reason stays there.
        least = least.min(ranked.score);
        scored.push((least * (1.0 - WEIGHTS.spread).powi(*before), ranked));
        *before += 1;
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, ranked)| ranked).collect()
}

/// Number of the nearest records that a search uses.
pub const NEAREST: usize = 50;

/// Number of the best records by words that are compared with the meaning of a question.
const COMPARED: usize = 25;

/// A record with this share of the query's weight has every word.
const EVERY_WORD: f64 = 0.999;

/// Number of bytes of a record that are compared.
const COMPARED_BYTES: usize = 2_400;

/// Records that are similar in meaning to a query.
#[derive(Debug, Default)]
pub struct NearRecords {
    /// The records with their similarities, the most similar first.
    pub records: Vec<(RecordId, f32)>,
    /// What orders the results.
    pub compared: Compared,
    /// Whether they are results even if words find nothing. Otherwise they only add to what words find.
    pub are_enough: bool,
}

/// What is compared with a question, to order the results of words and of meaning.
#[derive(Debug, Default)]
pub enum Compared {
    /// The texts.
    Texts(Question),
    /// The vectors, because an endpoint has computed them.
    Vectors,
    /// Nothing: the question is a longer text, which has many sentences itself. What meaning finds comes after what words find.
    #[default]
    Nothing,
}

/// Adds the records that are near in meaning to those that words have found, and orders them again.
///
/// For a question, the best of both are compared with it by their words and by their meaning. The name of a thing, and one or two
/// words, are searched for: there, what meaning finds comes after what words find.
pub(super) fn join_by_meaning(
    connection: &Connection,
    looker: &mut Looker,
    mut by_words: Vec<Ranked>,
    near: &NearRecords,
    strict: &Strict<'_>,
    (kind, effort): How<'_>,
) -> rusqlite::Result<Vec<Ranked>> {
    if near.records.is_empty() {
        return Ok(by_words);
    }
    let known: HashSet<RecordId> = by_words.iter().map(record).collect();
    let nearest = &near.records[..near.records.len().min(effort.nearest)];
    let mut found = found_by_meaning(connection, looker, nearest, strict, |record| known.contains(record))?;
    let similarities: HashMap<RecordId, f32> = nearest.iter().copied().collect();
    for ranked in by_words.iter_mut().chain(&mut found) {
        ranked.similarity = similarities.get(&record(ranked)).copied();
    }
    if kind != QueryKind::Question || matches!(near.compared, Compared::Nothing) {
        by_words.extend(found);
        return Ok(by_words);
    }
    let exact: HashSet<RecordId> =
        by_words.iter().take(FIRST_RESULTS).filter(|ranked| ranked.look.covered >= EVERY_WORD).map(record).collect();
    let mut rest = by_words.split_off(by_words.len().min(COMPARED));
    by_words.extend(found);
    for ranked in &mut by_words {
        let Likeness { whole, closest } = match &near.compared {
            Compared::Texts(question) => question.compare(&ranked.candidate.beginning(COMPARED_BYTES)),
            Compared::Vectors | Compared::Nothing => Likeness::of_vectors(ranked.similarity.unwrap_or_default()),
        };
        let likeness = f64::from(closest) + WEIGHTS.whole * f64::from(whole) + WEIGHTS.covered * ranked.look.covered;
        ranked.parts.meaning = (likeness - WEIGHTS.unrelated).max(0.0).powi(3);
        ranked.own = ranked.parts.meaning * ranked.candidate.weight();
        (ranked.score, ranked.is_older) = (ranked.own, false);
    }
    let order = arrange(by_words, looker, effort);
    let mut order = keep_among_first(order, FIRST_RESULTS, |ranked| exact.contains(&record(ranked)));
    if let (Some(last), Some(next)) = (order.last().map(|last| last.score), rest.first().map(|next| next.score)) {
        rest.iter_mut().for_each(|ranked| ranked.score *= last / next.max(f64::MIN_POSITIVE));
    }
    order.extend(rest);
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
            && let Some(candidate) = Candidate::read(connection, Key::new(0, *what, *id))?
            && strict.passes(&candidate)
        {
            found.push(candidate);
        }
    }
    Ok(Ranked::all(found, looker))
}

fn record(ranked: &Ranked) -> RecordId {
    RecordId { what: ranked.candidate.what, id: ranked.candidate.id }
}
