//! The upkeep of the index of passages: builds it again from the records, a few at a time, and merges its segments.
//!
//! The index does not store the text: a row is removed by the terms that it was added with. If those are of another
//! version, or the index is damaged, it is not written until upkeep replaces it by a new one. Until then, searches use
//! it as it is.

use longhaul_memory::TERMS_VERSION;
use rusqlite::Connection;

use super::index::add_queued;
use super::key::{LAST_PART, PART_BITS};
use super::replies::{self, Reply};
use crate::memory::upkeep::{Check, rebuild_damaged};
use crate::sql::Sql;
use crate::{Store, StoreError, What, cannot};

/// Replies that are linked to their prompts and not in the index yet, by prompt and part; see [`reply_number`].
const REPLIES: &str = "replies";

/// Maximum number of bytes of terms that are added in one transaction.
const BYTES: usize = 4 * 1024 * 1024;

const DAMAGED: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexProgress {
    /// Number of records from before the rebuild that are in the index.
    pub done: u64,
    /// Number of records from before the rebuild.
    pub total: u64,
}

impl IndexProgress {
    pub fn is_complete(self) -> bool {
        self.done >= self.total
    }

    pub fn percent(self) -> u64 {
        if self.is_complete() { 100 } else { (self.done * 100 / self.total).min(99) }
    }
}

impl Store {
    /// Records that a full-text index is damaged, so that upkeep builds it again. Returns whether that was not recorded
    /// yet.
    ///
    /// From then on the index of passages is not written, so that everything else can be stored.
    pub fn mark_index_damaged(&self) -> Result<bool, StoreError> {
        let sql = "UPDATE indexes SET form = ?1 WHERE id = 0 AND form <> ?1";
        let changed = self.connection.run(sql, [DAMAGED]).map_err(cannot("mark the search index as damaged"))?;
        Ok(changed > 0)
    }

    pub fn index_progress(&self) -> Result<IndexProgress, StoreError> {
        progress(&self.connection).map_err(cannot("read how far the index is built"))
    }

    /// Adds at most `most` records to the index, in one transaction. Returns whether there are more.
    ///
    /// To be called until it returns `false`. It may be interrupted after any call, and continues from there.
    pub fn build_index(&mut self, most: usize) -> Result<bool, StoreError> {
        self.write("build the search index", |tx| build(tx, most))
    }
}

/// Returns whether the index can be changed row by row.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT form FROM indexes WHERE id = 0";
    let version: u32 = connection.one(sql, [])?;
    Ok(version == TERMS_VERSION)
}

/// Records that the index has only terms of this version, as a new one does.
pub(crate) fn set_current(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE indexes SET form = ?1 WHERE id = 0";
    connection.run(sql, [TERMS_VERSION]).map(drop)
}

pub(crate) struct Room {
    records: usize,
    bytes: usize,
}

impl Room {
    /// Returns room for this many records, or for fewer long ones.
    pub(crate) fn new(records: usize) -> Self {
        Self { records, bytes: BYTES }
    }

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
    Ok(id <= todo(connection, what.table())?)
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
    Ok(is_current(connection)? && last_todo(connection)? == 0)
}

fn last_todo(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT max(j.value ->> 0) FROM indexes i, json_each(i.ranges) j WHERE i.id = 0";
    Ok(connection.one::<Option<i64>>(sql, [])?.unwrap_or_default())
}

/// Begins to build the index in a new table, with all records queued for it. Instant at any size.
pub(crate) fn begin_again(connection: &Connection) -> rusqlite::Result<()> {
    replace_table(connection)?;
    for source in What::ALL.map(What::table) {
        let sql = format!("SELECT coalesce(max(id), 0) FROM {source}");
        queue(connection, source, connection.one(&sql, [])?)?;
    }
    let sql = "SELECT passage, part FROM turns WHERE passage IS NOT NULL ORDER BY passage DESC, part DESC LIMIT 1";
    let last: Option<(i64, i64)> = connection.first(sql, [])?;
    queue(connection, REPLIES, last.map_or(0, |(prompt, part)| reply_number(prompt, part)))?;
    set_current(connection)
}

fn queue(connection: &Connection, source: &str, todo: i64) -> rusqlite::Result<()> {
    let sql = format!("UPDATE indexes SET ranges = json_set(ranges, '$.{source}', json_array(?1, ?1)) WHERE id = 0");
    connection.run(&sql, [todo]).map(drop)
}

/// Returns the progress of the index; 0 if it is to be built again.
pub(crate) fn progress(connection: &Connection) -> rusqlite::Result<IndexProgress> {
    if !is_current(connection)? {
        let mut total = 0;
        for source in What::ALL.map(What::table) {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {source}");
            total += connection.one::<i64>(&sql, [])?.unsigned_abs();
        }
        return Ok(IndexProgress { done: 0, total: total.max(1) });
    }
    let sql = "SELECT j.key, j.value ->> 0, j.value ->> 1 FROM indexes i, json_each(i.ranges) j WHERE i.id = 0";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
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
    let sql = format!("SELECT coalesce(ranges ->> '$.{source}[0]', 0) FROM indexes WHERE id = 0");
    connection.one(&sql, [])
}

