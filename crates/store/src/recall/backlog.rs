//! Builds the index of passages from existing records, a few at a time.
//!
//! A database from before the index is searched by its old full-text indexes until the new one is complete. The old
//! ones are then removed, with their triggers. An index with terms of another version is searched together with the one
//! that is built in its place; see [`super::index_tables`].

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::index::{add_queued, table};
use super::index_state::{self, IndexState};
use super::index_tables::{self, WORD_INDEXES, has_old, has_table};
use super::key::{LAST_PART, PART_BITS};
use super::replies::{self, Reply};
use crate::memory::upkeep::{Check, rebuild_damaged};
use crate::{Store, StoreError, What, cannot};

/// The table of sessions whose replies are not linked to their prompts yet.
const SESSIONS: &str = "sessions";

/// The next turn of the session that is being linked, if it has more turns than one transaction links.
const TURNS: &str = "session_turns";

/// Replies that are linked to their prompts and not in the index yet, by prompt and part; see [`reply_number`].
const REPLIES: &str = "replies";

/// The triggers that update the old full-text indexes.
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

/// Maximum number of bytes of terms that are added in one transaction.
const BYTES: usize = 4 * 1024 * 1024;

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

/// How much one transaction may still add.
pub(crate) struct Room {
    records: usize,
    bytes: usize,
}

impl Room {
    /// Returns room for this many records, or for fewer long ones.
    pub(crate) fn new(records: usize) -> Self {
        Self { records, bytes: BYTES }
    }

    /// Returns room for everything.
    pub(crate) fn unlimited() -> Self {
        Self { records: usize::MAX, bytes: usize::MAX }
    }

    /// Takes a record with this many bytes of text or terms.
    pub(super) fn take(&mut self, bytes: usize) {
        self.records = self.records.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub(super) fn is_full(&self) -> bool {
        self.records == 0 || self.bytes == 0
    }
}

/// Returns whether a record is not in the index yet.
pub(crate) fn has(connection: &Connection, what: What, id: i64) -> rusqlite::Result<bool> {
    Ok(id <= todo(connection, table(what))?)
}

/// Returns whether a reply is not in the index yet.
pub(crate) fn has_reply(connection: &Connection, prompt: i64, part: i64) -> rusqlite::Result<bool> {
    Ok(reply_number(prompt, part) <= todo(connection, REPLIES)?)
}

/// Returns the number by which a reply is queued: replies to newer prompts have larger ones.
fn reply_number(prompt: i64, part: i64) -> i64 {
    prompt << PART_BITS | part.clamp(0, LAST_PART)
}

/// Returns whether the index is complete, with the terms of this version.
pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(index_state::is_current(connection)? && last_todo(connection)? == 0)
}

/// Returns whether every record can be found: the index is complete, or one of another version is.
pub(crate) fn finds_all(connection: &Connection) -> rusqlite::Result<bool> {
    match index_state::of(connection)? {
        IndexState::Current | IndexState::OtherTerms => Ok(last_todo(connection)? == 0 || has_old(connection)?),
        IndexState::OtherRows | IndexState::Damaged => Ok(false),
    }
}

fn last_todo(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT max(todo) FROM passage_backlog";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default())
}

