//! Finds the words of a query in a text.

use std::ops::Range;

use super::looking::Looker;
use super::normalised_text::{NormalisedText, READ_ON, first_part, part_after};
use super::wanted::{
    MAX_CORRECTED_WORDS, MAX_WORDS_TO_CORRECT_ONE, MIN_BEGINNING_CHARS, WantedTerm, spelled_like, wanted_terms,
};
use crate::query::Query;
use crate::terms::{Language, split};

/// Number of bytes that determine the language of a text.
const TELLS_LANGUAGE: usize = 600;

/// Number of bytes of further parts that are read for a word that may have been meant.
const READ_ON_FOR_MEANT: usize = 256 * 1024;

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
    /// Number of bytes of further parts of texts that may still be read.
    read_on: usize,
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
        // Each text is read twice: for corrections, and for its marks.
        let mut marker = Self { looker: looker(&terms), terms, typed, read_on: 2 * READ_ON };
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
    ///
    /// A long text is read to the end only if its beginning does not have every word.
    pub fn matches(&mut self, text: &str) -> Vec<WordMatch> {
        let language = Language::of(&text[..text.floor_char_boundary(TELLS_LANGUAGE)]);
        let mut found = Vec::new();
        let mut is_there = vec![false; self.looker.terms()];
        let mut part = Some(first_part(text));
        while let Some(range) = part {
            let located = NormalisedText::new(&text[range.clone()]);
            split(&located.text, |piece| {
                if let Some((term, _)) = self.looker.find(piece.text, piece.form, &|| language) {
                    let Range { start, end } = located.original(piece.start..piece.end);
                    found.push(WordMatch { range: range.start + start..range.start + end, term });
                    is_there[term] = true;
                }
            });
            let is_complete = is_there.iter().all(|is_there| *is_there);
            part = part_after(text, &range).filter(|next| !is_complete && next.len() <= self.read_on);
            self.read_on -= part.as_ref().map_or(0, ExactSizeIterator::len);
        }
        found.sort_by_key(|found| (found.range.start, found.range.end));
        // Parts may overlap by a word.
        found.dedup();
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
        if self.terms.len() > MAX_WORDS_TO_CORRECT_ONE {
            return;
        }
        let mut is_there = vec![false; self.terms.len()];
        for text in texts.clone() {
            self.matches(text).iter().for_each(|found| is_there[found.term] = true);
        }
        let missing = (0..self.terms.len()).filter(|term| !is_there[*term] && self.terms[*term].is_word);
        let mut is_changed = false;
        for index in missing.take(MAX_CORRECTED_WORDS).collect::<Vec<_>>() {
            let term = &self.terms[index];
            let like = spelled_like(&term.forms[0]).concat();
            let spelled = WantedTerm { exact: like.len(), forms: like, ..term.clone() };
            let stems = term.forms.iter().filter(|form| form.chars().count() >= MIN_BEGINNING_CHARS);
            let begun = stems.min_by_key(|form| form.len()).map(|form| WantedTerm {
                forms: vec![form.clone()],
                exact: 1,
                is_prefix: true,
                ..term.clone()
            });
            let spelled = Some(spelled).filter(|spelled| !spelled.forms.is_empty());
            let meant = [spelled, begun].into_iter().flatten().find(|meant| {
                let looker = looker(std::slice::from_ref(meant));
                let mut alone = Self { looker, terms: Vec::new(), typed: Vec::new(), read_on: READ_ON_FOR_MEANT };
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
