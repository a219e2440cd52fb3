//! Decides whether passages of earlier sessions are added to a prompt.
//!
//! [`PromptQuestion::of`] decides from the text only whether a prompt can get any. Most cannot, and cost nothing more.
//! [`decide`] decides whether a passage is strong enough, and [`choose`](super::choose) which are shown.

use super::ordinary_words::is_ordinary;
use super::prompt_kind::{PromptKind, is_short, kind_of};
use super::thresholds::{Needed, NeededMeaning, THRESHOLDS};
use super::wanted::{WantedTerm, telling_terms_of_prompt};

/// Maximum number of bytes of a prompt that are read. The question is usually at the beginning.
const LOOKED_AT: usize = 6_000;

/// Maximum number of terms that are searched for. Each costs a query.
const MOST_TERMS: usize = 24;

/// A prompt for which earlier sessions may have passages.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptQuestion {
    /// The kind of the prompt.
    pub kind: PromptKind,
    /// Its significant terms. Ordinary words weigh less.
    pub terms: Vec<WantedTerm>,
    /// Whether it is a longer text, such as a bug report or a pasted error: most of its words are not about its subject.
    pub is_report: bool,
}

impl PromptQuestion {
    /// Returns the question of a prompt; `None` if it gets no passages: a command, or too few significant words.
    pub fn of(prompt: &str) -> Option<Self> {
        let text = prompt[..prompt.floor_char_boundary(LOOKED_AT)].trim();
        if text.starts_with(['/', '!', '#']) {
            return None;
        }
        let kind = kind_of(text);
        let is_report = !is_short(text);
        let is_order = kind == PromptKind::Order && !is_report;
        let mut terms = telling_terms_of_prompt(text);
        // A character on its own, in a script without spaces, says little, and every pair that begins with it would match.
        terms.retain(|term| !term.is_prefix);
        if is_order {
            // A file in an order names the place of the work, not the subject.
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
        let needed = if is_order { THRESHOLDS.telling_in_order } else { THRESHOLDS.telling };
        if telling < needed {
            return None;
        }
        if terms.len() > MOST_TERMS {
            // A stable sort: of equal terms, the first in the text comes first.
            let says =
                |term: &WantedTerm| (term.weight * 10.0) as u32 * 16 + term.forms[0].chars().count().min(12) as u32;
            terms.sort_by_key(|term| std::cmp::Reverse(says(term)));
            terms.truncate(MOST_TERMS);
        }
        Some(Self { kind, terms, is_report })
    }
}

/// The evidence that a passage answers a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// The words of the prompt that it has; see [`Needed::words`].
    pub words: f64,
    /// The share of the prompt that it has.
    pub covered: f64,
    /// The share that it has close together.
    pub near: f64,
    /// The similarity of its meaning to the prompt's, if there is a model.
    pub similarity: Option<f32>,
    /// How much more similar it is than an unrelated passage.
    pub stands_out: f32,
}

/// Whether a passage is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is shown because of its words.
    Bring,
    /// It is shown because of its meaning.
    BringByMeaning,
    /// It has too few significant words.
    FewWords,
    /// It covers too little of the prompt.
    LittleCovered,
    /// It has the words, but not close together.
    Scattered,
}

/// Decides whether a passage is strong enough to be added to a prompt.
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
