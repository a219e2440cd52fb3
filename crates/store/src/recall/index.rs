//! Writes the indexes: adds the words of a record, and removes exactly those. What inserts, changes or deletes a record calls
//! a function here before or after; the schema has no triggers, which every hook would have to read.
//!
//! The index of passages does not store the text, so a row is removed by the terms that it was added with. They are computed
//! from the record again before it changes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use longhaul_memory::Terms;
use rusqlite::{Connection, Row};

use super::key::Key;
use super::{backlog, replies, trigrams};
use crate::sql::Sql;
use crate::sync::row_is_forgotten;
use crate::{RecordId, What, vectors};

/// Finds rows, the newest first.
const FIND: &str = "SELECT rowid FROM passage_terms
                    WHERE passage_terms MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid LIMIT ?4";

/// Adds the terms of a row.
const INSERT: &str = "INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)";

/// Thirty days, the unit of time in the index.
pub(crate) const MONTH_MS: i64 = 2_592_000_000;

/// Maximum number of words that one text may add to the cached stems. Above it, the cache is cleared.
const MOST_STEMS: usize = 100_000;

thread_local! {
    static TERMS: RefCell<(Terms, usize)> = RefCell::default();
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Indexed {
    key: Key,
    terms: String,
}

/// Records that are added to the indexes together.
///
/// FTS5 gathers the rows of a transaction, but writes a segment whenever a row comes before the last one. The row of a newer
/// record does (see [`Key`]): added one by one, each record would be a segment of its own. So they are added in the order of
/// their rows.
#[derive(Debug, Default)]
pub(crate) struct NewTerms {
    records: Vec<(What, i64)>,
    terms: Vec<(i64, String)>,
}

impl NewTerms {
    pub(crate) fn take_record(&mut self, connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
        self.records.push((what, id));
        if !backlog::has(connection, what, id)? {
            self.terms.extend(read(connection, what, id)?.map(|new| (new.key.row(0), new.terms)));
        }
        Ok(())
    }

    pub(crate) fn take(&mut self, row: i64, terms: String) {
        self.terms.push((row, terms));
    }

    /// Adds what was taken to the indexes. To be called before one of these records changes.
    pub(crate) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.records.sort_unstable_by_key(|(_, id)| *id);
        for (what, id) in self.records.drain(..) {
            count(connection, what, id, 1)?;
            trigrams::add(connection, what, id)?;
        }
        let mut rows = std::mem::take(&mut self.terms);
        if rows.is_empty() || !backlog::is_current(connection)? {
            return Ok(());
        }
        rows.sort_unstable_by_key(|(row, _)| *row);
        let mut statement = connection.prepare_cached(INSERT)?;
        rows.iter().try_for_each(|(row, terms)| statement.execute((row, terms)).map(drop))
    }
}

/// Adds a new record; to the index of passages only if it is not queued for it.
pub(crate) fn add(connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
    count(connection, what, id, 1)?;
    trigrams::add(connection, what, id)?;
    if backlog::has(connection, what, id)? { Ok(()) } else { add_queued(connection, what, id).map(drop) }
}

/// Counts an observation of its project: counting a million takes too long for a hook.
fn count(connection: &Connection, what: What, id: i64, change: i64) -> rusqlite::Result<()> {
    if what != What::Observation {
        return Ok(());
    }
    let sql = "UPDATE projects SET observations = observations + ?2
               WHERE id = (SELECT project_id FROM observations WHERE id = ?1)";
    connection.run(sql, (id, change)).map(drop)
}

/// Adds a record that was queued for the index. Returns the number of bytes of its terms.
pub(super) fn add_queued(connection: &Connection, what: What, id: i64) -> rusqlite::Result<usize> {
    let Some(new) = read(connection, what, id)? else { return Ok(0) };
    insert(connection, new.key.row(0), &new.terms)?;
    Ok(new.terms.len())
}

