//! The strict parts of a query: filters, and required and excluded words.

use longhaul_memory::{Form, Kind, Query, Term, fold, split};
use rusqlite::{Connection, OptionalExtension};

use super::SearchQuery;
use super::beginnings::any_of;
use super::candidate::Candidate;
use super::index::{MONTH_MS, what_term};
use crate::What;
use crate::memory::session_row::project_number;
use crate::sync::HostFilter;

/// A longer range of months is not searched month by month.
const MOST_MONTHS: i64 = 36;

/// Filters, and required and excluded words.
pub(super) struct Strict<'a> {
    pub(super) project: Option<i64>,
    pub(super) session: Option<i64>,
    without_session: Option<i64>,
    hosts: Option<HostFilter>,
    kinds: &'a [Kind],
    what: &'a [What],
    pub(super) from: i64,
    pub(super) to: i64,
    /// In lower case.
    pub(super) file: Option<String>,
    required: Vec<Phrase>,
    /// The FTS5 expressions for the required words.
    required_expressions: Vec<String>,
    excluded: Vec<Phrase>,
}

/// A phrase.
struct Phrase {
    words: Vec<String>,
    /// Identifiers as a whole, which are rarer than their parts.
    wholes: Vec<String>,
    /// Whether the last word may be incomplete.
    is_prefix: bool,
}

impl Phrase {
    fn of(term: &Term) -> Option<Self> {
        let (mut words, mut wholes) = (Vec::new(), Vec::new());
        split(&term.text, |piece| match piece.form {
            Form::Whole => wholes.push(fold(piece.text).into_owned()),
            Form::Word | Form::Pair => words.push(fold(piece.text).into_owned()),
        });
        // Words that are separated by a space are not in the index as a whole.
        if term.text.contains(char::is_whitespace) || term.is_prefix {
            wholes.clear();
        }
        (!words.is_empty()).then_some(Self { words, wholes, is_prefix: term.is_prefix })
    }

    /// Returns the FTS5 expressions for the words, all of which must match.
    fn expressions(&self, connection: &Connection) -> rusqlite::Result<Vec<String>> {
        let last = self.words.len() - 1;
        let word = |at: usize| any_of(connection, &self.words[at..=at], self.is_prefix && at == last);
        let words = (0..=last).map(|at| word(at).map(|any| format!("({any})")));
        words.chain(self.wholes.iter().map(|word| Ok(format!("\"{word}\"")))).collect()
    }

    /// Returns whether a text contains the phrase.
    fn is_in(&self, text: &str) -> bool {
        let mut run = 0;
        let mut found = false;
        split(text, |piece| {
            if found || piece.form == Form::Whole {
                return;
            }
            let is_same = |at: usize| {
                let (word, found) = (&self.words[at], fold(piece.text));
                *word == found || (self.is_prefix && at + 1 == self.words.len() && found.starts_with(word.as_str()))
            };
            run = if is_same(run) { run + 1 } else { usize::from(is_same(0)) };
            if run == self.words.len() {
                (found, run) = (true, 0);
            }
        });
        found
    }
}

