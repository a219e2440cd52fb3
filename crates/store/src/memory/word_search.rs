//! Searching records by the indexes of words and trigrams. The time is bounded, however many records there are.
//!
//! The indexes of words are used until the index of passages is built (see `recall::backlog`), those of trigrams for parts of
//! words afterwards too.

use std::ops::Deref;

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::session_row::project_number;
use super::tables::{Candidate, RECORD_TABLES, RecordTable};
use super::trigrams::{in_json, trigram_expression, trigrams};
use super::{Hit, Order, What, rank, records};
use crate::recall::{Key, SearchQuery};

/// How many matches of a file's name are read together with words.
const MOST_FILES: usize = 10_000;

/// Thirty days, as the indexes count time.
const MONTH_MS: i64 = 2_592_000_000;

/// How many months are looked up one by one at most.
const MOST_MONTHS: i64 = 36;

/// A query for the indexes of words.
#[derive(Debug, Clone)]
struct WordQuery<'a> {
    /// Words, as an FTS5 expression of quoted strings, such as `"parse" "conf"*`.
    words: Option<&'a str>,
    /// Texts that are searched within words if `words` find less than `limit`; all of them must be there. A text of less than
    /// three characters finds nothing.
    parts: &'a [&'a str],
    /// Words that must not be there, as an FTS5 expression of quoted strings.
    without: Option<&'a str>,
    /// The filters.
    query: &'a SearchQuery<'a>,
}

impl<'a> Deref for WordQuery<'a> {
    type Target = SearchQuery<'a>;

    fn deref(&self) -> &SearchQuery<'a> {
        self.query
    }
}

/// Returns the records that a query finds, one line each.
///
/// If more than 1,000 observations match, only the 1,000 that were stored last are compared; of prompts and summaries, which
/// are longer and fewer, 300.
pub(crate) fn find(connection: &Connection, query: &SearchQuery<'_>) -> rusqlite::Result<Vec<Hit>> {
    let typed = query.query.cloned().unwrap_or_default();
    let (words, without) = (typed.fts(), typed.without());
    // A word that no index has, such as an emoji, matches nothing; a star matches everything.
    if words.is_none() && typed.terms.iter().any(|term| term.text != "*") {
        return Ok(Vec::new());
    }
    let parts: Vec<&str> = typed.terms.iter().map(|term| term.text.as_str()).collect();
    find_words(connection, &WordQuery { words: words.as_deref(), parts: &parts, without: without.as_deref(), query })
}

/// Returns the records whose title, prompt or path has all parts somewhere, the last stored first.
pub(crate) fn having_parts(
    connection: &Connection,
    query: &SearchQuery<'_>,
    parts: &[String],
) -> rusqlite::Result<Vec<Key>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let query = WordQuery { words: None, parts: &parts, without: None, query };
    let Some(filter) = Filter::new(connection, &query)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for table in RECORD_TABLES.iter().filter(|table| filter.takes(table.what) && !filter.parts.is_empty()) {
        let all = filter.search_parts(connection, table)?;
        found.extend(all.into_iter().map(|one| Key::new(one.project, one.what, one.id)));
    }
    Ok(found)
}

/// Returns the observations with a path that may contain a text, the last stored first; `None` if the text is too short to
/// be looked up.
pub(crate) fn files_like(
    connection: &Connection,
    project: Option<i64>,
    file: &str,
) -> rusqlite::Result<Option<Vec<i64>>> {
    let expression = trigram_expression(project, [in_json(file).as_str()]);
    if trigrams(&in_json(file)).is_empty() {
        return Ok(None);
    }
    let sql = format!(
        "SELECT rowid FROM observation_trigrams WHERE observation_trigrams MATCH ?1 ORDER BY rowid DESC LIMIT {MOST_FILES}"
    );
    connection.prepare_cached(&sql)?.query_map([expression], |row| row.get(0))?.collect::<Result<_, _>>().map(Some)
}

fn find_words(connection: &Connection, query: &WordQuery<'_>) -> rusqlite::Result<Vec<Hit>> {
    let Some(filter) = Filter::new(connection, query)? else { return Ok(Vec::new()) };
    let wanted = query.limit.saturating_add(query.offset);
    let mut found = Vec::new();
    for table in RECORD_TABLES.iter().filter(|table| filter.takes(table.what)) {
        found.extend(filter.search_words(connection, table, wanted)?);
    }
    let score = |found: &mut [Candidate], terms: &[String]| {
        if query.order == Order::Relevance {
            rank::score(found, terms);
        }
    };
    score(&mut found, &query.words.map(rank::terms).unwrap_or_default());
    if query.words.is_some() && found.len() < wanted && !filter.parts.is_empty() {
        let mut more = Vec::new();
        for table in RECORD_TABLES.iter().filter(|table| filter.takes(table.what)) {
            more.extend(filter.search_parts(connection, table)?);
        }
        more.retain(|one| !found.iter().any(|other| (other.what, other.id) == (one.what, one.id)));
        score(&mut more, &filter.parts);
        // A whole word ranks above a part of one.
        let lead = more.iter().map(|one| one.score).fold(0.0, f64::max) + 1.0;
        found.iter_mut().for_each(|one| one.score += lead);
        found.extend(more);
    }
    let newest = |a: &Candidate, b: &Candidate| (b.at, b.id).cmp(&(a.at, a.id));
    match query.order {
        Order::Relevance => found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| newest(a, b))),
        Order::Newest => found.sort_by(newest),
        Order::Oldest => found.sort_by(|a, b| newest(b, a)),
    }
    found.into_iter().skip(query.offset).take(query.limit).map(|one| records::hit(connection, one)).collect()
}

