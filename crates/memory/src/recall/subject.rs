//! Whether two passages are about the same subject, whatever was asked.

use std::collections::{HashMap, HashSet};

use crate::terms::{Form, Language, fold, is_stop_word, split};

/// How much of a passage is read, in bytes.
const READ: usize = 8 * 1024;

/// Fewer terms than this say nothing: `yes, do that` is like any other such answer.
const FEWEST: usize = 5;

/// The terms of a passage that say what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject(HashSet<String>);

impl Subject {
    /// Returns the subject of a passage that consists of some texts.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut terms = HashSet::new();
        for text in texts {
            let text = &text[..text.floor_char_boundary(READ)];
            let language = Language::of(text);
            split(text, |piece| {
                if piece.text.chars().count() < 2 || is_stop_word(piece.text) {
                    return;
                }
                let stem = match piece.form {
                    Form::Word => fold(&language.stem(piece.text)).into_owned(),
                    Form::Whole | Form::Pair => fold(piece.text).into_owned(),
                };
                terms.insert(stem);
            });
        }
        Self(terms)
    }
}

/// Subjects of passages that were found together.
#[derive(Debug)]
pub struct Subjects {
    all: Vec<Subject>,
    /// In how many of them each term is.
    counts: HashMap<String, usize>,
}

impl Subjects {
    /// Returns the subjects of passages.
    pub fn new(all: Vec<Subject>) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for term in all.iter().flat_map(|subject| &subject.0) {
            *counts.entry(term.clone()).or_default() += 1;
        }
        Self { all, counts }
    }

    /// Returns how much two of them share, from 0 to 1. Terms that most passages have count for little.
    pub fn likeness(&self, a: usize, b: usize) -> f64 {
        let (Some(a), Some(b)) = (self.all.get(a), self.all.get(b)) else { return 0.0 };
        if a.0.len().min(b.0.len()) < FEWEST {
            return 0.0;
        }
        let weight = |term: &String| {
            let having = self.counts.get(term).copied().unwrap_or(1) as f64;
            // A term that two passages have is worth what a term of one is: this is what is looked for.
            (1.0 + self.all.len() as f64 / having.max(2.0)).ln()
        };
        let sum = |subject: &Subject| subject.0.iter().map(weight).sum::<f64>();
        let shared: f64 = a.0.intersection(&b.0).map(weight).sum();
        shared / (sum(a) * sum(b)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, Subjects};

    #[test]
    fn passages_about_the_same_are_alike() {
        let texts = [
            "Decided: amounts are stored as i64 in minor units, no scale column, see docs/decisions/0004-amounts.md.",
            "Decision 0004 is amended: amounts are i64 in the currency's minor unit, with a scale column.",
            "Closures capture by value, because the language has no borrow checker and no collector.",
            "yes",
            "yes",
        ];
        let subjects = Subjects::new(texts.iter().map(|text| Subject::of([*text])).collect());
        assert!(subjects.likeness(0, 1) > 0.25, "{}", subjects.likeness(0, 1));
        assert!(subjects.likeness(0, 2) < 0.05, "{}", subjects.likeness(0, 2));
        assert_eq!(subjects.likeness(3, 4), 0.0, "too short to be about anything");
    }
}
