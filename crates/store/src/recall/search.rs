//! Searches the memory: by wanted words, or, without any, by filters and required words, the newest first. Here is also
//! how much a search reads.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ops::Deref;

use longhaul_core::Millis;
use longhaul_memory::{Field, Kind, Look, Looker, Query, WantedTerm, are_names, common_terms, dates_in, wanted_terms};
use rusqlite::Connection;

use super::candidate::{Candidate, Ranked};
use super::expression::{Strict, any_of};
use super::index::rows;
use super::key::{Key, range};
use super::order::{self, QueryKind, rank};
use super::trigrams::{self, files_like};
use super::{NearRecords, postings};
use crate::sql::Sql;
use crate::{Hit, Order, Score, ScoreParts, Store, StoreError, What};

/// Maximum number of bytes of passages that are read and ranked.
const PASSAGE_BYTES: u64 = 512 * 1024;

/// Number of bytes by which a longer passage counts, so that a few long ones do not exclude all others. Most are read only
/// up to a limit of their own.
const LONG_PASSAGE: u64 = 16 * 1024;

/// Number of records that are read if all matches are wanted, such as in the order of time.
const MOST: usize = 1_000;

/// A query with at least this many terms is a question.
const QUESTION: usize = 3;

#[derive(Debug, Clone, Default)]
pub struct SearchQuery<'a> {
    /// The words. Its filters are ignored; the fields below are used.
    pub query: Option<&'a Query>,
    pub project_key: Option<&'a str>,
    pub session: Option<&'a str>,
    pub without_session: Option<&'a str>,
    /// Only what comes from the host with this name.
    pub from_host: Option<&'a str>,
    /// Only observations of these kinds; empty for all records.
    pub kinds: &'a [Kind],
    /// Only observations of a file whose path contains this.
    pub file: Option<&'a str>,
    pub from: Option<Millis>,
    pub to: Option<Millis>,
    /// Only records of these types; empty for all.
    pub what: &'a [What],
    pub order: Order,
    pub limit: usize,
    pub offset: usize,
}

impl Store {
    /// Returns the results of a search by words.
    ///
    /// Plain words are not required. The cost is bounded, however many records there are: common words only rank the
    /// records that rarer ones select.
    pub fn search(&self, query: &SearchQuery<'_>) -> Result<Vec<Hit>, StoreError> {
        self.search_with_meaning(query, NearRecords::default)
    }

    /// Returns the results of a search by words and meaning.
    ///
    /// `near` returns the records that are similar in meaning to the query. It is called at most once, when the words have
    /// been searched for, so that another thread can compute it meanwhile.
    pub fn search_with_meaning(
        &self,
        query: &SearchQuery<'_>,
        near: impl FnOnce() -> NearRecords,
    ) -> Result<Vec<Hit>, StoreError> {
        let near = LazyCell::new(near);
        // In one transaction: an index may be replaced meanwhile.
        let find = || self.read("search the memory", |connection| find(connection, query, &near));
        match find() {
            // The records are intact, and the indexes are built from them.
            Err(error) if error.is_corrupt() && self.rebuild_indexes().is_ok() => find(),
            found => found,
        }
    }
}

fn find(
    connection: &Connection,
    query: &SearchQuery<'_>,
    lazy_near: &dyn Deref<Target = NearRecords>,
) -> rusqlite::Result<Vec<Hit>> {
    let Some(strict) = Strict::new(connection, query)? else { return Ok(Vec::new()) };
    let wanted = query.query.map(Query::wanted_terms).unwrap_or_default();
    // A text without any word, such as an emoji, matches nothing.
    if wanted.is_empty() && !strict.has_required() && query.query.is_some_and(|query| !query.terms.is_empty()) {
        return Ok(Vec::new());
    }
    let searcher = Searcher { connection, query, lazy_near, strict: &strict, wanted: &wanted, effort: &SEARCH };
    let mut found = if wanted.is_empty() { searcher.listed()? } else { searcher.ranked()?.0 };
    let text = query.query.map(Query::wanted).unwrap_or_default();
    if found.is_empty() && !wanted.is_empty() {
        // A weak result is better than none, as long as there is any word of the query.
        let common = common_terms(&text);
        if !common.is_empty() {
            found = Searcher { wanted: &common, ..searcher }.ranked()?.0;
            found.iter_mut().for_each(|ranked| (ranked.look.covered, ranked.evidence) = (0.0, 0.0));
        }
    }
    let mut required = required_looker(query, &wanted);
    let shown = found.into_iter().skip(query.offset).take(query.limit);
    let is_question = wanted.len() >= QUESTION && !strict.has_required();
    shown.map(|ranked| hit(connection, &ranked, is_question, required.as_mut())).collect()
}

