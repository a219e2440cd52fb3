//! The strict parts of a query: filters, required and excluded words, and expressions for words that begin with
//! something.

use longhaul_memory::{Form, Kind, Query, Term, fold, split};
use rusqlite::Connection;

use super::SearchQuery;
use super::candidate::Candidate;
use super::index::{MONTH_MS, what_term};
use crate::What;
use crate::memory::session_row::project_number;
use crate::sql::Sql;
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
            let found: Option<(i64, i64)> = connection.first(sql, [name])?;
            let Some((id, of_project)) = found else { return Ok(None) };
            if project.is_some_and(|project| project != of_project) {
                return Ok(None);
            }
            (session, project) = (Some(id), Some(of_project));
        }
        let mut without_session = None;
        if let Some(name) = query.without_session {
            without_session = connection.first("SELECT id FROM sessions WHERE session_id = ?1", [name])?;
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

    pub(super) fn passes(&self, candidate: &Candidate) -> bool {
        let is_there = |phrase: &Phrase| candidate.fields.iter().any(|(text, _)| phrase.is_in(text));
        self.takes(candidate.what)
            && self.session.is_none_or(|session| candidate.session == Some(session))
            && (self.without_session.is_none() || candidate.session != self.without_session)
            && self.hosts.as_ref().is_none_or(|hosts| hosts.has(candidate.host))
            && self.project.is_none_or(|project| candidate.project == project)
            && (self.from..=self.to).contains(&candidate.at)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == candidate.kind))
            && self.file.as_deref().is_none_or(|file| candidate.has_file(file))
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
        let (first, last): (Option<i64>, Option<i64>) = connection.one(&sql, [self.project])?;
        Ok(first.zip(last).map(|(first, last)| (first.max(self.from) / MONTH_MS, last.min(self.to) / MONTH_MS)))
    }
}

/// A beginning with this many characters is left to FTS5 if too many words begin with it.
const LEFT_TO_FTS5: usize = 3;

/// Maximum number of words that are searched for in place of their beginning.
const WORDS: usize = 256;

/// After this many rows of one word, the next word is looked up, instead of reading on to it.
const ROWS_OF_WORD: usize = 16;

/// The words of the index, each once for every row that has it. The table has no content of its own.
const VOCABULARY: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage_vocabulary
                          USING fts5vocab ('main', 'passage_terms', 'instance')";

/// Selects the words from one on.
const WORDS_FROM: &str = "SELECT term FROM temp.passage_vocabulary WHERE term >= ?1";

/// Returns the expression that matches any of the words, or what begins with any of them.
pub(super) fn any_of(connection: &Connection, words: &[String], is_prefix: bool) -> rusqlite::Result<String> {
    let mut any = Vec::with_capacity(words.len());
    for word in words {
        match is_prefix {
            false => any.push(quoted(word)),
            true => {
                let is_long = word.chars().count() >= LEFT_TO_FTS5;
                // Of hundreds of spellings, nearly all begin no word, and looking each of them up takes longer.
                let is_looked_up = !is_long || words.len() == 1;
                let longer = if is_looked_up { words_beginning_with(connection, word)? } else { Vec::new() };
                if is_long && (!is_looked_up || longer.len() == WORDS) {
                    any.push(format!("{}*", quoted(word)));
                } else {
                    any.push(quoted(word));
                    any.extend(longer.iter().map(|word| quoted(word)));
                }
            }
        }
    }
    Ok(any.join(" OR "))
}

fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}

/// Returns words of the index that begin with a text and are longer, in the order of their bytes, up to the limit.
fn words_beginning_with(connection: &Connection, beginning: &str) -> rusqlite::Result<Vec<String>> {
    connection.execute_batch(VOCABULARY)?;
    let mut statement = connection.prepare_cached(WORDS_FROM)?;
    let mut words: Vec<String> = Vec::new();
    // No word has a control character, so this is after the text itself and before every longer word.
    let mut from = format!("{beginning}\u{1}");
    loop {
        let mut rows = statement.query([&from])?;
        let mut rows_of_word = 0;
        while rows_of_word < ROWS_OF_WORD {
            let Some(row) = rows.next()? else { return Ok(words) };
            let word = row.get_ref(0)?.as_str()?;
            if words.last().is_some_and(|last| last == word) {
                rows_of_word += 1;
                continue;
            }
            if !word.starts_with(beginning) || words.len() == WORDS {
                return Ok(words);
            }
            rows_of_word = 0;
            words.push(word.to_owned());
        }
        from = words.last().map_or(from, |last| format!("{last}\u{1}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ROWS_OF_WORD, WORDS, any_of};
    use crate::Store;
    use crate::sql::Sql;

    fn store(rows: &[String]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let sql = "INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)";
        for (number, terms) in rows.iter().enumerate() {
            store.connection.run(sql, (number as i64, terms)).unwrap();
        }
        (folder, store)
    }

    #[track_caller]
    fn check(store: &Store, word: &str, expected: &str) {
        assert_eq!(any_of(&store.connection, &[word.to_owned()], true).unwrap(), expected, "{word}");
    }

    #[test]
    fn a_short_beginning_is_the_words_that_begin_with_it() {
        let mut rows = vec!["zb za.1 y con".to_owned(), "七月 七日 八月 =p7".to_owned()];
        rows.extend((0..10 * ROWS_OF_WORD).map(|number| format!("zab x{number}")));
        let (_folder, store) = store(&rows);
        check(&store, "z", r#""z" OR "za.1" OR "zab" OR "zb""#);
        check(&store, "za", r#""za" OR "za.1" OR "zab""#);
        check(&store, "七", r#""七" OR "七日" OR "七月""#);
        check(&store, "月", r#""月""#);
        check(&store, "co", r#""co" OR "con""#);
        check(&store, "con", r#""con""#);
        let spellings = any_of(&store.connection, &["cno".to_owned(), "con".to_owned()], true).unwrap();
        assert_eq!(spellings, r#""cno"* OR "con"*"#);
        let whole = any_of(&store.connection, &["z".to_owned(), "y".to_owned()], false).unwrap();
        assert_eq!(whole, r#""z" OR "y""#);
    }

    #[test]
    fn the_number_of_words_is_limited() {
        let words: Vec<String> = (0..2 * WORDS).map(|number| format!("zoo{number:04}")).collect();
        let (_folder, store) = store(&[words.join(" ")]);
        let any = any_of(&store.connection, &["z".to_owned()], true).unwrap();
        assert_eq!(any.split(" OR ").count(), 1 + WORDS);
        let sql = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH ?1";
        let found: i64 = store.connection.one(sql, [any]).unwrap();
        assert_eq!(found, 1);
        // FTS5 finds all of them.
        check(&store, "zoo", r#""zoo"*"#);
        check(&store, "zoo00", &format!("\"zoo00\" OR {}", quoted_words(0..100)));
    }

    fn quoted_words(numbers: std::ops::Range<usize>) -> String {
        numbers.map(|number| format!("\"zoo{number:04}\"")).collect::<Vec<_>>().join(" OR ")
    }

    #[test]
    fn a_reader_can_look_them_up() {
        let (folder, store) = store(&["zab".to_owned()]);
        drop(store);
        let reader = Store::open_to_read(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let reading = reader.connection.unchecked_transaction().unwrap();
        assert_eq!(any_of(&reading, &["z".to_owned()], true).unwrap(), r#""z" OR "zab""#);
    }
}