/// A query, as the tables need it.
struct Filter<'a> {
    query: &'a WordQuery<'a>,
    project: Option<i64>,
    session: Option<i64>,
    from: i64,
    to: i64,
    /// In small letters.
    parts: Vec<String>,
    /// In small letters, as it stands in JSON.
    file: Option<String>,
    without: Vec<String>,
}

impl<'a> Filter<'a> {
    /// Returns `None` if the query can match nothing.
    fn new(connection: &Connection, query: &'a WordQuery<'a>) -> rusqlite::Result<Option<Self>> {
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
        if query.from.zip(query.to).is_some_and(|(from, to)| from > to) {
            return Ok(None);
        }
        let ms = |at: Option<Millis>, none: i64| at.map_or(none, |at| i64::try_from(at.0).unwrap_or(i64::MAX));
        Ok(Some(Self {
            query,
            project,
            session,
            from: ms(query.from, 0),
            to: ms(query.to, i64::MAX),
            parts: query
                .parts
                .iter()
                .filter(|part| !trigrams(part).is_empty())
                .map(|part| part.to_lowercase())
                .collect(),
            file: query.file.map(|file| in_json(&file.to_lowercase())),
            without: query.without.map(rank::terms).unwrap_or_default(),
        }))
    }

    fn takes(&self, what: What) -> bool {
        let only_observations = !self.query.kinds.is_empty() || self.file.is_some();
        (self.query.what.is_empty() || self.query.what.contains(&what))
            && (what == What::Observation || !only_observations)
    }

    /// Returns whether a candidate passes the filters that no index has applied.
    fn passes(&self, one: &Candidate) -> bool {
        (self.from..=self.to).contains(&one.at)
            && self.project.is_none_or(|project| project == one.project)
            && self.session.is_none_or(|session| Some(session) == one.session)
            && (self.query.kinds.is_empty() || self.query.kinds.iter().any(|kind| kind.as_str() == one.kind))
            && self.file.as_ref().is_none_or(|file| one.files.to_lowercase().contains(file))
    }

    /// Returns whether a candidate has none of the words that must not be there.
    fn is_without(&self, one: &Candidate) -> bool {
        let words =
            |text: &str| -> Vec<String> { text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect() };
        self.without.is_empty()
            || [&one.title, &one.files, &one.text]
                .iter()
                .all(|text| words(text).iter().all(|word| !self.without.contains(word)))
    }

