//! Whether a prompt brings passages of earlier sessions by itself, without being asked.
//!
//! [`PromptQuestion::of`] decides from the text alone whether a prompt can matter at all: most cannot, and cost nothing
//! more. [`decide`] says of what was found whether it is strong enough.

use super::brought::MOST;
use super::ordinary_words::is_ordinary;
use super::prompt_kind::{PromptKind, is_short, kind_of};
use super::similarity::keep_among_first;
use super::thresholds::{Needed, NeededMeaning, NeededWeakly, THRESHOLDS};
use super::wanted::{WantedTerm, telling_terms};

/// How much of a prompt is looked at, in bytes. What is asked stands at the beginning.
const LOOKED_AT: usize = 6_000;

/// How many terms are looked up, at most: each costs a query.
const MOST_TERMS: usize = 24;

/// How many passages that are strong by their own words are kept from being pushed out by similar ones. The third place is for
/// what answers beside them, such as a decision that amends theirs.
const KEPT: usize = 2;

/// A prompt that earlier sessions may say something about.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptQuestion {
    /// What it is.
    pub kind: PromptKind,
    /// Its telling terms, ordinary words weighing less.
    pub terms: Vec<WantedTerm>,
    /// Whether it brings the best passages also where they are only probably about it.
    pub brings_weak: bool,
}

impl PromptQuestion {
    /// Returns what a prompt asks for; `None` where it cannot matter: a command, too few telling words.
    pub fn of(prompt: &str) -> Option<Self> {
        let text = prompt[..prompt.floor_char_boundary(LOOKED_AT)].trim();
        if text.starts_with(['/', '!', '#']) {
            return None;
        }
        let kind = kind_of(text);
        let mut terms = telling_terms(text);
        if kind == PromptKind::Order {
            // An order names a file to say where something is to be done, and not what it asks for.
            terms.retain(|term| term.is_word && term.weight >= 1.0);
        }
        let mut telling = 0;
        for term in &mut terms {
            if is_ordinary(&term.forms[0]) {
                term.weight *= THRESHOLDS.ordinary;
            } else {
                telling += 1;
            }
        }
        let needed = if kind == PromptKind::Order { THRESHOLDS.telling_in_order } else { THRESHOLDS.telling };
        if telling < needed {
            return None;
        }
        if terms.len() > MOST_TERMS {
            // A stable sort: of equals, what was written first.
            let says =
                |term: &WantedTerm| (term.weight * 10.0) as u32 * 16 + term.forms[0].chars().count().min(12) as u32;
            terms.sort_by_key(|term| std::cmp::Reverse(says(term)));
            terms.truncate(MOST_TERMS);
        }
        Some(Self { kind, terms, brings_weak: kind.wants_answer() && is_short(text) })
    }
}

/// What there is for a passage to answer a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evidence {
    /// Words that it has of the prompt; see [`Needed::words`].
    pub words: f64,
    /// The share of what the prompt asks for that it has.
    pub covered: f64,
    /// The share that it has in one place.
    pub near: f64,
    /// How similar its meaning is to the prompt's, where a model says so.
    pub similarity: Option<f32>,
    /// How much more similar it is than what has nothing to do with the prompt.
    pub stands_out: f32,
}

/// Whether what was found is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is, because of its words.
    Bring,
    /// It is, because of its meaning.
    BringByMeaning,
    /// Too few telling words are there.
    FewWords,
    /// Too little of the prompt is covered.
    LittleCovered,
    /// The words are there, but apart from each other.
    Scattered,
}

