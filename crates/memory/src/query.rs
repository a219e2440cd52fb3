//! A search query: plain words, required and excluded ones, and filters.

use longhaul_core::clock::Date;

use crate::observation::Kind;
use crate::recall::{WantedTerm, wanted_terms};

/// Maximum number of words and phrases that are read.
const TERMS: usize = 1_024;

/// A longer text is a quotation, such as an error message: nothing in it is an operator.
const QUOTATION_CHARS: usize = 300;

/// Maximum length of a word or phrase, in characters.
const TERM_CHARS: usize = 200;

/// A search query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Query {
    /// Words and phrases, required or not, in the order of the text.
    pub terms: Vec<Term>,
    /// Words and phrases that must not occur.
    pub excluded: Vec<Term>,
    /// Part of a file's path.
    pub file: Option<String>,
    /// The kind of observation.
    pub kind: Option<Kind>,
    /// The project.
    pub project: Option<String>,
    /// Only from this day on.
    pub since: Option<Date>,
    /// Only before this day.
    pub before: Option<Date>,
    /// Only what comes from the host with this name.
    pub from: Option<String>,
    /// `since:` and `before:` filters with an invalid day: name and value. A search returns an error for them.
    pub misread: Vec<(&'static str, String)>,
}

/// A word, or words in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Term {
    /// The text without quotes.
    pub text: String,
    /// Whether it was in quotes.
    pub is_phrase: bool,
    /// Whether it also matches words that begin with it: it was followed by a star.
    pub is_prefix: bool,
    /// Whether it must occur: it is a phrase, or follows a plus.
    pub is_required: bool,
}

impl Query {
    /// Parses a query. Every text is valid.
    ///
    /// Plain words are not required. `"…"` is a phrase that must occur, `+word` must occur, `-word` must not occur;
    /// `file:`, `kind:`, `project:`, `from:`, `since:` and `before:` are filters, the last two with a day (`2026-01-31`).
    /// `word*` matches all words that begin with it. An unknown kind is a plain word; an invalid day is added to
    /// [`Query::misread`]. A text of several lines, or a long one, is a quotation: everything in it is a plain word.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let mut rest = text.trim();
        if rest.contains('\n') || rest.chars().nth(QUOTATION_CHARS).is_some() {
            return Self::of_words(rest);
        }
        while !rest.is_empty() {
            let operand = |sign: char| {
                rest.strip_prefix(sign).filter(|piece| piece.starts_with(|c: char| c != sign && !c.is_whitespace()))
            };
            let (is_excluded, is_required, piece) = match (operand('-'), operand('+')) {
                (Some(piece), _) => (true, false, piece),
                (None, Some(piece)) => (false, true, piece),
                (None, None) => (false, false, rest),
            };
            let filter = filter_name(piece).filter(|_| !is_excluded);
            let (term, after) = take_term(filter.map_or(piece, |name| &piece[name.len() + 1..]));
            let taken = filter.is_some_and(|name| query.narrow(name, &term));
            if taken {
                rest = after.trim_start();
                continue;
            }
            let (mut term, after) = if filter.is_some() { take_term(piece) } else { (term, after) };
            term.is_required |= is_required;
            query.add(term, is_excluded);
            rest = after.trim_start();
        }
        query
    }

    /// Returns a query in which all of a text is plain words, without operators and filters.
    pub fn of_words(text: &str) -> Self {
        let mut query = Self::default();
        for word in text.split_whitespace() {
            let (term, _) = take_term(word.trim_start_matches(is_quote));
            query.add(term, false);
        }
        query
    }

    /// Returns the plain words as text, without those of [`Query::beginnings`].
    pub fn wanted(&self) -> String {
        let plain = self.terms.iter().filter(|term| !term.is_required && !term.is_prefix);
        plain.map(|term| term.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the prefixes of plain words that end with a star.
    pub fn beginnings(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter(|term| !term.is_required && term.is_prefix).map(|term| term.text.as_str())
    }

    /// Returns the terms of all plain words and prefixes.
    pub fn wanted_terms(&self) -> Vec<WantedTerm> {
        let begun = self.beginnings().flat_map(wanted_terms).map(|mut term| {
            term.forms.truncate(1);
            WantedTerm { is_prefix: true, ..term }
        });
        let plain = self.wanted();
        let plain = if plain.is_empty() { Vec::new() } else { wanted_terms(&plain) };
        plain.into_iter().chain(begun).collect()
    }

    /// Returns the required words and phrases.
    pub fn required(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.is_required)
    }

    fn add(&mut self, term: Term, is_excluded: bool) {
        // Few terms are excluded: a long text is a quotation.
        if term.text.is_empty() || self.terms.len() >= TERMS {
            return;
        }
        let terms = if is_excluded { &mut self.excluded } else { &mut self.terms };
        terms.push(term);
    }

    /// Sets a filter. Returns whether its value is valid.
    fn narrow(&mut self, name: &'static str, term: &Term) -> bool {
        let value = term.text.as_str();
        let text = Some(value.to_owned()).filter(|value| !value.is_empty());
        if matches!(name, "since" | "before") && Date::parse(value).is_none() && text.is_some() && !term.is_phrase {
            self.misread.push((name, value.to_owned()));
            return true;
        }
        match name {
            "file" => set(&mut self.file, text),
            "project" => set(&mut self.project, text),
            "from" => set(&mut self.from, text),
            "kind" => set(&mut self.kind, Kind::from_name(&value.to_lowercase())),
            "since" => set(&mut self.since, Date::parse(value)),
            _ => set(&mut self.before, Date::parse(value)),
        }
    }
}

fn set<T>(filter: &mut Option<T>, value: Option<T>) -> bool {
    let is_given = value.is_some();
    if is_given {
        *filter = value;
    }
    is_given
}

/// Returns the name of the filter at the beginning of a text.
fn filter_name(text: &str) -> Option<&'static str> {
    let names = ["file", "kind", "project", "from", "since", "before"];
    names.into_iter().find(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
}

/// Takes a word, or a phrase whose closing quote may be missing, from the beginning of a text.
fn take_term(text: &str) -> (Term, &str) {
    let mut chars = text.chars();
    let is_phrase = chars.next().is_some_and(is_quote);
    let body = if is_phrase { chars.as_str() } else { text };
    let end = match is_phrase {
        true => body.find(is_quote),
        false => body.find(|c: char| c.is_whitespace() || is_quote(c)),
    };
    let (term, after) = body.split_at(end.unwrap_or(body.len()));
    let after = if is_phrase { after.strip_prefix(is_quote).unwrap_or(after) } else { after };
    // A NUL character would end a text of SQLite.
    let term: String = term.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TERM_CHARS).collect();
    let text = term.trim();
    // A star alone matches everything. In quotes it is only a character.
    let begun = text.trim_end_matches('*');
    let is_prefix = !is_phrase && begun.len() < text.len() && begun.ends_with(char::is_alphanumeric);
    let text = if is_prefix { begun } else { text };
    (Term { text: text.to_owned(), is_phrase, is_prefix, is_required: is_phrase }, after)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„')
}
