//! Whether a prompt brings passages of earlier sessions by itself, without being asked.
//!
//! [`PromptQuestion::of`] decides from the text alone whether a prompt can matter at all: most cannot, and cost nothing
//! more. [`decide`] says of what was found whether it is strong enough.

use super::ordinary_words::{is_order, is_ordinary};
use super::thresholds::{Needed, NeededMeaning, THRESHOLDS};
use super::wanted::{WantedTerm, telling_terms};
use crate::terms::Language;

/// How much of a prompt is looked at, in bytes. What is asked stands at the beginning.
const LOOKED_AT: usize = 6_000;

/// How many terms are looked up, at most: each costs a query.
const MOST_TERMS: usize = 24;

/// What somebody says before an order.
const BEFORE_ORDERS: [&str; 40] = [
    "actually", "also", "and", "but", "bitte", "can", "could", "dann", "do", "first", "go", "good", "great", "hey",
    "i", "jetzt", "just", "let", "lets", "maybe", "need", "nice", "nochmal", "now", "ok", "okay", "please", "pls", "s",
    "so", "then", "to", "und", "wait", "want", "well", "would", "yes", "you", "yeah",
];

/// Words with which an order says how something is to be, near its beginning.
const WISHES: [&str; 4] = ["doit", "needs", "should", "soll"];

/// How near.
const WISH_WITHIN: usize = 6;

/// Ends of orders in scripts without spaces.
const ORDER_ENDS: [&str; 8] = ["してください", "して下さい", "お願いします", "して", "ください", "吧", "一下", "みて"];

/// Beginnings of them.
const ORDER_BEGINNINGS: [&str; 8] = ["请", "請", "把", "帮", "幫", "运行", "继续", "添加"];

/// Nouns that begin like an order: 請求書 is an invoice, 请求 a request.
const NOT_ORDER_BEGINNINGS: [&str; 4] = ["请求", "请假", "請求", "請負"];

/// Words that begin a question.
const QUESTION_WORDS: [&str; 55] = [
    "are", "can", "combien", "comment", "cuál", "cuándo", "cómo", "did", "do", "does", "doesn", "doesn't", "dónde",
    "gab", "had", "has", "hat", "hatten", "have", "how", "is", "ist", "isn", "où", "pourquoi", "quand", "quanto",
    "quel", "quelle", "qui", "quién", "qué", "shall", "should", "sind", "wann", "warum", "was", "wer", "were",
    "weshalb", "what", "when", "where", "which", "who", "whom", "whose", "why", "wie", "wieso", "wo", "woher", "wohin",
    "wurde",
];

/// Words, and beginnings of words, that ask for what was said or decided before.
const OF_THE_PAST: [&str; 54] = [
    " again?",
    "agreed",
    "already ",
    "back then",
    "before?",
    "beschlossen",
    "conclude",
    "damals",
    "decide",
    "decision",
    "did i ",
    "did it ",
    "did that",
    "did the ",
    "did they",
    "did we",
    "did you",
    "décid",
    "earlier",
    "entschieden",
    "had we",
    "haben wir",
    "hatten wir",
    "have we",
    "last month",
    "last time",
    "last week",
    "letzte woche",
    "letztes mal",
    "lo que",
    "previous",
    "remember",
    "remind me",
    "schon mal",
    "settled",
    "the other day",
    "used to",
    "was it ",
    "was that",
    "was the ",
    "was there",
    "we had",
    "we said",
    "were the ",
    "were there",
    "were we",
    "what was",
    "wie war",
    "yesterday",
    "決定",
    "決め",
    "以前",
    "前回",
    "上次",
];

/// What a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// It asks what was said or decided before.
    AsksPast,
    /// Another question.
    Question,
    /// Neither a question nor an order.
    Statement,
    /// Something is to be done.
    Order,
}

/// A prompt that earlier sessions may say something about.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptQuestion {
    /// What it is.
    pub kind: PromptKind,
    /// Its telling terms, ordinary words weighing less.
    pub terms: Vec<WantedTerm>,
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
        Some(Self { kind, terms })
    }
}

fn kind_of(text: &str) -> PromptKind {
    let lower = text[..text.floor_char_boundary(1_000)].to_lowercase();
    let words: Vec<&str> =
        lower.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).take(12).collect();
    let begin = words.iter().position(|word| !BEFORE_ORDERS.contains(word)).unwrap_or_default();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_order = is_order(word(begin), word(begin + 1));
    let asks = [word(0), word(begin)].iter().any(|word| QUESTION_WORDS.contains(word)) || lower.contains(['?', '？']);
    let of_past = OF_THE_PAST.iter().any(|words| lower.contains(words));
    // "the list should be sorted" orders, too.
    let is_wish = || words.iter().take(WISH_WITHIN).any(|word| WISHES.contains(word));
    let is_order = is_order || (!asks && (is_wish() || orders_otherwise(&lower, &words)));
    match (is_order, asks) {
        // "can you rename it?" orders, "can closures capture by reference?" asks.
        (true, _) => PromptKind::Order,
        (false, true) if of_past => PromptKind::AsksPast,
        (false, true) => PromptKind::Question,
        (false, false) if lower.contains("decide") || lower.contains("remember") => PromptKind::AsksPast,
        (false, false) => PromptKind::Statement,
    }
}

/// Returns whether a text orders something as other languages do: the verb stands at its end.
fn orders_otherwise(lower: &str, words: &[&str]) -> bool {
    let text = lower.trim_end_matches(['。', '.', '!', '！']);
    let has_infinitive = || words.last().is_some_and(|last| words.len() > 1 && last.ends_with("en"));
    ORDER_ENDS.iter().any(|end| text.ends_with(end))
        || (ORDER_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
            && !NOT_ORDER_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)))
        || (has_infinitive() && matches!(Language::of(lower), Language::German | Language::Dutch))
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
        PromptKind::Order => THRESHOLDS.order,
    };
    let has = |needed: NeededMeaning| {
        evidence.words >= needed.words
            && evidence.stands_out >= needed.stands_out
            && evidence.similarity.is_some_and(|similarity| similarity >= needed.similarity)
    };
    let is_near = kind != PromptKind::Order && (has(THRESHOLDS.meaning) || has(THRESHOLDS.meaning_alone));
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

/// Returns which passages are shown, by their places, the best first: none where none is strong enough.
///
/// `passages` are given in their order. Where any is strong by its words, those are shown that score about as well; the first
/// need not be strong itself, because a newer passage may have been put before it. What decides also orders: where the words
/// of none are enough, the most similar come first.
pub fn choose(kind: PromptKind, passages: &[(f64, Evidence)]) -> Vec<usize> {
    let verdicts: Vec<Verdict> = passages.iter().map(|(_, evidence)| decide(kind, evidence)).collect();
    let with = |verdict: Verdict| {
        let verdicts = &verdicts;
        (0..passages.len()).filter(move |place| verdicts[*place] == verdict)
    };
    let best = with(Verdict::Bring).map(|place| passages[place].0).max_by(f64::total_cmp);
    if let Some(best) = best {
        return (0..passages.len()).filter(|place| passages[*place].0 >= best * THRESHOLDS.others).collect();
    }
    let mut similar: Vec<usize> = with(Verdict::BringByMeaning).collect();
    let similarity = |place: usize| passages[place].1.similarity.unwrap_or_default();
    similar.sort_by(|a, b| similarity(*b).total_cmp(&similarity(*a)));
    similar
}