/// Returns the looker for wanted and required words together, for snippets; `None` if nothing is required.
///
/// The ranking uses only the wanted words, because every result has the required ones.
fn required_looker(query: &SearchQuery<'_>, wanted: &[WantedTerm]) -> Option<Looker> {
    let required: Vec<&str> =
        query.query.into_iter().flat_map(Query::required).map(|term| term.text.as_str()).collect();
    let terms: Vec<WantedTerm> = wanted.iter().cloned().chain(wanted_terms(&required.join(" "))).collect();
    (!required.is_empty()).then(|| Looker::new(terms.iter().map(|term| (term, 1.0))))
}

pub(super) struct Searcher<'a> {
    pub(super) connection: &'a Connection,
    pub(super) query: &'a SearchQuery<'a>,
    /// The records that are near in meaning, from the time at which they are used first.
    pub(super) lazy_near: &'a dyn Deref<Target = NearRecords>,
    pub(super) strict: &'a Strict<'a>,
    pub(super) wanted: &'a [WantedTerm],
    pub(super) effort: &'a Effort,
}

impl Searcher<'_> {
    /// Returns the records that are near in meaning. The first call waits until they are computed.
    fn near(&self) -> &NearRecords {
        self.lazy_near
    }

    /// Returns all matches of a query without wanted words.
    fn listed(&self) -> rusqlite::Result<Vec<Ranked>> {
        let all = self.gather("")?;
        if self.strict.has_required() && self.query.order == Order::Relevance {
            let text: Vec<&str> =
                self.query.query.into_iter().flat_map(Query::required).map(|term| term.text.as_str()).collect();
            let terms = wanted_terms(&text.join(" "));
            let mut looker = Looker::new(terms.iter().map(|term| (term, 1.0)));
            return rank(self.connection, &mut looker, all, self.strict, (QueryKind::Words, self.effort));
        }
        Ok(self.by_time(all))
    }

    /// Returns the best matches, the best first, and what has ranked them.
    pub(super) fn ranked(&self) -> rusqlite::Result<(Vec<Ranked>, Looker)> {
        let mut looker = Looker::new([]);
        if self.query.order != Order::Relevance {
            let all = self.gather(&every(self.connection, self.wanted)?)?;
            if !all.is_empty() {
                return Ok((self.by_time(all), looker));
            }
        }
        let records = self.records()?;
        let most = self.effort.candidates.max(self.query.limit.saturating_add(self.query.offset).min(MOST));
        let found = postings::read(self.connection, self.wanted, self.strict, records, most, self.effort)?;
        let mut candidates = self.read(&found.records)?;
        candidates.iter_mut().for_each(|candidate| candidate.is_selected = true);
        if self.strict.has_required() && self.strict.takes(What::Prompt) {
            self.add_passages_with_required(&mut candidates)?;
        }
        if let Some(file) = &self.strict.file {
            self.add_observations_of_file(&mut candidates, file)?;
        }
        if candidates.is_empty() && !found.unknown.is_empty() {
            // Only parts of words remain, which are in the trigrams of prompts, titles and paths.
            let parts = trigrams::having_parts(self.connection, self.strict, &found.unknown)?;
            candidates = self.read(&parts)?;
            if !candidates.is_empty() {
                return Ok((self.by_time_if_asked(candidates), looker));
            }
        }
        looker = Looker::new(found.terms.iter().map(|(term, rarity)| (term, *rarity)));
        looker.read_on = self.effort.read_on;
        let kind = match self.wanted.len() {
            ..QUESTION => QueryKind::Words,
            _ if are_names(self.wanted) => QueryKind::Names,
            _ => QueryKind::Question,
        };
        let how = (kind, self.effort);
        looker.dates = dates_in(&self.query.query.map(Query::wanted).unwrap_or_default());
        let ranked = rank(self.connection, &mut looker, candidates, self.strict, how)?;
        if ranked.is_empty() && !self.near().are_enough {
            return Ok((ranked, looker));
        }
        let mut ranked = order::join_by_meaning(self.connection, &mut looker, ranked, self.near(), self.strict, how)?;
        let rarest = postings::rarity(1.0, records);
        ranked.iter_mut().for_each(|ranked| ranked.evidence = ranked.by_words / rarest);
        if self.query.order != Order::Relevance {
            ranked = self.by_time(ranked.into_iter().map(|ranked| ranked.candidate).collect());
        }
        Ok((ranked, looker))
    }

    /// Adds passages that have the required words in another row than the wanted ones, because a prompt and its replies
    /// are separate rows.
    fn add_passages_with_required(&self, candidates: &mut Vec<Candidate>) -> rusqlite::Result<()> {
        let expression = self.strict.without_session(self.strict.expression(Some(What::Prompt), None));
        let range = range(self.strict.project, What::Prompt);
        let known: HashSet<Key> = candidates.iter().map(Candidate::key).collect();
        let rows = rows(self.connection, &expression, &range, self.effort.candidates)?;
        let mut keys: Vec<Key> = rows.into_iter().map(Key::of_row).filter(|key| !known.contains(key)).collect();
        keys.dedup();
        candidates.extend(self.read(&keys)?);
        Ok(())
    }

    /// Adds the observations of a file. Records with a common word are read only up to a limit, which may exclude those
    /// of the file.
    fn add_observations_of_file(&self, candidates: &mut Vec<Candidate>, file: &str) -> rusqlite::Result<()> {
        let known: HashSet<Key> = candidates.iter().map(Candidate::key).collect();
        let ids = trigrams::files_like(self.connection, self.strict.project, file)?.unwrap_or_default();
        let keys: Vec<Key> = ids.into_iter().take(MOST).map(|id| Key::new(0, What::Observation, id)).collect();
        candidates.extend(self.read(&keys)?.into_iter().filter(|candidate| !known.contains(&candidate.key())));
        Ok(())
    }

    /// Returns the estimated number of records, without counting all of them.
    pub(super) fn records(&self) -> rusqlite::Result<f64> {
        let count = |sql: &str| self.connection.one_with(sql, [self.strict.project], |row| row.get::<_, i64>(0));
        let observations = match self.effort.takes_calls {
            true => count("SELECT coalesce(sum(observations), 0) FROM projects WHERE ?1 IS NULL OR id = ?1")?,
            false => 0,
        };
        let counted = self.effort.counted;
        let prompts = match self.strict.project {
            Some(_) => {
                count(&format!("SELECT count(*) FROM (SELECT 1 FROM prompts WHERE project_id = ?1 LIMIT {counted})"))?
            }
            None => count("SELECT coalesce((SELECT max(id) FROM prompts), 0) WHERE ?1 IS NULL")?,
        };
        Ok((observations + prompts).max(1) as f64)
    }

    fn gather(&self, words: &str) -> rusqlite::Result<Vec<Candidate>> {
        let mut all = Vec::new();
        for what in What::ALL.into_iter().filter(|what| self.strict.takes(*what)) {
            all.extend(gather(self.connection, self.strict, self.query, what, words)?);
        }
        Ok(all)
    }

    /// Reads records, the best first. Passages after a certain amount of text are left out, because the longest replies
    /// would cost as much as a hundred others.
    fn read(&self, keys: &[Key]) -> rusqlite::Result<Vec<Candidate>> {
        let mut found = Vec::with_capacity(keys.len());
        let mut text = 0;
        for key in keys {
            if key.what() == What::Prompt && text > PASSAGE_BYTES {
                continue;
            }
            let Some(candidate) =
                Candidate::read(self.connection, *key)?.filter(|candidate| self.strict.passes(candidate))
            else {
                continue;
            };
            text += if candidate.what == What::Prompt { candidate.chars.min(LONG_PASSAGE) } else { 0 };
            found.push(candidate);
        }
        Ok(found)
    }

    fn by_time_if_asked(&self, found: Vec<Candidate>) -> Vec<Ranked> {
        match self.query.order {
            Order::Relevance => found.into_iter().map(unranked).collect(),
            Order::Newest | Order::Oldest => self.by_time(found),
        }
    }

    fn by_time(&self, mut found: Vec<Candidate>) -> Vec<Ranked> {
        let newest = |a: &Candidate, b: &Candidate| (b.at, b.id).cmp(&(a.at, a.id));
        match self.query.order {
            Order::Relevance | Order::Newest => found.sort_by(newest),
            Order::Oldest => found.sort_by(|a, b| newest(b, a)),
        }
        found.into_iter().map(unranked).collect()
    }
}