    /// Returns the matches of the words, or of the filters where there are no words.
    fn search_words(
        &self,
        connection: &Connection,
        table: &RecordTable,
        wanted: usize,
    ) -> rusqlite::Result<Vec<Candidate>> {
        let by_file = self.file.as_deref().filter(|file| inner_words(file).is_empty() && !trigrams(file).is_empty());
        if let (Some(file), Some(index), None) = (by_file, table.trigrams, self.query.words) {
            let expression = self.trigram_expression([file]);
            return self.gather(connection, table, index, &expression, None);
        }
        let by_file = by_file.map(|file| self.trigram_expression([file]));
        let expression = self.word_expression(table, None);
        let found = self.gather(connection, table, table.words, &expression, by_file.as_deref())?;
        let by_time = self.query.order != Order::Relevance || self.query.words.is_none();
        if found.len() < table.most || !by_time {
            return Ok(found);
        }
        // The records that were stored last need not be the newest ones, so it is searched month by month.
        let Some((first, last)) = self.months(connection, table)? else { return Ok(found) };
        let months: Vec<i64> = match self.query.order {
            Order::Oldest => (first..=last).collect(),
            Order::Relevance | Order::Newest => (first..=last).rev().collect(),
        };
        let mut found = Vec::new();
        for month in months {
            let expression = self.word_expression(table, Some(month));
            found.extend(self.gather(connection, table, table.words, &expression, by_file.as_deref())?);
            if found.len() >= wanted {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the records that have all parts somewhere.
    fn search_parts(&self, connection: &Connection, table: &RecordTable) -> rusqlite::Result<Vec<Candidate>> {
        let Some(index) = table.trigrams else { return Ok(Vec::new()) };
        let texts = self.parts.iter().chain(&self.file).map(String::as_str);
        let expression = self.trigram_expression(texts);
        let mut found = self.gather(connection, table, index, &expression, None)?;
        found.retain(|one| {
            let (title, files) = (one.title.to_lowercase(), one.files.to_lowercase());
            self.parts.iter().all(|part| title.contains(part) || files.contains(&in_json(part)))
        });
        Ok(found)
    }

    /// Returns records that match and pass, the last stored first.
    fn gather(
        &self,
        connection: &Connection,
        table: &RecordTable,
        index: &str,
        expression: &str,
        file_expression: Option<&str>,
    ) -> rusqlite::Result<Vec<Candidate>> {
        let RecordTable { what, table: name, columns, .. } = table;
        let (sql, values) = match (expression, file_expression) {
            ("", _) => (format!("SELECT {columns} FROM {name} t ORDER BY t.id DESC"), vec![]),
            (_, None) => (
                format!(
                    "SELECT {columns} FROM {index} w CROSS JOIN {name} t ON t.id = w.rowid
                     WHERE {index} MATCH ?1 ORDER BY w.rowid DESC"
                ),
                vec![expression],
            ),
            // The plus keeps SQLite from searching the index of words once for every file.
            (_, Some(file_expression)) => (
                format!(
                    "SELECT {columns} FROM {index} w CROSS JOIN {name} t ON t.id = w.rowid
                     WHERE {index} MATCH ?1 AND +w.rowid IN (
                         SELECT rowid FROM observation_trigrams WHERE observation_trigrams MATCH ?2
                         ORDER BY rowid DESC LIMIT {MOST_FILES})
                     ORDER BY w.rowid DESC"
                ),
                vec![expression, file_expression],
            ),
        };
        // Only the index of words has left out records with unwanted words.
        let leave_out = expression.is_empty() || index != table.words;
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while found.len() < table.most
            && let Some(row) = rows.next()?
        {
            let one = Candidate::read(*what, row)?;
            if self.passes(&one) && (!leave_out || self.is_without(&one)) {
                found.push(one);
            }
        }
        Ok(found)
    }

    /// Returns the FTS5 expression for the part of the query that the index of words can answer.
    fn word_expression(&self, table: &RecordTable, month: Option<i64>) -> String {
        let mut terms = Vec::new();
        if let Some(words) = self.query.words {
            terms.push(format!("{} : ({words})", table.texts));
        }
        let file = self.file.as_deref().map(inner_words).unwrap_or_default();
        if !file.is_empty() {
            terms.push(format!("{{files_read files_modified}} : \"{file}\""));
        }
        if let Some(session) = self.session {
            terms.push(format!("scope : \"s{session}\""));
        } else if let Some(project) = self.project {
            terms.push(format!("scope : \"p{project}\""));
        }
        let any = |words: Vec<String>| format!("scope : ({})", words.join(" OR "));
        if !self.query.kinds.is_empty() {
            terms.push(any(self.query.kinds.iter().map(|kind| format!("\"k{kind}\"")).collect()));
        }
        let (first, last) = (self.from / MONTH_MS, self.to / MONTH_MS);
        match month {
            Some(month) => terms.push(format!("scope : \"t{month}\"")),
            None if last - first < MOST_MONTHS => {
                terms.push(any((first..=last).map(|month| format!("\"t{month}\"")).collect()));
            }
            None => {}
        }
        let all = terms.join(" AND ");
        match self.query.without.filter(|_| !all.is_empty()) {
            Some(without) => format!("({all}) NOT {} : ({without})", table.texts),
            None => all,
        }
    }

    fn trigram_expression<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> String {
        trigram_expression(self.project, texts)
    }

    /// Returns the first and the last month in which something can be found.
    fn months(&self, connection: &Connection, table: &RecordTable) -> rusqlite::Result<Option<(i64, i64)>> {
        let name = table.table;
        let sql = format!(
            "SELECT min((SELECT min(created_at) FROM {name} WHERE project_id = p.id)),
                    max((SELECT max(created_at) FROM {name} WHERE project_id = p.id))
             FROM projects p WHERE ?1 IS NULL OR p.id = ?1"
        );
        let (first, last): (Option<i64>, Option<i64>) =
            connection.query_row(&sql, [self.project], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(first.zip(last).map(|(first, last)| (first.max(self.from) / MONTH_MS, last.min(self.to) / MONTH_MS)))
    }
}

/// Returns the words of a part of a path that are certainly whole: all but the first and the last.
///
/// Every path with that part has them in this order, and looking them up is much faster than looking up trigrams. Returns
/// none for text beyond ASCII, which the index may split differently.
fn inner_words(part: &str) -> String {
    if !part.is_ascii() {
        return String::new();
    }
    let words: Vec<&str> = part.split(|c: char| !c.is_alphanumeric()).collect();
    let inner = words.get(1..words.len() - 1).unwrap_or_default();
    let inner: Vec<&str> = inner.iter().copied().filter(|word| !word.is_empty()).collect();
    // A single word may be in half of all paths.
    if inner.len() < 2 { String::new() } else { inner.join(" ") }
}