/// Returns the terms of a record, for [`replace`], which must follow when its words have changed.
pub(crate) fn before_change(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<Indexed>> {
    trigrams::remove(connection, what, id)?;
    indexed(connection, what, id)
}

/// Returns the terms that the index of passages has of a record.
fn indexed(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<Indexed>> {
    if backlog::has(connection, what, id)? { Ok(None) } else { read(connection, what, id) }
}

/// Updates the indexes after a record has changed. Its vectors are computed again later.
pub(crate) fn replace(connection: &Connection, what: What, id: i64, before: Option<Indexed>) -> rusqlite::Result<()> {
    trigrams::add(connection, what, id)?;
    vectors::have_changed(connection, RecordId { what, id })?;
    let Some(before) = before else { return Ok(()) };
    let after = read(connection, what, id)?.map(|after| after.terms).unwrap_or_default();
    change(connection, before.key.row(0), &before.terms, &after)
}

/// Forgets what is stored about a record elsewhere, before its row is deleted: its words in the indexes, its vectors, and which
/// record of the circle it is. A record of this host is forgotten by the other hosts, too.
pub(crate) fn forget(connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
    remove(connection, what, id)?;
    vectors::delete(connection, RecordId { what, id })?;
    row_is_forgotten(connection, what.table(), id)
}

/// Removes the words of a record; for a prompt, with those of its replies.
pub(crate) fn remove(connection: &Connection, what: What, id: i64) -> rusqlite::Result<()> {
    if what == What::Prompt {
        replies::unlink_all(connection, id)?;
    }
    count(connection, what, id, -1)?;
    match before_change(connection, what, id)? {
        Some(old) => delete(connection, old.key.row(0), &old.terms),
        None => Ok(()),
    }
}

/// Forgets all records of a session before it is emptied.
pub(crate) fn forget_session(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    forget_where(connection, "session_id = ?1", session)
}

/// Forgets all records of a project, including notes without a session.
pub(crate) fn forget_project(connection: &Connection, project: i64) -> rusqlite::Result<()> {
    forget_where(connection, "project_id = ?1", project)
}

fn forget_where(connection: &Connection, condition: &str, value: i64) -> rusqlite::Result<()> {
    for what in What::ALL {
        let sql = format!("SELECT id FROM {} WHERE {condition}", what.table());
        let ids: Vec<i64> = connection.all(&sql, [value])?;
        for id in ids {
            forget(connection, what, id)?;
        }
    }
    Ok(())
}

/// Returns the terms of texts, with the terms of their scope.
pub(crate) fn terms<'t>(scope: &str, texts: impl IntoIterator<Item = &'t str>) -> String {
    TERMS.with_borrow_mut(|(terms, made)| {
        if *made > MOST_STEMS {
            (*terms, *made) = (Terms::default(), 0);
        }
        let made_now = terms.index(texts);
        *made += made_now.len() / 8;
        if made_now.is_empty() { scope.to_owned() } else { format!("{scope} {made_now}") }
    })
}

/// Returns the terms of a row's scope: type, session, time, kind, and the other host that it comes from.
pub(crate) fn scope(what: What, session: i64, at: i64, kind: &str, host: Option<i64>) -> String {
    let kind = if kind.is_empty() { String::new() } else { format!(" =k{kind}") };
    let host = host.map(|host| format!(" =h{host}")).unwrap_or_default();
    format!("{} =s{session} =t{}{kind}{host}", what_term(what), at / MONTH_MS)
}

/// Returns the term that all records of a type have.
pub(crate) fn what_term(what: What) -> &'static str {
    match what {
        What::Prompt => "=wp",
        What::Observation => "=wo",
        What::Summary => "=ws",
    }
}

/// Returns the rows of a range that match an expression, the newest first.
pub(super) fn rows(
    connection: &Connection,
    expression: &str,
    range: &RangeInclusive<i64>,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    connection.all(FIND, (expression, range.start(), range.end(), limit as i64))
}

/// Reads a record in the form of the index.
fn read(connection: &Connection, what: What, id: i64) -> rusqlite::Result<Option<Indexed>> {
    let columns = match what {
        What::Prompt => "'', prompt",
        What::Observation => "kind, title || char(10) || narrative, facts, files_read, files_modified",
        What::Summary => "'', request, investigated, learned, completed, next_steps",
    };
    let sql = format!(
        "SELECT project_id, coalesce(session_id, 0), created_at, host_id, {columns} FROM {} WHERE id = ?1",
        what.table()
    );
    let read = |row: &Row<'_>| {
        let key = Key::new(row.get(0)?, what, id);
        let kind: String = row.get(4)?;
        let scope = scope(what, row.get(1)?, row.get(2)?, &kind, row.get(3)?);
        let mut texts: Vec<String> = Vec::new();
        for column in 5..row.as_ref().column_count() {
            texts.push(row.get(column)?);
        }
        Ok(Indexed { key, terms: terms(&scope, texts.iter().map(String::as_str)) })
    };
    connection.first_with(&sql, [id], read)
}

/// Puts one list of terms in the place of another.
///
/// FTS5 counts a row less for each time that terms are removed, and reports damage once it counts none: where terms have gone, the
/// whole row is written again.
pub(crate) fn change(connection: &Connection, row: i64, before: &str, after: &str) -> rusqlite::Result<()> {
    if before == after {
        return Ok(());
    }
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (before.split(' ').collect(), after.split(' ').collect());
    if !before.is_empty() && !old.is_subset(&new) {
        delete(connection, row, before)?;
        return if after.is_empty() { Ok(()) } else { insert(connection, row, after) };
    }
    insert(connection, row, &new.difference(&old).copied().collect::<Vec<_>>().join(" "))
}

/// Adds terms to a row. Does nothing while the index is to be built again.
pub(crate) fn insert(connection: &Connection, row: i64, terms: &str) -> rusqlite::Result<()> {
    if !backlog::is_current(connection)? {
        return Ok(());
    }
    connection.run(INSERT, (row, terms)).map(drop)
}

/// Removes terms from a row. Does nothing while the index is to be built again; code that deletes records replaces it
/// first.
pub(crate) fn delete(connection: &Connection, row: i64, terms: &str) -> rusqlite::Result<()> {
    if !backlog::is_current(connection)? {
        return Ok(());
    }
    let sql = "INSERT INTO passage_terms (passage_terms, rowid, terms) VALUES ('delete', ?1, ?2)";
    connection.run(sql, (row, terms)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{change, delete, insert, rows};
    use crate::Store;

    #[test]
    fn rows_that_have_lost_terms_can_all_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let connection = &store.connection;
        (1..=5).try_for_each(|row| insert(connection, row, "=wo a b")).unwrap();
        for row in 1..=3 {
            change(connection, row, "=wo a b", "=wo a").unwrap();
            change(connection, row, "=wo a", "=wo a c").unwrap();
        }
        let found = |term: &str| rows(connection, term, &(0..=9), 9).unwrap();
        assert_eq!((found("b"), found("c"), found("a").len()), (vec![4, 5], vec![1, 2, 3], 5));
        (1..=3).try_for_each(|row| delete(connection, row, "=wo a c")).unwrap();
        (4..=5).try_for_each(|row| delete(connection, row, "=wo a b")).unwrap();
        assert_eq!(found("a"), [0; 0]);
    }
}
