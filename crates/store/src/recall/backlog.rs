//! Builds the index of passages from existing records, a few at a time.
//!
//! A database from before the index is searched by its old full-text indexes until the new one is complete. The old
//! ones are then removed, with their triggers.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::index::{add, table};
use super::index_state::{self, IndexState};
use super::replies::link_session;
use crate::memory::upkeep::{Check, rebuild_damaged};
use crate::{Store, StoreError, What, cannot};

/// The table of sessions whose replies are not in the index yet.
const SESSIONS: &str = "sessions";

/// The full-text indexes that the index of passages replaces.
const OLD_INDEXES: [&str; 3] = ["prompt_words", "observation_words", "summary_words"];

/// The triggers that update them.
const OLD_TRIGGERS: [&str; 10] = [
    "user_prompts_words_inserted",
    "user_prompts_words_deleted",
    "observations_words_inserted",
    "observations_words_deleted",
    "observations_words_changing",
    "observations_words_changed",
    "session_summaries_inserted",
    "session_summaries_deleted",
    "session_summaries_changing",
    "session_summaries_changed",
];

/// Number of pages of an old index that are removed in one transaction.
const PAGES: usize = 2_000;

/// The progress of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Number of older records that are in the index.
    pub done: u64,
    /// Number of records that are older than the index.
    pub total: u64,
}

impl IndexProgress {
    /// Returns whether the index is complete.
    pub fn is_complete(self) -> bool {
        self.done >= self.total
    }

    /// Returns the progress in percent.
    pub fn percent(self) -> u64 {
        if self.is_complete() { 100 } else { (self.done * 100 / self.total).min(99) }
    }
}

impl Store {
    /// Returns the progress of the index.
    pub fn index_progress(&self) -> Result<IndexProgress, StoreError> {
        progress(&self.connection).map_err(cannot("read how far the index is built"))
    }

    /// Adds at most `most` records to the index, in one transaction. Returns whether there are more.
    ///
    /// To be called until it returns `false`. It may be interrupted after any call, and continues from there.
    pub fn build_index(&mut self, most: usize) -> Result<bool, StoreError> {
        let failed = cannot("build the search index");
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let more = build(&transaction, most).map_err(&failed)?;
        transaction.commit().map_err(failed)?;
        Ok(more)
    }
}

/// Returns whether a record is not in the index yet.
pub(crate) fn has(connection: &Connection, what: What, id: i64) -> rusqlite::Result<bool> {
    Ok(id <= todo(connection, table(what))?)
}

/// Returns whether the index is complete, with the terms of this version.
pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    if !index_state::is_current(connection)? {
        return Ok(false);
    }
    let sql = "SELECT max(todo) FROM passage_backlog";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default() == 0)
}

/// Removes the old indexes of a database without records.
pub(crate) fn finish_if_new(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT max(total) FROM passage_backlog";
    let is_new = connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default() == 0;
    if is_new && has_table(connection, OLD_INDEXES[0])? {
        drop_triggers(connection)?;
        for index in OLD_INDEXES {
            connection.execute_batch(&format!("DROP TABLE {index};"))?;
        }
    }
    Ok(())
}

/// Returns whether the old full-text indexes exist and must be updated with the records.
pub(crate) fn keeps_words(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = 'session_summaries_inserted'";
    connection.prepare_cached(sql)?.exists([])
}

/// Empties the index and queues all records for it.
pub(crate) fn begin_again(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute_batch("INSERT INTO passage_terms (passage_terms) VALUES ('delete-all'); DELETE FROM replies;")?;
    for source in What::ALL.map(table).into_iter().chain([SESSIONS]) {
        let sql = format!(
            "UPDATE passage_backlog SET todo = (SELECT coalesce(max(id), 0) FROM {source}),
                                        total = (SELECT coalesce(max(id), 0) FROM {source}) WHERE source = ?1"
        );
        connection.execute(&sql, [source])?;
    }
    index_state::set_current(connection)
}

/// Returns the progress of the index; 0 if it is to be built again.
pub(crate) fn progress(connection: &Connection) -> rusqlite::Result<IndexProgress> {
    if !index_state::is_current(connection)? {
        let mut total = 0;
        for source in What::ALL.map(table).into_iter().chain([SESSIONS]) {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {source}");
            total += connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        }
        return Ok(IndexProgress { done: 0, total: total.max(1) });
    }
    let sql = "SELECT coalesce(sum(total - todo), 0), coalesce(sum(total), 0) FROM passage_backlog";
    connection.query_row(sql, [], |row| {
        let read = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        Ok(IndexProgress { done: read(0)?, total: read(1)? })
    })
}

fn todo(connection: &Connection, source: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT todo FROM passage_backlog WHERE source = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([source], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Adds at most `most` records to the index, the newest first, because they are searched for most. Returns whether
/// there are more. An index that cannot be changed row by row is emptied first.
pub(crate) fn build(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    match index_state::of(connection)? {
        IndexState::Current => {}
        IndexState::OtherTerms => return begin_again(connection).map(|()| true),
        IndexState::Damaged => {
            rebuild_damaged(connection, Check::Alone)?;
            return begin_again(connection).map(|()| true);
        }
    }
    for what in What::ALL {
        let source = table(what);
        let last = todo(connection, source)?;
        if last == 0 {
            continue;
        }
        let ids = newest(connection, source, last, most)?;
        for id in &ids {
            add(connection, what, *id)?;
        }
        note(connection, source, ids.last().filter(|_| ids.len() == most).map_or(0, |id| id - 1))?;
        return Ok(true);
    }
    let last = todo(connection, SESSIONS)?;
    if last > 0 {
        // Most sessions have tens of turns.
        let ids = newest(connection, SESSIONS, last, most.div_ceil(20))?;
        for id in &ids {
            let sql = "SELECT session_id FROM sessions WHERE id = ?1";
            let session: String = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
            link_session(connection, &session)?;
        }
        note(connection, SESSIONS, ids.last().filter(|_| ids.len() == most.div_ceil(20)).map_or(0, |id| id - 1))?;
        return Ok(true);
    }
    drop_some(connection)
}

fn newest(connection: &Connection, source: &str, last: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let sql = format!("SELECT id FROM {source} WHERE id <= ?1 ORDER BY id DESC LIMIT {most}");
    connection.prepare_cached(&sql)?.query_map([last], |row| row.get(0))?.collect()
}

fn note(connection: &Connection, source: &str, todo: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE passage_backlog SET todo = ?2 WHERE source = ?1";
    connection.prepare_cached(sql)?.execute((source, todo)).map(drop)
}

/// Removes some pages of the old indexes. Returns whether there are more.
fn drop_some(connection: &Connection) -> rusqlite::Result<bool> {
    if keeps_words(connection)? {
        drop_triggers(connection)?;
        return Ok(true);
    }
    for index in OLD_INDEXES {
        if !has_table(connection, index)? {
            continue;
        }
        // Removing all of it at once would hold the lock for seconds. The first pages describe the others.
        let sql =
            format!("DELETE FROM {index}_data WHERE id IN (SELECT id FROM {index}_data WHERE id > 10 LIMIT {PAGES})");
        if connection.execute(&sql, [])? < PAGES {
            connection.execute_batch(&format!("DROP TABLE {index};"))?;
        }
        return Ok(true);
    }
    Ok(false)
}

fn drop_triggers(connection: &Connection) -> rusqlite::Result<()> {
    OLD_TRIGGERS.iter().try_for_each(|name| connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {name};")))
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?.exists([name])
}
