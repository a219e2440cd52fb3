//! Chooses the passages of earlier sessions that are added to a prompt.
//!
//! Passages that word search alone would add come first, in its order. Passages that are found by meaning are added
//! only after them, so that a model never removes a passage that is shown without it.

use std::cmp::Ordering;

use super::brought::PROMPT_PASSAGES;
use super::prompt::{Evidence, PromptQuestion, Verdict, decide};
use super::prompt_kind::PromptKind;
use super::similarity::keep_among_first;
use super::thresholds::{NeededWeakly, THRESHOLDS};

/// Number of passages with enough words that similar ones do not replace. The third place is for a passage next to
/// them, such as a decision that amends theirs.
const KEPT: usize = 2;

/// The rank of a passage in one order of the passages that were found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PromptRank {
    /// Its place in that order, from 0.
    pub place: usize,
    /// The score by which it is ordered.
    pub score: f64,
    /// The evidence for it, with its neighbouring passages.
    pub evidence: Evidence,
    /// The evidence without them.
    pub own: Evidence,
}

impl PromptRank {
    /// Returns the rank of a passage with this score at `place`, without evidence.
    pub fn new(place: usize, score: f64) -> Self {
        Self { place, score, ..Self::default() }
    }
}

/// A passage that may be added to a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PromptCandidate {
    /// Its rank by words alone; `None` if words do not find it.
    pub by_words: Option<PromptRank>,
    /// Its rank by words and meaning; `None` without a model.
    pub with_meaning: Option<PromptRank>,
}

/// What has found a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FoundBy {
    /// Its words: it is shown with or without a model.
    #[default]
    Words,
    /// Its meaning.
    Meaning,
}

/// A passage to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenPassage {
    /// Its index among the candidates.
    pub index: usize,
    /// What has found it.
    pub found_by: FoundBy,
    /// Whether it is uncertain that it is about the prompt.
    pub is_weak: bool,
}

/// Returns the passages to show, the best first; empty if none is strong enough or new.
///
/// The first ones are exactly those that would be chosen without a model. `is_known` returns whether the session has
/// been shown the passage with an index already.
pub fn choose(
    question: &PromptQuestion,
    passages: &[PromptCandidate],
    is_known: impl Fn(usize) -> bool,
) -> Vec<ChosenPassage> {
    let is_certain = |rank: Option<PromptRank>| rank.is_some_and(|rank| is_certain(question.kind, &rank.evidence));
    let chosen = |found_by: FoundBy| {
        move |index: usize| {
            let PromptCandidate { by_words, with_meaning } = passages[index];
            ChosenPassage { index, found_by, is_weak: !is_certain(by_words) && !is_certain(with_meaning) }
        }
    };
    let ranks = |rank: fn(&PromptCandidate) -> Option<PromptRank>| {
        passages.iter().enumerate().filter_map(move |(index, one)| Some((index, rank(one)?))).collect()
    };
    let by_words = strong_and_new(question, ranks(|one| one.by_words), &is_known);
    let by_words = &by_words[..by_words.len().min(PROMPT_PASSAGES)];
    let with_meaning = strong_and_new(question, ranks(|one| one.with_meaning), &is_known);
    let added = with_meaning.into_iter().filter(|index| !by_words.contains(index));
    let all = by_words.iter().copied().map(chosen(FoundBy::Words)).chain(added.map(chosen(FoundBy::Meaning)));
    all.take(PROMPT_PASSAGES).collect()
}

/// Returns the indexes of the passages that are strong enough by their ranks, and new to the session.
///
/// If the session already knows the best one, its neighbours are not new either: another passage must then be strong
/// alone.
fn strong_and_new(
    question: &PromptQuestion,
    mut ranked: Vec<(usize, PromptRank)>,
    is_known: impl Fn(usize) -> bool,
) -> Vec<usize> {
    ranked.sort_by_key(|(_, rank)| rank.place);
    let (indexes, ranks): (Vec<usize>, Vec<PromptRank>) = ranked.into_iter().unzip();
    let strong = strong(question, &ranks);
    let is_best_known = strong.first().is_some_and(|best| is_known(indexes[*best]));
    let is_new =
        |place: &usize| !is_known(indexes[*place]) && (!is_best_known || is_certain(question.kind, &ranks[*place].own));
    strong.into_iter().filter(is_new).map(|place| indexes[place]).collect()
}