/// Decides whether a passage is strong enough to be shown with a prompt that did not ask for it.
pub fn decide(kind: PromptKind, evidence: &Evidence) -> Verdict {
    let Needed { words, covered, near, enough } = match kind {
        PromptKind::AsksPast => THRESHOLDS.asks_past,
        PromptKind::Question => THRESHOLDS.question,
        PromptKind::Statement => THRESHOLDS.statement,
        PromptKind::AtHand | PromptKind::Order => THRESHOLDS.order,
    };
    let has = |needed: NeededMeaning| {
        evidence.words >= needed.words
            && evidence.stands_out >= needed.stands_out
            && evidence.similarity.is_some_and(|similarity| similarity >= needed.similarity)
    };
    let is_near = kind.wants_answer() && (has(THRESHOLDS.meaning) || has(THRESHOLDS.meaning_alone));
    let by_words = if evidence.words >= enough {
        Verdict::Bring
    } else if evidence.words < words {
        Verdict::FewWords
    } else if evidence.covered < covered {
        Verdict::LittleCovered
    } else if evidence.near < near {
        Verdict::Scattered
    } else {
        Verdict::Bring
    };
    if by_words != Verdict::Bring && is_near { Verdict::BringByMeaning } else { by_words }
}

/// A passage that may be shown with a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PromptCandidate {
    /// What it is ordered by.
    pub score: f64,
    /// What there is for it to answer the prompt, with the passages beside it.
    pub evidence: Evidence,
    /// The same without them.
    pub own: Evidence,
}

/// Returns which passages are shown, by their places, the best first: none where none is strong enough.
///
/// `passages` are given in their order.
pub fn choose(question: &PromptQuestion, passages: &[PromptCandidate]) -> Vec<usize> {
    let verdicts: Vec<Verdict> = passages.iter().map(|one| decide(question.kind, &one.evidence)).collect();
    let strong = (0..passages.len()).filter(|place| verdicts[*place] == Verdict::Bring);
    match strong.map(|place| passages[place].score).max_by(f64::total_cmp) {
        Some(best) => by_words(question.kind, passages, best),
        None => by_meaning(question, passages, &verdicts),
    }
}

/// Returns the passages that score about as well as the best of those that are strong by their words.
///
/// What stands before one of them is shown, too, however little it has: it was put there because it is newer, and amends it.
fn by_words(kind: PromptKind, passages: &[PromptCandidate], best: f64) -> Vec<usize> {
    let is_strong = |place: &usize| decide(kind, &passages[*place].own) == Verdict::Bring;
    let kept: Vec<usize> = (0..passages.len()).filter(is_strong).take(KEPT).collect();
    let order = keep_among_first((0..passages.len()).collect(), MOST, |place| kept.contains(place));
    let is_good = |place: &usize| passages[*place].score >= best * THRESHOLDS.others;
    let (first, rest) = order.split_at(order.len().min(MOST));
    let shown = first.iter().rposition(is_good).map_or(0, |last| last + 1);
    first[..shown].iter().chain(rest.iter().filter(|place| is_good(place))).copied().collect()
}

/// Returns the passages for a prompt whose words no passage has enough of.
///
/// A prompt that brings uncertain passages gets the first one, which words and meaning together have found, and then the most
/// similar: where words decide nothing, these are the two best guesses.
fn by_meaning(question: &PromptQuestion, passages: &[PromptCandidate], verdicts: &[Verdict]) -> Vec<usize> {
    let is_similar = |place: &usize| verdicts[*place] == Verdict::BringByMeaning;
    let similarity = |place: usize| passages[place].evidence.similarity.unwrap_or_default();
    let brings_weak = question.brings_weak && passages.iter().any(|one| is_weakly_related(&one.evidence));
    let mut places: Vec<usize> = (0..passages.len()).filter(|place| brings_weak || is_similar(place)).collect();
    let by_order = usize::from(brings_weak).min(places.len());
    places[by_order..].sort_by(|a, b| similarity(*b).total_cmp(&similarity(*a)));
    places
}

fn is_weakly_related(evidence: &Evidence) -> bool {
    let NeededWeakly { words, covered, similarity, stands_out } = THRESHOLDS.weak;
    let has_words = evidence.words >= words && evidence.covered >= covered;
    has_words || (evidence.stands_out >= stands_out && evidence.similarity.is_some_and(|found| found >= similarity))
}
