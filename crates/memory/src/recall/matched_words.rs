//! Finds the words of a query in a text.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::looking::Looker;
use super::wanted::{WantedTerm, spelled_like, wanted_terms};
use crate::query::Query;
use crate::terms::{Language, split};

/// Maximum number of bytes of a text that are read.
const READ_BYTES: usize = 24 * 1024;

/// In a longer query, unknown words are not corrected. The search itself has the same limit.
const CORRECTED_AMONG: usize = 12;

/// Maximum number of corrected words.
const MOST_CORRECTED: usize = 2;

/// Too many words begin with a shorter one.
const SHORTEST_BEGINNING: usize = 4;

/// A word of a text that matches a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordMatch {
    /// Its position, in bytes.
    pub range: Range<usize>,
    /// The index of the query's term.
    pub term: usize,
}

/// Finds the words of a query in texts, in every inflection that the search finds.
#[derive(Debug)]
pub struct WordMarker {
    terms: Vec<WantedTerm>,
    /// The terms as typed.
    typed: Vec<String>,
    looker: Looker,
}

impl WordMarker {
    /// Returns a marker for the words of a query.
    ///
    /// A word that occurs in none of `texts` was found by another spelling or as a prefix. It is replaced by the words
    /// that occur in them.
    pub fn new<'t>(query: &Query, texts: impl IntoIterator<Item = &'t str> + Clone) -> Self {
        let mut terms = query.wanted_terms();
        for term in query.required() {
            let is_prefix = |wanted: &WantedTerm| wanted.is_prefix || term.is_prefix;
            terms.extend(
                wanted_terms(&term.text)
                    .into_iter()
                    .map(|wanted| WantedTerm { is_prefix: is_prefix(&wanted), ..wanted }),
            );
        }
        let typed = terms.iter().map(|term| term.forms[0].clone()).collect();
        let mut marker = Self { looker: looker(&terms), terms, typed };
        marker.correct(texts);
        marker
    }

    /// Returns the terms of the query as typed, in lower case.
    pub fn typed(&self) -> impl Iterator<Item = &str> {
        self.typed.iter().map(String::as_str)
    }

    /// Returns the weight of each term without its rarity.
    pub fn weights(&self) -> impl Iterator<Item = f64> {
        self.terms.iter().map(|term| term.weight)
    }

    /// Returns the words of a text that match the query, in order. Matches may overlap.
    pub fn matches(&mut self, text: &str) -> Vec<WordMatch> {
        let text = &text[..text.floor_char_boundary(READ_BYTES)];
        let located = Located::new(text);
        let language = Language::of(&text[..text.floor_char_boundary(600)]);
        let mut found = Vec::new();
        split(&located.text, |piece| {
            if let Some((term, _)) = self.looker.find(piece.text, piece.form, &|| language) {
                found.push(WordMatch { range: located.original(piece.start..piece.end), term });
            }
        });
        found.sort_by_key(|found| (found.range.start, found.range.end));
        found
    }

    /// Returns the positions of the words, as ranges that neither overlap nor touch.
    pub fn marks(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut marks: Vec<Range<usize>> = Vec::new();
        for WordMatch { range, .. } in self.matches(text) {
            match marks.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        marks
    }

    /// Replaces words that occur in no text by words with a similar spelling or the same beginning.
    fn correct<'t>(&mut self, texts: impl IntoIterator<Item = &'t str> + Clone) {
        if self.terms.len() > CORRECTED_AMONG {
            return;
        }
        let mut is_there = vec![false; self.terms.len()];
        for text in texts.clone() {
            self.matches(text).iter().for_each(|found| is_there[found.term] = true);
        }
        let missing = (0..self.terms.len()).filter(|term| !is_there[*term] && self.terms[*term].is_word);
        let mut is_changed = false;
        for index in missing.take(MOST_CORRECTED).collect::<Vec<_>>() {
            let term = &self.terms[index];
            let like = spelled_like(&term.forms[0]).concat();
            let spelled = WantedTerm { exact: like.len(), forms: like, ..term.clone() };
            let stems = term.forms.iter().filter(|form| form.chars().count() >= SHORTEST_BEGINNING);
            let begun = stems.min_by_key(|form| form.len()).map(|form| WantedTerm {
                forms: vec![form.clone()],
                exact: 1,
                is_prefix: true,
                ..term.clone()
            });
            let spelled = Some(spelled).filter(|spelled| !spelled.forms.is_empty());
            let meant = [spelled, begun].into_iter().flatten().find(|meant| {
                let mut alone =
                    Self { looker: looker(std::slice::from_ref(meant)), terms: Vec::new(), typed: Vec::new() };
                texts.clone().into_iter().any(|text| !alone.matches(text).is_empty())
            });
            if let Some(meant) = meant {
                self.terms[index] = meant;
                is_changed = true;
            }
        }
        if is_changed {
            self.looker = looker(&self.terms);
        }
    }
}

fn looker(terms: &[WantedTerm]) -> Looker {
    Looker::new(terms.iter().map(|term| (term, 1.0)))
}

/// A text in NFKC, as [`split`] reads it, with the positions of its characters in the original.
struct Located<'t> {
    text: Cow<'t, str>,
    /// Offsets in `text` and in the original at which a character with its marks begins; empty if they are equal.
    places: Vec<(usize, usize)>,
}

impl<'t> Located<'t> {
    fn new(original: &'t str) -> Self {
        if is_nfkc_quick(original.chars()) == IsNormalized::Yes {
            return Self { text: original.into(), places: Vec::new() };
        }
        let mut text = String::with_capacity(original.len());
        let mut places = Vec::new();
        let begins = |c: char| canonical_combining_class(c) == 0 && !is_combining_mark(c);
        let mut starts = original.char_indices().filter(|(_, c)| begins(*c)).map(|(at, _)| at).peekable();
        // Marks before the first character are not part of the text: no word begins with them.
        while let Some(start) = starts.next() {
            places.push((text.len(), start));
            let end = starts.peek().copied().unwrap_or(original.len());
            text.extend(original[start..end].nfkc());
        }
        places.push((text.len(), original.len()));
        Self { text: text.into(), places }
    }

    /// Returns the range in the original of a range of the text.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let (Some(first), Some(last)) = (self.places.first(), self.places.last()) else { return range };
        let before = self.places.partition_point(|place| place.0 <= range.start);
        let after = self.places.partition_point(|place| place.0 < range.end);
        let start = before.checked_sub(1).map_or(first.1, |at| self.places[at].1);
        let end = self.places.get(after).map_or(last.1, |place| place.1);
        start..end.max(start)
    }
}
