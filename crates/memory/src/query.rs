//! What somebody looks for: wanted words, strict parts, and filters.

use longhaul_core::clock::Date;

use crate::observation::Kind;
use crate::recall::{WantedTerm, wanted_terms};

/// At most this many words and phrases are read.
const TERMS: usize = 1_024;

/// At most this many stand in an expression.
const IN_EXPRESSION: usize = 32;

/// A longer text is a quotation, such as an error message: nothing in it is an operator.
const QUOTATION_CHARS: usize = 300;

/// The longest of them, in characters.
const TERM_CHARS: usize = 200;

/// What somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// What is wanted, and what must be there, in the order in which it was written.
    pub terms: Vec<Term>,
    /// What must not be there.
    pub excluded: Vec<Term>,
    /// Part of a file's path.
    pub file: Option<String>,
    /// What it is about.
    pub kind: Option<Kind>,
    /// The project.
    pub project: Option<String>,
    /// From this day on.
    pub since: Option<Date>,
    /// Before this day.
    pub before: Option<Date>,
    /// `since:` and `before:` whose value is no day: name and value. Whoever searches refuses them.
    pub misread: Vec<(&'static str, String)>,
}

/// A word, or words in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// It, without its quotes.
    pub text: String,
    /// Whether it stood in quotes.
    pub is_phrase: bool,
    /// Whether a word that only begins so counts: a star stood behind it.
    pub is_prefix: bool,
    /// Whether it must be there: it is a phrase, or has a plus before it.
    pub is_required: bool,
}

impl Query {
    /// Reads what somebody typed; there is no wrong way to type it.
    ///
    /// Plain words are wanted, not required. `"…"` is a phrase that must occur, `+word` must occur, `-word` must not;
    /// `file:`, `kind:`, `project:`, `since:` and `before:` narrow the search, the last two with a day (`2026-01-31`).
    /// `word*` stands for every word that begins so. A kind that there is none of is a word like all others; a day that is
    /// none is noted in [`Query::misread`]. A text of several lines, or a long one, is a quotation: all of it is plain words.
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

    /// Takes all of a text as plain words: nothing in it is an operator or a filter.
    pub fn of_words(text: &str) -> Self {
        let mut query = Self::default();
        for word in text.split_whitespace() {
            let (term, _) = take_term(word.trim_start_matches(is_quote));
            query.add(Term { is_phrase: false, is_required: false, ..term }, false);
        }
        query
    }

    /// Returns an expression for an index of words: every term that must be there occurs, the last word may go on.
    ///
    /// `None` where no word remains: then there is nothing to look for but the filters.
    pub fn fts(&self) -> Option<String> {
        let terms: Vec<&Term> = self.terms.iter().filter(is_searchable).take(IN_EXPRESSION).collect();
        let last = terms.last()?;
        // One letter begins far too many words; a sign of Chinese may be half of one.
        let goes_on = !last.is_phrase && (last.text.len() > 1) && last.text.ends_with(char::is_alphanumeric);
        let mut expression = joined(&terms, " ");
        expression.push_str(if goes_on && !last.is_prefix { "*" } else { "" });
        Some(expression)
    }

    /// Returns an expression for an index of words: any of the terms that must not be there occurs.
    pub fn without(&self) -> Option<String> {
        let terms: Vec<&Term> = self.excluded.iter().filter(is_searchable).take(IN_EXPRESSION).collect();
        Some(joined(&terms, " OR ")).filter(|any| !any.is_empty())
    }

    /// Returns the plain words, as text; those that only begin what is wanted are [`Query::beginnings`].
    pub fn wanted(&self) -> String {
        let plain = self.terms.iter().filter(|term| !term.is_required && !term.is_prefix);
        plain.map(|term| term.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns what words begin with that are wanted.
    pub fn beginnings(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter(|term| !term.is_required && term.is_prefix).map(|term| term.text.as_str())
    }

    /// Returns the terms of everything that is wanted.
    pub fn wanted_terms(&self) -> Vec<WantedTerm> {
        let begun = self.beginnings().flat_map(wanted_terms).map(|mut term| {
            term.forms.truncate(1);
            WantedTerm { is_prefix: true, ..term }
        });
        let plain = self.wanted();
        let plain = if plain.is_empty() { Vec::new() } else { wanted_terms(&plain) };
        plain.into_iter().chain(begun).collect()
    }

    /// Returns what must be there.
    pub fn required(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.is_required)
    }

    fn add(&mut self, term: Term, is_excluded: bool) {
        if term.text.is_empty() || self.terms.len() + self.excluded.len() >= TERMS {
            return;
        }
        let terms = if is_excluded { &mut self.excluded } else { &mut self.terms };
        terms.push(term);
    }

    /// Sets a filter, and returns whether its value can be one.
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

/// Returns the name of the filter that a text begins with.
fn filter_name(text: &str) -> Option<&'static str> {
    let names = ["file", "kind", "project", "since", "before"];
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
    // A zero would end the expression in the middle of a string.
    let term: String = term.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TERM_CHARS).collect();
    let text = term.trim();
    // A star alone is everything, and in quotes it is only a sign.
    let begun = text.trim_end_matches('*');
    let is_prefix = !is_phrase && begun.len() < text.len() && begun.ends_with(char::is_alphanumeric);
    let text = if is_prefix { begun } else { text };
    (Term { text: text.to_owned(), is_phrase, is_prefix, is_required: is_phrase }, after)
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '“' | '”' | '„')
}

/// Returns whether there is anything in a term that an index of words knows.
fn is_searchable(term: &&Term) -> bool {
    term.text.chars().any(char::is_alphanumeric)
}

/// Returns the terms, each of them a string: no word is an operator then.
fn joined(terms: &[&Term], operator: &str) -> String {
    let star = |term: &Term| if term.is_prefix { "*" } else { "" };
    let quoted = |term: &&Term| format!("\"{}\"{}", term.text.replace('"', "\"\""), star(term));
    terms.iter().map(quoted).collect::<Vec<_>>().join(operator)
}
