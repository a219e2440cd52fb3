//! Decides whether passages of earlier sessions are added to a prompt.
//!
//! [`PromptQuestion::of`] decides from the text only whether a prompt can get any: its kind is a question, an order, or
//! a remark about the current work. Most cannot, and cost nothing more. [`decide`] decides whether a passage is strong
//! enough, and [`choose`] which are shown.

use std::cmp::Ordering;

use super::brought::{PROMPT_PASSAGES, REPORT_PASSAGES};
use super::ordinary_words::{begins_object, is_order, is_ordinary, is_verb_before};
use super::similarity::keep_among_first;
use super::wanted::{WantedTerm, telling_terms_of_prompt};
use super::weights::{Needed, NeededInReport, NeededMeaning, NeededWeakly, THRESHOLDS};
use crate::terms::{Language, is_stop_word};

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
    let verdicts: Vec<Verdict> = ranks.iter().map(|rank| decide(question.kind, &rank.evidence)).collect();
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
    if !question.kind.wants_answer() || !ranks.iter().any(|rank| is_weakly_related(&rank.evidence)) {
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
