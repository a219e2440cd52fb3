//! How well a passage matches the wanted terms: which it has, how often, and how close together. Most words of a text
//! are excluded by the beginnings of the forms of the terms, without a stemmer.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::dates::NamedDate;
use super::normalised_text::{READ_ON, first_part, original_position, part_after};
use super::wanted::WantedTerm;
use super::weights::WEIGHTS;
use crate::cue_table::Beginnings;
use crate::terms::{Form, Language, WordHasher, fold, split};

/// Number of bytes that determine the language of a field.
const TELLS_LANGUAGE: usize = 300;

/// The distance between two fields in words: words in different fields are not close together.
const GAP: usize = 100;

/// Length of a snippet around the words, in bytes.
const SNIPPET: usize = 240;

/// A part of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// The text.
    pub text: &'a str,
    /// The weight of a word in it.
    pub weight: f64,
}

/// The position in a record at which the wanted words are close together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spot {
    /// The index of the field.
    pub field: usize,
    /// The offset in bytes.
    pub start: usize,
}

/// The same position as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ReadSpot {
    field: usize,
    /// The start of the part of the field that was read, in bytes.
    part: usize,
    /// The offset in the NFKC form of that part.
    start: usize,
}

/// How well a record matches.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Look {
    /// The sum of the weights of its terms, each saturated.
    pub score: f64,
    /// The share of the query's weight that it has.
    pub covered: f64,
    /// The share of the query's weight that it has close together.
    pub near: f64,
    /// The terms that it has.
    pub has: Vec<bool>,
    /// The position of that place.
    spot: ReadSpot,
    /// Number of its words. Of a long field, only those of the first part count: the rest is read only if a word is
    /// missing, and must not make the record less relevant.
    pub length: usize,
}

impl Look {
    /// Returns the score with the factors for coverage and proximity.
    pub fn total(&self) -> f64 {
        let coverage = 1.0 - WEIGHTS.coverage + WEIGHTS.coverage * self.covered;
        let proximity = 1.0 - WEIGHTS.proximity + WEIGHTS.proximity * self.near;
        self.score * coverage * proximity
    }