/// Adds at most `most` records to the index, the newest first, because they are searched for most. Returns whether
/// there are more. An index that cannot be changed row by row is replaced first.
pub(crate) fn build(connection: &Connection, most: usize) -> rusqlite::Result<bool> {
    if !is_current(connection)? {
        rebuild_damaged(connection, Check::Alone)?;
        return begin_again(connection).map(|()| true);
    }
    for what in What::ALL {
        if build_records(connection, what, most)? {
            return Ok(true);
        }
    }
    Ok(build_replies(connection, most)? || drop_some(connection)?)
}

/// Adds some records of a type. Returns whether there were any.
fn build_records(connection: &Connection, what: What, most: usize) -> rusqlite::Result<bool> {
    let source = what.table();
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

fn newest(connection: &Connection, source: &str, last: i64, most: usize) -> rusqlite::Result<Vec<i64>> {
    let sql = format!("SELECT id FROM {source} WHERE id <= ?1 ORDER BY id DESC LIMIT {most}");
    connection.all(&sql, [last])
}

fn set_todo(connection: &Connection, source: &str, todo: i64) -> rusqlite::Result<()> {
    let sql = format!("UPDATE indexes SET ranges = json_set(ranges, '$.{source}[0]', ?1) WHERE id = 0");
    connection.run(&sql, [todo]).map(drop)
}

/// The name of an index that is deleted.
const DROPPED: &str = "dropped_passage_terms";

/// Number of pages of an index that are deleted in one transaction.
const DROPPED_PAGES: usize = 2_000;

/// Creates an empty index; the same as in the schema.
const CREATE_TABLE: &str = "CREATE VIRTUAL TABLE passage_terms USING fts5 (
                          terms, content = '', columnsize = 0, detail = none, tokenize = \"ascii tokenchars '.='\"
                      );
                      INSERT INTO passage_terms (passage_terms, rank) VALUES ('secure-delete', 1);";

/// Puts a new, empty index in the place of the current one, which is deleted later: renaming is instant, deleting is not.
fn replace_table(connection: &Connection) -> rusqlite::Result<()> {
    let aside = match has_dropped(connection)? {
        true => "DROP TABLE passage_terms;".to_owned(),
        false => format!("ALTER TABLE passage_terms RENAME TO {DROPPED};"),
    };
    connection.execute_batch(&format!("{aside} {CREATE_TABLE}"))
}

/// Deletes some pages of an index that was replaced. Returns whether there was one.
fn drop_some(connection: &Connection) -> rusqlite::Result<bool> {
    if !has_dropped(connection)? {
        return Ok(false);
    }
    // Deleting all of it at once would hold the lock for seconds. The first pages describe the others.
    let sql = format!(
        "DELETE FROM {DROPPED}_data WHERE id IN (SELECT id FROM {DROPPED}_data WHERE id > 10 LIMIT {DROPPED_PAGES})"
    );
    if connection.run(&sql, [])? < DROPPED_PAGES {
        connection.execute_batch(&format!("DROP TABLE {DROPPED};"))?;
    }
    Ok(true)
}

fn has_dropped(connection: &Connection) -> rusqlite::Result<bool> {
    connection.has("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", [DROPPED])
}

impl Store {
    /// Deletes an index that was replaced: it has everything that was not deleted before.
    pub(crate) fn drop_replaced_index(&self) -> Result<(), StoreError> {
        // Usually there is none, and asking does not take the write lock.
        while has_dropped(&self.connection).map_err(cannot("forget"))? {
            self.write("forget", drop_some)?;
        }
        Ok(())
    }
}

/// With fewer segments than this, merging them is not worth writing the index again.
pub(crate) const FEW_SEGMENTS: i64 = 8;

/// Number of pages of the index that one transaction writes, so that hooks can write in between.
const MERGED_PAGES: i64 = 50;

/// Maximum number of transactions of one call. An index of gigabytes is merged over several days.
const MOST_STEPS: usize = 4_000;

impl Store {
    /// Merges the segments of the index of passages in small transactions, if there are many. Calls `between` after
    /// each of them.
    ///
    /// May be interrupted at any time. The next call merges the rest.
    pub fn merge_index(&self, mut between: impl FnMut()) -> Result<(), StoreError> {
        if self.index_segments()? < FEW_SEGMENTS || !self.may_merge()? {
            return Ok(());
        }
        // A negative number begins a merge of all segments; positive ones continue it.
        let mut pages = -MERGED_PAGES;
        for _ in 0..MOST_STEPS {
            if !self.may_merge()? || !self.merge_some(pages)? {
                break;
            }
            pages = MERGED_PAGES;
            between();
        }
        Ok(())
    }

    /// Returns whether the index is in use. An index that is to be built again is damaged or about to be emptied.
    fn may_merge(&self) -> Result<bool, StoreError> {
        is_current(&self.connection).map_err(cannot("read the state of the search index"))
    }

    fn index_segments(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(DISTINCT segid) FROM passage_terms_idx";
        self.connection.one(sql, []).map_err(cannot("count the segments of the search index"))
    }

    /// Merges about this many pages. Returns whether there is more to merge.
    fn merge_some(&self, pages: i64) -> Result<bool, StoreError> {
        self.write("merge the search index", |transaction| {
            let before = transaction.total_changes();
            transaction.run("INSERT INTO passage_terms (passage_terms, rank) VALUES ('merge', ?1)", [pages])?;
            // According to the documentation of FTS5, only the statement itself counts as a change if nothing is left
            // to merge.
            Ok(transaction.total_changes() - before >= 2)
        })
    }
}
