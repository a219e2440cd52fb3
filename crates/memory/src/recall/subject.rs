//! Whether two passages are about the same subject, whatever was asked; and whether a text contains anything that was
//! not shown before, by hashes of its sentences.

use std::collections::HashSet;

use longhaul_core::hash::fnv1a;

use crate::terms::{Form, fold, is_stop_word, split};

/// Maximum number of bytes of a text of a passage that are read.
const READ: usize = 4 * 1024;

/// Minimum number of terms. With fewer, as in `yes, do that`, all texts are alike.
const FEWEST: usize = 5;

/// Number of letters that are used as the stem of a word. This is approximate, but needs no stemmer.
const STEM: usize = 6;

/// The terms of a passage's subject, as numbers in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject(Vec<u64>);

impl Subject {
    /// Returns the subject of a passage that consists of several texts.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut terms = Vec::new();
        for text in texts {
            split(&text[..text.floor_char_boundary(READ)], |piece| {
                if piece.text.len() < 2 || is_stop_word(piece.text) {
                    return;
                }
                let term = fold(piece.text);
                let stem = match piece.form {
                    Form::Word if term.is_ascii() => &term[..term.len().min(STEM)],
                    Form::Word => term.char_indices().nth(STEM).map_or(term.as_ref(), |(end, _)| &term[..end]),
                    Form::Whole | Form::Pair => term.as_ref(),
                };
                // Two terms with the same hash only make two passages slightly more similar.
                terms.push(fnv1a(stem.bytes()));
            });
        }
        terms.sort_unstable();
        terms.dedup();
        Self(terms)
    }
}

/// Subjects of passages that were found together.
#[derive(Debug)]
pub struct Subjects {
    /// The terms of each subject with their weights, in ascending order, and the sum of the weights.
    all: Vec<(Vec<(u64, f64)>, f64)>,
}

impl Subjects {
    /// Returns the subjects of passages.
    pub fn new<'s>(all: impl IntoIterator<Item = &'s Subject>) -> Self {
        let all: Vec<&Subject> = all.into_iter().collect();
        let mut terms: Vec<u64> = all.iter().flat_map(|subject| subject.0.iter().copied()).collect();
        terms.sort_unstable();
        // Each term once, with the number of subjects that have it.
        let counts: Vec<(u64, usize)> = terms.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
        // A term that two passages have gets the weight of a term that one has, because shared terms are what is
        // searched for.
        let weight = |having: usize| (1.0 + all.len() as f64 / having.max(2) as f64).ln();
        let weights: Vec<f64> = (0..=all.len()).map(weight).collect();
        let weighed = |subject: &&Subject| {
            // Both are in ascending order.
            let mut counted = counts.iter();
            let mut having = |term: u64| counted.find(|(other, _)| *other == term).map_or(1, |(_, having)| *having);
            let terms: Vec<(u64, f64)> = subject.0.iter().map(|term| (*term, weights[having(*term)])).collect();
            let sum = terms.iter().map(|(_, weight)| weight).sum();
            (terms, sum)
        };
        Self { all: all.iter().map(weighed).collect() }
    }

    /// Returns the similarity of two of them, from 0 to 1. Terms that most passages have count little.
    pub fn likeness(&self, a: usize, b: usize) -> f64 {
        let (Some((a, sum_a)), Some((b, sum_b))) = (self.all.get(a), self.all.get(b)) else { return 0.0 };
        if a.len().min(b.len()) < FEWEST {
            return 0.0;
        }
        let mut others = b.iter().peekable();
        let mut shared = 0.0;
        for (term, weight) in a {
            while others.next_if(|(other, _)| other < term).is_some() {}
            if others.peek().is_some_and(|(other, _)| other == term) {
                shared += weight;
            }
        }
        shared / (sum_a * sum_b).sqrt()
    }
}

/// Returns whether a character ends a part of a text: of a page's line, too, which joins what was asked and what came of it.
fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';' | ':' | ']' | '\n' | '→' | '。' | '！' | '？')
}

/// Shorter parts are ignored.
const SHORTEST: usize = 8;

/// Returns the hashes of a text's parts. Only letters and digits count, so that line breaks and punctuation do not
/// matter.
pub fn said_parts(text: &str) -> HashSet<u32> {
    parts(text).collect()
}

