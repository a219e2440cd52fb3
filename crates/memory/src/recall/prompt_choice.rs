//! Chooses the passages of earlier sessions that are added to a prompt.

use std::cmp::Ordering;

use super::brought::{PROMPT_PASSAGES, REPORT_PASSAGES};
use super::prompt::{Evidence, PromptQuestion, Verdict, decide};
use super::prompt_kind::PromptKind;
use super::similarity::keep_among_first;
use super::thresholds::{NeededInReport, NeededWeakly, THRESHOLDS};

/// Number of passages with enough words that similar ones do not replace. The third place is for a passage next to
/// them, such as a decision that amends theirs.
const KEPT: usize = 2;

/// The rank of a passage among those that were found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PromptRank {
    /// The score by which it is ordered.
    pub score: f64,
    /// The part of the score that is not from its meaning.
    pub by_words: f64,
    /// The evidence for it, with its neighbouring passages.
    pub evidence: Evidence,
    /// The evidence without them.
    pub own: Evidence,
}

impl PromptRank {
    /// Returns the rank of a passage with this score, without evidence.
    pub fn new(score: f64) -> Self {
        Self { score, ..Self::default() }
    }
}

/// A passage to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenPassage {
    /// Its index among the candidates.
    pub index: usize,
    /// Whether it is uncertain that it is about the prompt.
    pub is_weak: bool,
}

/// Returns the passages to show, the best first; empty if none is strong enough or new.
///
/// `ranks` are given in their order. `is_known` returns whether the session has been shown the passage with an index already.
pub fn choose(question: &PromptQuestion, ranks: &[PromptRank], is_known: impl Fn(usize) -> bool) -> Vec<ChosenPassage> {
    let (strong, most) = match question.is_report {
        true => (strong_for_report(question.kind, ranks), REPORT_PASSAGES),
        false => (strong(question, ranks), PROMPT_PASSAGES),
    };
    // If the session already knows the best one, its neighbours are not new either: another passage must then be strong
    // alone.
    let is_best_known = strong.first().is_some_and(|best| is_known(*best));
    let is_new = |place: &usize| !is_known(*place) && (!is_best_known || is_certain(question.kind, &ranks[*place].own));
    let new = strong.into_iter().filter(is_new).take(most);
    let chosen = |index: usize| ChosenPassage {
        index,
        is_weak: !question.is_report && !is_certain(question.kind, &ranks[index].evidence),
    };
    new.map(chosen).collect()
}

/// Returns whether a passage is certainly about a prompt, by its words or its meaning.
fn is_certain(kind: PromptKind, evidence: &Evidence) -> bool {
    matches!(decide(kind, evidence), Verdict::Bring | Verdict::BringByMeaning)
}

/// Returns the places of the passages for a longer text, the best first; none if no passage has enough of it.
///
/// Words and meaning are weighed by what each would answer: a passage is as good as its places in both orders.
fn strong_for_report(kind: PromptKind, ranks: &[PromptRank]) -> Vec<usize> {
    let NeededInReport { words, words_in_order, words_of_similar, stands_out } = THRESHOLDS.report;
    let asks = kind.wants_answer();
    let words = if asks { words } else { words_in_order };
    let is_enough = |PromptRank { own, .. }: &PromptRank| {
        own.words >= words || (asks && own.words >= words_of_similar && own.stands_out >= stands_out)
    };
    if !ranks.iter().any(is_enough) {
        return Vec::new();
    }
    let mut worth = vec![0.0; ranks.len()];
    let mut add = |score: &dyn Fn(&PromptRank) -> f64, weight: f64| {
        let mut order: Vec<usize> = (0..ranks.len()).filter(|place| score(&ranks[*place]) > 0.0).collect();
        order.sort_by(|a, b| score(&ranks[*b]).total_cmp(&score(&ranks[*a])));
        order.into_iter().enumerate().for_each(|(before, place)| worth[place] += weight / (before + 1) as f64);
    };
    add(&|rank| rank.by_words, 1.0);
    add(&|rank| rank.own.similarity.unwrap_or_default().into(), THRESHOLDS.report_meaning);
    let mut places: Vec<usize> = (0..ranks.len()).collect();
    places.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]));
    places
}

/// Returns the places of the passages that are strong enough, the best first.
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
    if !question.kind.wants_answer() || !ranks.iter().any(|one| is_weakly_related(&one.evidence)) {
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
