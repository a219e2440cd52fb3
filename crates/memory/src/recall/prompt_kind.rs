//! The kind of a prompt: a question, an order, or a remark about the current work.

use super::ordinary_words::{begins_object, is_order, is_verb_before};
use crate::terms::{Language, is_stop_word};

/// Words that may precede an order.
const BEFORE_ORDERS: [&str; 41] = [
    "actually", "also", "and", "but", "bitte", "can", "could", "dann", "do", "first", "go", "good", "great", "hey",
    "i", "jetzt", "just", "let", "let's", "lets", "maybe", "need", "nice", "nochmal", "now", "ok", "okay", "please",
    "pls", "s", "so", "then", "to", "und", "wait", "want", "well", "would", "yes", "you", "yeah",
];

/// Words near the beginning that make a sentence an order: "the list should be sorted".
const WISHES: [&str; 4] = ["doit", "needs", "should", "soll"];

/// Words that begin a wish or a prohibition: "don't touch the parser".
const WISH_BEGINNINGS: [&str; 6] = ["don't", "dont", "i'd", "let", "let's", "lets"];

/// Maximum position of [`WISHES`], in words.
const WISH_WITHIN: usize = 6;

/// Words near the beginning that refer to this conversation, and not to an earlier session.
const AT_HAND: [&str; 14] = [
    "dies", "diese", "dieser", "dieses", "du", "it", "it's", "these", "this", "you", "you're", "you've", "your",
    "yours",
];

/// Maximum position of [`AT_HAND`], in words.
const AT_HAND_WITHIN: usize = 3;

/// Words that begin a reaction to the last reply.
const REACTIONS: [&str; 7] = ["danke", "nope", "oops", "sorry", "still", "thank", "thanks"];

/// Words that begin such a reaction if a comma or a full stop follows.
const SHORT_REACTIONS: [&str; 10] = ["good", "great", "hm", "hmm", "ja", "nein", "nice", "no", "perfect", "yes"];

/// Maximum number of words of a short prompt, which is only a question or a topic.
const SHORT: usize = 24;

/// Ends of orders in scripts without spaces.
const ORDER_ENDS: [&str; 8] = ["してください", "して下さい", "お願いします", "して", "ください", "吧", "一下", "みて"];

/// Beginnings of orders in scripts without spaces.
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

/// The kind of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptKind {
    /// It asks what was said or decided before.
    AsksPast,
    /// Another question.
    Question,
    /// Neither a question nor an order.
    Statement,
    /// A question or remark about the current work: `is this thread safe?`.
    AtHand,
    /// An order.
    Order,
}

impl PromptKind {
    /// Returns whether prompts of this kind ask for something that an earlier session may contain.
    pub fn wants_answer(self) -> bool {
        match self {
            Self::AsksPast | Self::Question | Self::Statement => true,
            Self::AtHand | Self::Order => false,
        }
    }
}

/// Returns whether a prompt is one line of a few words, which is only a question or a topic.
///
/// Every passage has some words of a longer text, or of one with pasted text, by chance.
pub fn is_short(text: &str) -> bool {
    !text.trim().contains('\n') && text.split_whitespace().nth(SHORT).is_none()
}

/// Returns the kind of a prompt.
pub(super) fn kind_of(text: &str) -> PromptKind {
    let lower = text[..text.floor_char_boundary(1_000)].to_lowercase();
    let words: Vec<&str> =
        lower.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).take(12).collect();
    let begin = words.iter().position(|word| !BEFORE_ORDERS.contains(word)).unwrap_or_default();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_order = is_order(word(begin), word(begin + 1));
    let asks = [word(0), word(begin)].iter().any(|word| QUESTION_WORDS.contains(word)) || lower.contains(['?', '？']);
    let of_past = OF_THE_PAST.iter().any(|words| lower.contains(words));
    // "the list should be sorted" is an order as well.
    let is_wish =
        || WISH_BEGINNINGS.contains(&word(0)) || words.iter().take(WISH_WITHIN).any(|word| WISHES.contains(word));
    let has_verb_first = || begins_with_verb(&lower, word(begin), word(begin + 1));
    let is_order = is_order || (!asks && (is_wish() || has_verb_first()));
    // At the end of a longer text, an order is about what the text reports: "… have a look".
    let is_order = is_order || (is_short(text) && !asks && orders_otherwise(&lower, &words));
    let is_order = is_order || (is_short(text) && !of_past && orders_later(&lower, asks));
    match (is_order, asks) {
        // "can you rename it?" is an order, "can closures capture by reference?" is a question.
        (true, _) => PromptKind::Order,
        (false, true) if of_past => PromptKind::AsksPast,
        (false, false) if lower.contains("decide") || lower.contains("remember") => PromptKind::AsksPast,
        (false, _) if is_at_hand(&lower, &words) => PromptKind::AtHand,
        (false, true) => PromptKind::Question,
        (false, false) => PromptKind::Statement,
    }
}

/// Returns whether a text begins like an order, with a verb that is in no list: "connect the boiler".
///
/// A topic begins with a noun, or with a participle: "indexed a column", "erasing the account".
fn begins_with_verb(lower: &str, first: &str, second: &str) -> bool {
    let goes_on = || lower.split_whitespace().any(|raw| raw == first);
    begins_object(second)
        && first.bytes().all(|byte| byte.is_ascii_lowercase())
        && !["ed", "ing", "s"].iter().any(|ending| first.ends_with(ending))
        && !is_stop_word(first)
        && goes_on()
}

/// Returns whether a text is about the current work.
fn is_at_hand(lower: &str, words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    let is_set_off = || lower.split_whitespace().next().is_some_and(|raw| raw.ends_with([',', '.', '!']));
    REACTIONS.contains(&first)
        || (SHORT_REACTIONS.contains(&first) && is_set_off())
        || is_short(lower) && words.iter().take(AT_HAND_WITHIN).any(|word| AT_HAND.contains(word))
}

/// Returns whether an order follows a remark or a question: "the test is flaky, run it again".
fn orders_later(lower: &str, asks: bool) -> bool {
    let ends_part = |c: char| matches!(c, ',' | ';' | '\n');
    let rest = match lower.rsplit_once(['?', '？']) {
        Some((_, after)) => after,
        // "which value is used, set in the file" is not an order.
        None if asks => return false,
        None => lower.find(|c: char| ends_part(c) || c == '.').map_or("", |end| &lower[end + 1..]),
    };
    rest.split(ends_part).flat_map(|part| part.split(". ")).any(|part| {
        let words = part.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let mut words = words.skip_while(|word| BEFORE_ORDERS.contains(word));
        is_verb_before(words.next().unwrap_or_default(), words.next().unwrap_or_default())
    })
}

/// Returns whether a text is an order in a language with the verb at the end.
fn orders_otherwise(lower: &str, words: &[&str]) -> bool {
    let text = lower.trim_end_matches(['。', '.', '!', '！']);
    let has_infinitive = || words.last().is_some_and(|last| words.len() > 1 && last.ends_with("en"));
    ORDER_ENDS.iter().any(|end| text.ends_with(end))
        || (ORDER_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
            && !NOT_ORDER_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)))
        || (has_infinitive() && matches!(Language::of(lower), Language::German | Language::Dutch))
}