    /// Returns the position at which the words are close together; `fields` are those of the record.
    ///
    /// A record is read in NFKC. Only the position of a record that is shown is mapped to its text.
    pub fn spot(&self, fields: &[Field<'_>]) -> Spot {
        let ReadSpot { field, part, start } = self.spot;
        let text = fields.get(field).and_then(|field| field.text.get(part..)).unwrap_or_default();
        Spot { field, start: part + original_position(text, start) }
    }
}

/// Matches records with one query.
#[derive(Debug, Clone)]
pub struct Looker {
    /// The weight of each term, its rarity included.
    weights: Vec<f64>,
    total: f64,
    /// Forms, each with its term and how well it matches.
    forms: HashMap<String, (usize, f64), BuildHasherDefault<WordHasher>>,
    /// Prefixes, each with its term.
    prefixes: Vec<(String, usize)>,
    /// The beginnings of the forms. No other word can have one of them as its stem.
    beginnings: FormBeginnings,
    /// Days, months and years in the query.
    pub dates: Vec<NamedDate>,
    /// Number of bytes that may still be read of the further parts of long fields, in all records together.
    ///
    /// They are read only if the beginning of a record does not have every term.
    pub read_on: usize,
    /// Words that have been stemmed, by language. Their texts are stored ones, so they are hashed with a secret.
    stems: HashMap<Language, HashMap<String, Option<usize>>, BuildHasherDefault<WordHasher>>,
}

impl Looker {
    /// Returns a looker for terms, each with its rarity.
    pub fn new<'t>(terms: impl IntoIterator<Item = (&'t WantedTerm, f64)>) -> Self {
        let mut looker = Self {
            weights: Vec::new(),
            total: 0.0,
            forms: HashMap::default(),
            prefixes: Vec::new(),
            beginnings: FormBeginnings::default(),
            dates: Vec::new(),
            read_on: READ_ON,
            stems: HashMap::default(),
        };
        for (index, (term, rarity)) in terms.into_iter().enumerate() {
            looker.weights.push(term.weight * rarity);
            if term.is_prefix {
                looker.prefixes.push((term.forms[0].clone(), index));
            }
            for (number, form) in term.forms.iter().enumerate() {
                let fits = if number < term.exact { 1.0 } else { WEIGHTS.stem };
                let known = looker.forms.entry(form.clone()).or_insert((index, fits));
                if known.1 < fits {
                    *known = (index, fits);
                }
                looker.beginnings.add(form);
            }
        }
        looker.total = looker.weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        looker
    }

    /// Returns another looker for the same query, for another thread. Each of them may read half of what is left of the
    /// further parts of long fields.
    pub fn share_reading(&mut self) -> Self {
        self.read_on /= 2;
        self.clone()
    }

    /// Takes back what such a looker was allowed to read and has not read.
    pub fn take_back(&mut self, other: &Self) {
        self.read_on += other.read_on;
    }

    pub(super) fn terms(&self) -> usize {
        self.weights.len()
    }

    /// Returns the total weight of some of the query's terms.
    pub fn weight(&self, has: &[bool]) -> f64 {
        self.weights.iter().zip(has).filter(|(_, has)| **has).map(|(weight, _)| weight).sum()
    }

    /// Returns the share of some of the query's terms in its weight.
    pub fn share(&self, has: &[bool]) -> f64 {
        self.weight(has) / self.total
    }

    /// Matches a record.
    pub fn look(&mut self, fields: &[Field<'_>]) -> Look {
        let mut seen = Seen { often: vec![0.0; self.weights.len()], places: Vec::new(), words: 0 };
        for (number, field) in fields.iter().enumerate() {
            self.read(number, field, first_part(field.text), &mut seen);
        }
        let length = seen.words.saturating_sub(fields.len() * GAP);
        for (number, field) in fields.iter().enumerate() {
            let mut part = first_part(field.text);
            while let Some(next) = part_after(field.text, &part) {
                if next.len() > self.read_on || seen.often.iter().all(|often| *often > 0.0) {
                    break;
                }
                self.read_on -= next.len();
                self.read(number, field, next.clone(), &mut seen);
                part = next;
            }
        }
        let has: Vec<bool> = seen.often.iter().map(|often| *often > 0.0).collect();
        let (near, spot) = self.nearest(&seen.places);
        Look { score: self.score(&seen.often, length), covered: self.share(&has), near, has, spot, length }
    }

    /// Reads a part of a field.
    fn read(&mut self, number: usize, field: &Field<'_>, part: Range<usize>, seen: &mut Seen) {
        let beginning = &field.text[..field.text.floor_char_boundary(TELLS_LANGUAGE)];
        let language = LazyCell::new(|| Language::of(beginning));
        let mut length = 0;
        split(&field.text[part.clone()], |piece| {
            length = piece.position + 1;
            let Some((term, fits)) = self.find(piece.text, piece.form, &|| *language) else { return };
            seen.often[term] += fits * field.weight;
            let spot = ReadSpot { field: number, part: part.start, start: piece.start };
            seen.places.push((seen.words + piece.position, term, spot));
        });
        seen.words += length + GAP;
    }

    fn score(&self, often: &[f64], length: usize) -> f64 {
        let long = 1.0 - WEIGHTS.length + WEIGHTS.length * length as f64 / WEIGHTS.usual_length;
        let saturated = |often: f64| often * (WEIGHTS.saturation + 1.0) / (often + WEIGHTS.saturation * long.max(0.5));
        often.iter().zip(&self.weights).map(|(often, weight)| weight * saturated(*often)).sum()
    }

    /// Returns the largest share of the query within a few words, and its position.
    fn nearest(&self, places: &[(usize, usize, ReadSpot)]) -> (f64, ReadSpot) {
        let mut best = (0.0, places.first().map(|place| place.2).unwrap_or_default());
        let mut counts = vec![0_u32; self.weights.len()];
        let mut sum = 0.0;
        let mut first = 0;
        for (position, term, _) in places {
            counts[*term] += 1;
            if counts[*term] == 1 {
                sum += self.weights[*term];
            }
            while places[first].0 + WEIGHTS.near < *position {
                let gone = places[first].1;
                counts[gone] -= 1;
                if counts[gone] == 0 {
                    sum -= self.weights[gone];
                }
                first += 1;
            }
            if sum > best.0 + 1e-9 {
                best = (sum, places[first].2);
            }
        }
        (best.0 / self.total, best.1)
    }

    /// Returns the term that a piece of text matches, and how well.
    ///
    /// `language` is that of the surrounding text. It is called only if the stem decides.
    pub(super) fn find(&mut self, text: &str, form: Form, language: &dyn Fn() -> Language) -> Option<(usize, f64)> {
        let folded = fold(text);
        if !self.beginnings.has(&folded) {
            return None;
        }
        if let Some(found) = self.forms.get(folded.as_ref()) {
            return Some(*found);
        }
        if let Some((_, term)) = self.prefixes.iter().find(|(prefix, _)| folded.starts_with(prefix.as_str())) {
            return Some((*term, WEIGHTS.stem));
        }
        if form != Form::Word {
            return None;
        }
        let language = language();
        if let Some(known) = self.stems.get(&language).and_then(|stems| stems.get(text)) {
            return known.map(|term| (term, WEIGHTS.stem));
        }
        let by = |language: Language| self.forms.get(fold(&language.stem(text)).as_ref()).map(|found| found.0);
        let other = Some(language).filter(|language| *language != Language::English);
        let found = by(Language::English).or_else(|| other.and_then(by));
        self.stems.entry(language).or_default().insert(text.to_owned(), found);
        found.map(|term| (term, WEIGHTS.stem))
    }
}