/// Returns whether a passage is certainly about a prompt, by its words or its meaning.
fn is_certain(kind: PromptKind, evidence: &Evidence) -> bool {
    matches!(decide(kind, evidence), Verdict::Bring | Verdict::BringByMeaning)
}

/// Returns the places of the passages that are strong enough, the best first. `ranks` are given in their order.
fn strong(question: &PromptQuestion, ranks: &[PromptRank]) -> Vec<usize> {
    let verdicts: Vec<Verdict> = ranks.iter().map(|one| decide(question.kind, &one.evidence)).collect();
    let strong = (0..ranks.len()).filter(|place| verdicts[*place] == Verdict::Bring);
    match strong.map(|place| ranks[place].score).max_by(f64::total_cmp) {
        Some(best) => with_enough_words(question.kind, ranks, best),
        None => with_few_words(question, ranks, &verdicts),
    }
}

/// Returns the passages that score about as well as the best of those with enough words.
///
/// A passage before one of them is shown as well, even with few words: it was placed there because it is newer and
/// amends it.
fn with_enough_words(kind: PromptKind, ranks: &[PromptRank], best: f64) -> Vec<usize> {
    let is_strong = |place: &usize| decide(kind, &ranks[*place].own) == Verdict::Bring;
    let kept: Vec<usize> = (0..ranks.len()).filter(is_strong).take(KEPT).collect();
    let order = keep_among_first((0..ranks.len()).collect(), PROMPT_PASSAGES, |place| kept.contains(place));
    let is_good = |place: &usize| ranks[*place].score >= best * THRESHOLDS.others;
    let (first, rest) = order.split_at(order.len().min(PROMPT_PASSAGES));
    let shown = first.iter().rposition(is_good).map_or(0, |last| last + 1);
    first[..shown].iter().chain(rest.iter().filter(|place| is_good(place))).copied().collect()
}

/// Returns the passages for a prompt of whose words no passage has enough.
///
/// A prompt that gets uncertain passages gets the first one, and then the most similar ones: if words do not decide, these
/// are the best guesses. A second guess by words alone is no better than chance.
fn with_few_words(question: &PromptQuestion, ranks: &[PromptRank], verdicts: &[Verdict]) -> Vec<usize> {
    let similarity = |place: usize| ranks[place].evidence.similarity;
    if !question.brings_weak || !ranks.iter().any(|one| is_weakly_related(&one.evidence)) {
        let is_similar = |place: &usize| verdicts[*place] == Verdict::BringByMeaning;
        let mut places: Vec<usize> = (0..ranks.len()).filter(is_similar).collect();
        places.sort_by(|a, b| most_similar_first(similarity(*a), similarity(*b)));
        return places;
    }
    let mut others: Vec<usize> = (1..ranks.len()).filter(|place| similarity(*place).is_some()).collect();
    others.sort_by(|a, b| most_similar_first(similarity(*a), similarity(*b)));
    others.insert(0, 0);
    others
}

fn most_similar_first(a: Option<f32>, b: Option<f32>) -> Ordering {
    b.unwrap_or_default().total_cmp(&a.unwrap_or_default())
}

fn is_weakly_related(evidence: &Evidence) -> bool {
    let NeededWeakly { words, covered, similarity, stands_out } = THRESHOLDS.weak;
    let has_words = evidence.words >= words && evidence.covered >= covered;
    has_words || (evidence.stands_out >= stands_out && evidence.similarity.is_some_and(|found| found >= similarity))
}