fn unranked(candidate: Candidate) -> Ranked {
    let covered = 1.0;
    let mut look = Look::default();
    look.covered = covered;
    Ranked::of(candidate, look)
}

/// Returns the expression that requires all wanted terms.
fn every(connection: &Connection, wanted: &[WantedTerm]) -> rusqlite::Result<String> {
    let mut all = Vec::with_capacity(wanted.len());
    for term in wanted {
        all.push(format!("({})", any_of(connection, &term.forms, term.is_prefix)?));
    }
    Ok(all.join(" AND "))
}

fn percent(share: f64) -> u8 {
    (share * 100.0).round().clamp(0.0, 100.0) as u8
}

/// Returns a record as a search result.
fn hit(
    connection: &Connection,
    ranked: &Ranked,
    is_question: bool,
    required: Option<&mut Looker>,
) -> rusqlite::Result<Hit> {
    let candidate = &ranked.candidate;
    let fields: Vec<Field<'_>> = candidate.fields();
    let snippet = match required {
        Some(looker) => looker.look(&fields).snippet(&fields),
        None if ranked.look.has.is_empty() => String::new(),
        None => ranked.look.snippet(&fields),
    };
    let thousandths = |part: f64| (part.max(0.0) * 1_000.0).round() as u64;
    let parts = ranked.parts;
    Ok(Hit {
        snippet,
        score: Score {
            thousandths: (ranked.score.max(0.0) * 1_000.0) as u64,
            covered: percent(ranked.look.covered),
            near: percent(ranked.look.near),
            similarity: ranked.similarity.map(|similarity| percent(similarity.into())),
            parts: ScoreParts {
                words: thousandths(ranked.look.total()),
                kind: thousandths(candidate.weight()),
                neighbours: thousandths(parts.neighbours),
                calls: thousandths(parts.calls),
                meaning: thousandths(parts.meaning),
                age: thousandths(parts.age),
                date: thousandths(parts.date),
            },
        },
        is_weak: ranked.is_weak(),
        is_unrelated: is_question && ranked.is_unrelated(),
        is_older: ranked.is_older,
        ..candidate.line(connection)?
    })
}