/// The terms of the query that a record was seen to have.
struct Seen {
    /// How often it has each term, weighted.
    often: Vec<f64>,
    /// Position in words, term, and where it was read.
    places: Vec<(usize, usize, ReadSpot)>,
    /// Number of words so far, with the distances between fields and parts.
    words: usize,
}

impl Look {
    /// Returns the text around the place with the words, on one line, cut between words.
    pub fn snippet(&self, fields: &[Field<'_>]) -> String {
        let spot = self.spot(fields);
        let Some(field) = fields.get(spot.field) else { return String::new() };
        let text = field.text;
        let start = text.floor_char_boundary(spot.start.saturating_sub(SNIPPET / 4).min(text.len()));
        let end = text.floor_char_boundary((start + SNIPPET).min(text.len()));
        let mut part = &text[start..end];
        if start > 0 {
            part = part.find(char::is_whitespace).filter(|at| *at < SNIPPET / 4).map_or(part, |at| &part[at..]);
        }
        if end < text.len() {
            part = part.rfind(char::is_whitespace).filter(|at| *at > SNIPPET / 2).map_or(part, |at| &part[..at]);
        }
        let line = crate::text::one_line(part, SNIPPET);
        let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        format!("{before}{line}{after}")
    }
}

/// The beginnings of the forms, which exclude nearly every word of a text.
#[derive(Debug, Clone, Default)]
struct FormBeginnings {
    /// The forms of one byte.
    ones: Beginnings,
    /// The first two bytes of each longer form.
    twos: Beginnings,
    /// The first three bytes of each form that has so many.
    threes: Beginnings,
    /// The first four bytes of each form that has so many.
    fours: Beginnings,
    /// The first two bytes of each form that has fewer than three, or fewer than four.
    below_three: Beginnings,
    below_four: Beginnings,
}

/// The stem of a word of fewer bytes may differ in its third byte already, and of fewer than the second number in its fourth.
const COMPARED_BY_THREE: usize = 6;
const COMPARED_BY_FOUR: usize = 8;

impl FormBeginnings {
    fn add(&mut self, form: &str) {
        if form.len() < 2 {
            return self.ones.insert(first_bytes::<1>(form));
        }
        let two = first_bytes::<2>(form);
        self.twos.insert(two);
        match form.len() {
            ..3 => self.below_three.insert(two),
            _ => self.threes.insert(first_bytes::<3>(form)),
        }
        match form.len() {
            ..4 => self.below_four.insert(two),
            _ => self.fours.insert(first_bytes::<4>(form)),
        }
    }

    /// Returns whether a word can be one of the forms, begin with one, or have one as its stem.
    fn has(&self, word: &str) -> bool {
        let two = first_bytes::<2>(word);
        if self.ones.contains(first_bytes::<1>(word)) {
            return true;
        }
        self.twos.contains(two)
            && (word.len() < COMPARED_BY_THREE
                || self.threes.contains(first_bytes::<3>(word))
                || self.below_three.contains(two))
            && (word.len() < COMPARED_BY_FOUR
                || self.fours.contains(first_bytes::<4>(word))
                || self.below_four.contains(two))
    }
}

/// Returns a hash of the first bytes of a word. `y` counts as `i`, as in stems.
fn first_bytes<const COUNT: usize>(word: &str) -> u16 {
    let byte = |at: usize| match word.as_bytes().get(at).copied().unwrap_or_default() {
        b'y' => u32::from(b'i'),
        byte => u32::from(byte),
    };
    let joined = (0..COUNT).fold(0, |joined, at| joined << 8 | byte(at));
    (joined.wrapping_mul(0x9e37_79b1) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::FormBeginnings;
    use crate::terms::{Language, fold, forms};

    #[test]
    fn no_word_is_ruled_out_whose_stem_is_wanted() {
        let words = [
            "importers",
            "importing",
            "imported",
            "cries",
            "skies",
            "flies",
            "tries",
            "tying",
            "running",
            "used",
            "uses",
            "use",
            "going",
            "goes",
            "generously",
            "universities",
            "buying",
            "es",
            "add",
            "adding",
            "added",
            "häuser",
            "läuft",
            "gehen",
            "verschoben",
            "eaux",
            "chevaux",
            "irían",
            "andare",
            "cantavano",
            "leggere",
            "gelopen",
            "brood",
            "groot",
            "работает",
            "импорта",
        ];
        for word in words {
            for wanted in forms(word) {
                let mut beginnings = FormBeginnings::default();
                beginnings.add(&wanted);
                let is_stem = |language: &Language| fold(&language.stem(word)) == wanted;
                if wanted == fold(word) || Language::ALL.iter().any(is_stem) {
                    assert!(beginnings.has(&fold(word)), "{word}: {wanted}");
                }
            }
        }
    }
}