/// Returns whether all parts of a text were shown before.
pub fn is_said_already(text: &str, shown: &HashSet<u32>) -> bool {
    if shown.is_empty() {
        return false;
    }
    let mut parts = parts(text).peekable();
    parts.peek().is_some() && parts.all(|part| shown.contains(&part))
}

fn parts(text: &str) -> impl Iterator<Item = u32> {
    text.split(is_end).filter_map(|part| match part.is_ascii() {
        true => hash(part.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())),
        false => {
            let kept: String = part.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            hash(kept.bytes())
        }
    })
}

fn hash(bytes: impl Iterator<Item = u8>) -> Option<u32> {
    let mut length = 0;
    let hash = fnv1a(bytes.inspect(|_| length += 1)) as u32;
    (length >= SHORTEST).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::{Subject, Subjects, is_said_already, said_parts};

    #[test]
    fn passages_about_the_same_are_alike() {
        let texts = [
            "Decided: amounts are stored as i64 in minor units, no scale column, see docs/decisions/0004-amounts.md.",
            "Decision 0004 is amended: amounts are i64 in the currency's minor unit, with a scale column.",
            "Closures capture by value, because the language has no borrow checker and no collector.",
            "yes",
            "yes",
        ];
        let subjects = Subjects::new(&texts.map(|text| Subject::of([text])));
        assert!(subjects.likeness(0, 1) > 0.25, "{}", subjects.likeness(0, 1));
        assert!(subjects.likeness(0, 2) < 0.05, "{}", subjects.likeness(0, 2));
        assert_eq!(subjects.likeness(3, 4), 0.0, "too short to be about anything");
        assert_eq!(subjects.likeness(0, 9), 0.0, "there is no such passage");
    }

    #[test]
    fn a_passage_is_like_itself_and_half_like_half_of_it() {
        let texts = ["alpha bravo charlie delta echo", "alpha bravo charlie delta echo", "alpha bravo charlie delta"];
        let subjects = Subjects::new(&texts.map(|text| Subject::of([text])));
        assert!((subjects.likeness(0, 1) - 1.0).abs() < 1e-9, "five terms are enough");
        assert_eq!(subjects.likeness(0, 2), 0.0, "four are not");
        let halves = ["alpha bravo charlie delta echo foxtrot", "alpha bravo charlie golf hotel india"];
        let subjects = Subjects::new(&halves.map(|text| Subject::of([text])));
        assert!((subjects.likeness(0, 1) - 0.5).abs() < 1e-9, "{}", subjects.likeness(0, 1));
        assert!((subjects.likeness(1, 0) - 0.5).abs() < 1e-9, "{}", subjects.likeness(1, 0));
    }

    #[test]
    fn a_term_that_most_passages_have_counts_little() {
        let texts =
            ["shared alpha bravo charlie delta", "shared echo foxtrot golf hotel", "shared india juliett kilo lima"];
        let common = Subjects::new(&texts.map(|text| Subject::of([text])));
        let rare =
            Subjects::new(&[texts[0], texts[1], "mike november oscar papa quebec"].map(|text| Subject::of([text])));
        assert!(common.likeness(0, 1) < rare.likeness(0, 1), "{} {}", common.likeness(0, 1), rare.likeness(0, 1));
    }

    #[test]
    fn letters_alone_and_endings_are_left_out() {
        let [plural, singular] = ["a b importers", "importer c"].map(|text| Subject::of([text]));
        assert_eq!(plural, singular);
        assert_ne!(Subject::of(["ab importer"]), singular);
        assert_eq!(Subject::of(["größerem"]), Subject::of(["größeren"]));
        assert_eq!(Subject::of(["работает"]), Subject::of(["работаем"]));
        assert_ne!(Subject::of(["работает"]), Subject::of(["рабский"]));
    }

    #[test]
    fn what_a_page_quotes_is_said_already() {
        let shown = said_parts(
            "- P1 2026-01-02 why does it stall? → The exchange rates hold the lock. (#12)\nLearned: Chunks cured it!",
        );
        assert!(is_said_already("The exchange  rates hold the lock.", &shown));
        assert!(is_said_already("The exchange rates hold the lock; chunks cured it", &shown));
        assert!(!is_said_already("The exchange rates hold the lock. Rows are read in fives.", &shown));
        assert!(!is_said_already("", &shown) && !is_said_already("yes", &shown));
    }
}