/// Maximum number of records of a type that are read, the newest first.
const MOST_OF_TYPE: usize = 1_000;

/// Number of rows of the index that few records exceed: a prompt has one, and one for the replies of each of its turns.
const ROWS_PER_RECORD: usize = 4;

/// Returns the records of a type that match. `words` is an additional FTS5 expression.
fn gather(
    connection: &Connection,
    strict: &Strict<'_>,
    query: &SearchQuery<'_>,
    what: What,
    words: &str,
) -> rusqlite::Result<Vec<Candidate>> {
    let files = match &strict.file {
        Some(file) => files_like(connection, strict.project, file)?,
        None => None,
    };
    let gatherer = Gatherer { connection, strict, what, words, files };
    let by_time = query.order != Order::Relevance || words.is_empty();
    if !by_time || !gatherer.finds_many()? {
        let found = gatherer.month(None)?;
        if found.len() < MOST_OF_TYPE || !by_time {
            return Ok(found);
        }
    }
    // The records that were stored last need not be the most recent ones, so each month is searched separately.
    let Some((first, last)) = strict.months(connection, what.table())? else { return Ok(Vec::new()) };
    let months: Vec<i64> = match query.order {
        Order::Oldest => (first..=last).collect(),
        Order::Relevance | Order::Newest => (first..=last).rev().collect(),
    };
    let wanted = query.limit.saturating_add(query.offset);
    let mut found = Vec::new();
    for month in months {
        found.extend(gatherer.month(Some(month))?);
        if found.len() >= wanted {
            break;
        }
    }
    Ok(found)
}

struct Gatherer<'a> {
    connection: &'a Connection,
    strict: &'a Strict<'a>,
    what: What,
    words: &'a str,
    /// Observations whose files may match.
    files: Option<Vec<i64>>,
}