/// Removes the old indexes of a database without records.
pub(crate) fn finish_if_new(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT max(total) FROM passage_backlog";
    let is_new = connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default() == 0;
    if is_new && has_table(connection, WORD_INDEXES[0])? {
        drop_triggers(connection)?;
        for index in WORD_INDEXES {
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

/// Begins to build the index in a new table, with all records queued for it. Instant at any size.
///
/// A complete index of another version stays in use until the new one is complete.
pub(crate) fn begin_again(connection: &Connection) -> rusqlite::Result<()> {
    match index_state::of(connection)? {
        IndexState::OtherTerms if last_todo(connection)? == 0 => index_tables::replace_and_keep(connection)?,
        // Another one may still be in use.
        IndexState::OtherTerms => index_tables::replace(connection)?,
        IndexState::OtherRows | IndexState::Current | IndexState::Damaged => {
            index_tables::drop_old(connection)?;
            index_tables::replace(connection)?;
        }
    }
    for source in What::ALL.map(table) {
        let sql = format!("SELECT coalesce(max(id), 0) FROM {source}");
        queue(connection, source, connection.query_row(&sql, [], |row| row.get(0))?)?;
    }
    let sql = "SELECT prompt_id, part FROM replies ORDER BY prompt_id DESC, part DESC LIMIT 1";
    let last: Option<(i64, i64)> = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    queue(connection, REPLIES, last.map_or(0, |(prompt, part)| reply_number(prompt, part)))?;
    // Replies stay linked to their prompts.
    queue(connection, SESSIONS, todo(connection, SESSIONS)?)?;
    index_state::set_current(connection)
}

fn queue(connection: &Connection, source: &str, todo: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO passage_backlog (source, todo, total) VALUES (?1, ?2, ?2)
               ON CONFLICT DO UPDATE SET todo = excluded.todo, total = excluded.total";
    connection.execute(sql, (source, todo)).map(drop)
}

/// Returns the progress of the index; 0 if it is to be built again.
pub(crate) fn progress(connection: &Connection) -> rusqlite::Result<IndexProgress> {
    if !index_state::is_current(connection)? {
        let mut total = 0;
        for source in What::ALL.map(table) {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {source}");
            total += connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        }
        return Ok(IndexProgress { done: 0, total: total.max(1) });
    }
    let sql = "SELECT source, todo, total FROM passage_backlog WHERE source <> ?1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([TURNS])?;
    let mut progress = IndexProgress::default();
    while let Some(row) = rows.next()? {
        let source: String = row.get(0)?;
        let records = |column: usize| {
            let number = row.get::<_, i64>(column).map(i64::unsigned_abs);
            // Replies count by their prompts; those that are left count at least 1.
            number.map(|number| if source == REPLIES { number.div_ceil(1 << PART_BITS) } else { number })
        };
        let (todo, total) = (records(1)?, records(2)?);
        progress.done += total.saturating_sub(todo);
        progress.total += total;
    }
    Ok(progress)
}

fn todo(connection: &Connection, source: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT todo FROM passage_backlog WHERE source = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([source], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// Adds at most `most` records to the index, the newest first, because they are searched for most. Returns whether
/// there are more. An index that cannot be changed row by row is replaced first.
pub(crate) fn build(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    match index_state::of(connection)? {
        IndexState::Current => {}
        IndexState::OtherTerms | IndexState::OtherRows => return begin_again(connection).map(|()| true),
        IndexState::Damaged => {
            rebuild_damaged(connection, Check::Alone)?;
            return begin_again(connection).map(|()| true);
        }
    }
    for what in What::ALL {
        if build_records(connection, what, most)? {
            return Ok(true);
        }
    }
    if build_replies(connection, most)? || link_sessions(connection, most)? {
        return Ok(true);
    }
    if has_old(connection)? {
        return index_tables::drop_old(connection).map(|()| true);
    }
    if keeps_words(connection)? {
        return drop_triggers(connection).map(|()| true);
    }
    index_tables::drop_some(connection)
}

/// Adds some records of a type. Returns whether there were any.
fn build_records(connection: &Connection, what: What, most: usize) -> rusqlite::Result<bool> {
    let source = table(what);
    let last = todo(connection, source)?;
    if last == 0 {
        return Ok(false);
    }
    let mut room = Room::new(most);
    for id in newest(connection, source, last, most)? {
        room.take(add_queued(connection, what, id)?);
        if room.is_full() {
            return set_todo(connection, source, id - 1).map(|()| true);
        }
    }
    set_todo(connection, source, 0).map(|()| true)
}

/// Adds some replies that are linked to their prompts. Returns whether there were any.
fn build_replies(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    let last = todo(connection, REPLIES)?;
    if last == 0 {
        return Ok(false);
    }
    let mut room = Room::new(most);
    for reply in replies::newest(connection, (last >> PART_BITS, last & LAST_PART), most)? {
        let Reply { prompt, part, .. } = reply;
        room.take(replies::add_queued(connection, &reply)?);
        if room.is_full() {
            return set_todo(connection, REPLIES, reply_number(prompt, part) - 1).map(|()| true);
        }
    }
    set_todo(connection, REPLIES, 0).map(|()| true)
}

/// Links some turns of sessions to their prompts. Returns whether there were any sessions.
fn link_sessions(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    let mut last = todo(connection, SESSIONS)?;
    if last == 0 {
        return Ok(false);
    }
    let mut room = Room::new(most);
    while !room.is_full() {
        let Some(id) = newest(connection, SESSIONS, last, 1)?.pop() else {
            return set_todo(connection, SESSIONS, 0).map(|()| true);
        };
        let sql = "SELECT session_id FROM sessions WHERE id = ?1";
        let session: String = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
        // The turns of a session that an earlier call has begun with are left only if it is still there.
        let from = if id == last { todo(connection, TURNS)? } else { 0 };
        match replies::link_some(connection, &session, from, &mut room)? {
            Some(next) => {
                set_todo(connection, SESSIONS, id)?;
                set_todo(connection, TURNS, next)?;
            }
            None => {
                last = id - 1;
                room.take(0);
                set_todo(connection, SESSIONS, last)?;
                set_todo(connection, TURNS, 0)?;
            }
        }
    }
    Ok(true)
}

fn newest(connection: &Connection, source: &str, last: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let sql = format!("SELECT id FROM {source} WHERE id <= ?1 ORDER BY id DESC LIMIT {most}");
    connection.prepare_cached(&sql)?.query_map([last], |row| row.get(0))?.collect()
}

fn set_todo(connection: &Connection, source: &str, todo: i64) -> rusqlite::Result<()> {
    let sql = "INSERT INTO passage_backlog (source, todo, total) VALUES (?1, ?2, 0)
               ON CONFLICT DO UPDATE SET todo = excluded.todo";
    connection.prepare_cached(sql)?.execute((source, todo)).map(drop)
}

fn drop_triggers(connection: &Connection) -> rusqlite::Result<()> {
    OLD_TRIGGERS.iter().try_for_each(|name| connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {name};")))
}