impl<'a> Strict<'a> {
    /// Returns `None` if nothing can be found, because there is no such project, session or host.
    pub(super) fn new(connection: &Connection, query: &SearchQuery<'a>) -> rusqlite::Result<Option<Self>> {
        let mut project = None;
        if let Some(key) = query.project_key {
            project = project_number(connection, key)?;
            if project.is_none() {
                return Ok(None);
            }
        }
        let mut session = None;
        if let Some(name) = query.session {
            let sql = "SELECT s.id, p.id FROM sessions s JOIN projects p ON p.project_key = s.project_key
                       WHERE s.session_id = ?1";
            let found: Option<(i64, i64)> =
                connection.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((id, of_project)) = found else { return Ok(None) };
            if project.is_some_and(|project| project != of_project) {
                return Ok(None);
            }
            (session, project) = (Some(id), Some(of_project));
        }
        let mut without_session = None;
        if let Some(name) = query.without_session {
            without_session = connection
                .prepare_cached("SELECT id FROM sessions WHERE session_id = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?;
        }
        let hosts = HostFilter::of(connection, query.from_host)?;
        if hosts.as_ref().is_some_and(HostFilter::is_empty) {
            return Ok(None);
        }
        let required: Vec<Phrase> = query.query.into_iter().flat_map(Query::required).filter_map(Phrase::of).collect();
        let excluded = query.query.into_iter().flat_map(|query| &query.excluded).filter_map(Phrase::of).collect();
        let mut required_expressions = Vec::new();
        for phrase in &required {
            required_expressions.extend(phrase.expressions(connection)?);
        }
        Ok(Some(Self {
            project,
            session,
            without_session,
            hosts,
            kinds: query.kinds,
            what: query.what,
            from: query.from.map_or(0, |from| from.0 as i64),
            to: query.to.map_or(i64::MAX, |to| i64::try_from(to.0).unwrap_or(i64::MAX)),
            file: query.file.map(str::to_lowercase),
            required,
            required_expressions,
            excluded,
        }))
    }

    /// Returns whether there are required words, apart from filters.
    pub(super) fn has_required(&self) -> bool {
        !self.required.is_empty()
    }

    /// Returns whether records of a type can match.
    pub(super) fn takes(&self, what: What) -> bool {
        let is_asked_for = self.what.is_empty() || self.what.contains(&what);
        // Only observations have a kind and files.
        let needs_observation = !self.kinds.is_empty() || self.file.is_some();
        is_asked_for && (what == What::Observation || !needs_observation)
    }

    /// Returns the FTS5 expression for the filters; empty if there are none.
    pub(super) fn expression(&self, what: Option<What>, month: Option<i64>) -> String {
        let mut all = self.required_expressions.clone();
        if let Some(session) = self.session {
            all.push(format!("\"=s{session}\""));
        }
        let any = |terms: Vec<String>| format!("({})", terms.join(" OR "));
        // What was made here has no such term.
        if let Some(others) = self.hosts.as_ref().and_then(HostFilter::only_others) {
            all.push(any(others.iter().map(|host| format!("\"=h{host}\"")).collect()));
        }
        if !self.kinds.is_empty() {
            all.push(any(self.kinds.iter().map(|kind| format!("\"=k{kind}\"")).collect()));
        }
        // Within a project, a range of rowids does the same.
        match what {
            Some(what) if self.project.is_none() => all.push(format!("\"{}\"", what_term(what))),
            Some(_) => {}
            None => {
                let taken: Vec<What> = What::ALL.into_iter().filter(|what| self.takes(*what)).collect();
                if taken.len() < What::ALL.len() && !taken.is_empty() {
                    all.push(any(taken.into_iter().map(|what| format!("\"{}\"", what_term(what))).collect()));
                }
            }
        }
        let (first, last) = (self.from / MONTH_MS, self.to / MONTH_MS);
        match month {
            Some(month) => all.push(format!("\"=t{month}\"")),
            None if last - first < MOST_MONTHS => {
                all.push(any((first..=last).map(|month| format!("\"=t{month}\"")).collect()));
            }
            None => {}
        }
        all.join(" AND ")
    }

    /// Returns an expression that excludes the session that is left out.
    pub(super) fn without_session(&self, expression: String) -> String {
        match self.without_session {
            Some(session) if !expression.is_empty() => format!("({expression}) NOT \"=s{session}\""),
            Some(_) | None => expression,
        }
    }

    /// Returns whether every record that the index finds in the project matches, so that [`Strict::passes`] is always true.
    pub(super) fn is_decided_by_index(&self) -> bool {
        let has_filter = self.session.is_some()
            || self.without_session.is_some()
            || self.hosts.is_some()
            || self.file.is_some()
            || !self.kinds.is_empty();
        let has_phrase = !self.required.is_empty() || !self.excluded.is_empty();
        !has_filter && !has_phrase && self.from == 0 && self.to == i64::MAX
    }

    /// Returns whether a record matches.
    pub(super) fn passes(&self, one: &Candidate) -> bool {
        let is_there = |phrase: &Phrase| one.fields.iter().any(|(text, _)| phrase.is_in(text));
        self.takes(one.what)
            && self.session.is_none_or(|session| one.session == Some(session))
            && (self.without_session.is_none() || one.session != self.without_session)
            && self.hosts.as_ref().is_none_or(|hosts| hosts.has(one.host))
            && self.project.is_none_or(|project| one.project == project)
            && (self.from..=self.to).contains(&one.at)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == one.kind))
            && self.file.as_deref().is_none_or(|file| one.has_file(file))
            && self.required.iter().all(is_there)
            && !self.excluded.iter().any(is_there)
    }

    /// Returns the range of months in which records of a type can match.
    pub(super) fn months(&self, connection: &Connection, table: &str) -> rusqlite::Result<Option<(i64, i64)>> {
        let sql = format!(
            "SELECT min((SELECT min(created_at) FROM {table} WHERE project_id = p.id)),
                    max((SELECT max(created_at) FROM {table} WHERE project_id = p.id))
             FROM projects p WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1)"
        );
        let (first, last): (Option<i64>, Option<i64>) =
            connection.query_row(&sql, [self.project], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(first.zip(last).map(|(first, last)| (first.max(self.from) / MONTH_MS, last.min(self.to) / MONTH_MS)))
    }
}