impl Gatherer<'_> {
    /// Returns whether the index alone shows that there are as many matches as are read, so that none need be read to know it.
    fn finds_many(&self) -> rusqlite::Result<bool> {
        let expression = self.expression(None);
        if expression.is_empty() || !self.strict.is_decided_by_index() {
            return Ok(false);
        }
        let rows =
            rows(self.connection, &expression, &range(self.strict.project, self.what), MOST_OF_TYPE * ROWS_PER_RECORD)?;
        let mut keys: Vec<Key> = rows.into_iter().map(Key::of_row).filter(|key| key.what() == self.what).collect();
        keys.dedup();
        Ok(keys.len() >= MOST_OF_TYPE)
    }

    fn expression(&self, month: Option<i64>) -> String {
        let scope = self.strict.expression(Some(self.what), month);
        self.strict.without_session(super::postings::and(self.words, &scope))
    }

    /// Returns the matches of a month, or of all time.
    fn month(&self, month: Option<i64>) -> rusqlite::Result<Vec<Candidate>> {
        let expression = self.expression(month);
        let mut found = Vec::new();
        match (&self.files, expression.as_str()) {
            (Some(files), expression) if files.len() < MOST_OF_TYPE || expression.is_empty() => {
                for id in files {
                    self.take(*id, &mut found)?;
                }
            }
            (None, "") => {
                let sql = format!("SELECT id FROM {} ORDER BY id DESC", self.what.table());
                let mut statement = self.connection.prepare_cached(&sql)?;
                let mut all = statement.query([])?;
                while found.len() < MOST_OF_TYPE
                    && let Some(row) = all.next()?
                {
                    self.take(row.get(0)?, &mut found)?;
                }
            }
            (files, expression) => {
                let files: Option<HashSet<&i64>> = files.as_ref().map(|files| files.iter().collect());
                let range = range(self.strict.project, self.what);
                // More rows than needed, because some may not match.
                for row in rows(self.connection, expression, &range, MOST_OF_TYPE * 20)? {
                    let key = Key::of_row(row);
                    let is_known = found.last().is_some_and(|last: &Candidate| last.key() == key);
                    if key.what() != self.what || is_known || files.as_ref().is_some_and(|all| !all.contains(&key.id()))
                    {
                        continue;
                    }
                    self.take(key.id(), &mut found)?;
                    if found.len() >= MOST_OF_TYPE {
                        break;
                    }
                }
            }
        }
        // The condition on files does not depend on the month.
        Ok(found)
    }

    /// Reads a record. A list without words has what a rewind took back, too: it shows what happened.
    fn read(&self, key: Key) -> rusqlite::Result<Option<Candidate>> {
        let is_list = self.words.is_empty() && !self.strict.has_required();
        if is_list { Candidate::stored(self.connection, key) } else { Candidate::read(self.connection, key) }
    }

    fn take(&self, id: i64, found: &mut Vec<Candidate>) -> rusqlite::Result<()> {
        if found.len() < MOST_OF_TYPE
            && let Some(candidate) = self.read(Key::new(0, self.what, id))?
            && self.strict.passes(&candidate)
        {
            found.push(candidate);
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Number of rows of the index that are read for all terms together.
    pub(super) rows: usize,
    /// Minimum and maximum number of rows that are read for one term.
    pub(super) rows_of_term: (usize, usize),
    /// Maximum number of prompts of a project that are counted. With more, the rarity of a word hardly changes.
    pub(super) counted: usize,
    /// Number of records that are read and ranked.
    pub(super) candidates: usize,
    /// Whether every tool call with a term is a candidate. Otherwise, only calls with an identifier are, notes and decisions.
    pub(super) takes_calls: bool,
    /// Whether unknown words are corrected.
    pub(super) corrects: bool,
    /// Number of the best passages whose neighbours are read.
    pub(super) with_neighbours: usize,
    /// How far before and after a passage they are.
    pub(super) distances: &'static [i64],
    /// Number of the best passages that are compared for which is newer.
    pub(super) compared: usize,
    /// Number of the nearest records by meaning that are read.
    pub(super) nearest: usize,
    /// Number of bytes that are read of long passages after their beginnings, of all together.
    read_on: usize,
}

/// A search that was asked for.
const SEARCH: Effort = Effort {
    rows: 24_000,
    rows_of_term: (300, 3_000),
    counted: 20_000,
    candidates: 200,
    takes_calls: true,
    corrects: true,
    with_neighbours: 16,
    distances: &[-1, 1, -2, 2],
    compared: 16,
    nearest: 50,
    read_on: 2 * 1024 * 1024,
};

/// A search for a prompt, which waits for it.
pub(super) const PROMPT: Effort = Effort {
    rows: 1_500,
    rows_of_term: (100, 250),
    counted: 4_000,
    candidates: 12,
    takes_calls: false,
    corrects: false,
    with_neighbours: 2,
    distances: &[-1, 1],
    compared: 5,
    nearest: 8,
    read_on: 128 * 1024,
};
