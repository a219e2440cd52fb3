//! Searches without wanted words, by filters and required words: all matches, the newest first.

use std::collections::HashSet;

use rusqlite::Connection;

use super::SearchQuery;
use super::candidate::Candidate;
use super::expression::Strict;
use super::index::rows;
use super::key::{Key, range};
use super::trigrams::files_like;
use crate::{Order, What};

/// Maximum number of records of a type that are read, the newest first.
const MOST: usize = 1_000;

/// Number of rows of the index that few records exceed: a prompt has one, and one for the replies of each of its turns.
const ROWS_PER_RECORD: usize = 4;

/// Returns the records of a type that match. `words` is an additional FTS5 expression.
pub(super) fn gather(
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
        if found.len() < MOST || !by_time {
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
        let rows = rows(self.connection, &expression, &range(self.strict.project, self.what), MOST * ROWS_PER_RECORD)?;
        let mut keys: Vec<Key> = rows.into_iter().map(Key::of_row).filter(|key| key.what() == self.what).collect();
        keys.dedup();
        Ok(keys.len() >= MOST)
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
            (Some(files), expression) if files.len() < MOST || expression.is_empty() => {
                for id in files {
                    self.take(*id, &mut found)?;
                }
            }
            (None, "") => {
                let sql = format!("SELECT id FROM {} ORDER BY id DESC", self.what.table());
                let mut statement = self.connection.prepare_cached(&sql)?;
                let mut all = statement.query([])?;
                while found.len() < MOST
                    && let Some(row) = all.next()?
                {
                    self.take(row.get(0)?, &mut found)?;
                }
            }
            (files, expression) => {
                let files: Option<HashSet<&i64>> = files.as_ref().map(|files| files.iter().collect());
                let range = range(self.strict.project, self.what);
                // More rows than needed, because some may not match.
                for row in rows(self.connection, expression, &range, MOST * 20)? {
                    let key = Key::of_row(row);
                    let is_known = found.last().is_some_and(|last: &Candidate| last.key() == key);
                    if key.what() != self.what || is_known || files.as_ref().is_some_and(|all| !all.contains(&key.id()))
                    {
                        continue;
                    }
                    self.take(key.id(), &mut found)?;
                    if found.len() >= MOST {
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
        if found.len() < MOST
            && let Some(one) = self.read(Key::new(0, self.what, id))?
            && self.strict.passes(&one)
        {
            found.push(one);
        }
        Ok(())
    }
}
