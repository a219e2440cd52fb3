//! Counting what is stored, deleting old raw text, and checking and rebuilding the indexes.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use super::millis;
use crate::recall::backlog;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// How many free pages one call returns to the file system at most.
const PAGES: usize = 1_000;

const PASSAGES: &str = "passage_terms";

const INDEXES: [&str; 3] = ["prompt_trigrams", "observation_trigrams", PASSAGES];

/// Number of records that are added to a rebuilt index at a time.
const REBUILT_AT_ONCE: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    pub sessions: u64,
    /// Projects, as [`Store::projects`] lists them.
    pub projects: u64,
    pub prompts: u64,
    pub observations: u64,
    pub summaries: u64,
    /// Calls, attachments and thoughts whose raw text is kept.
    pub details: u64,
    pub oldest: Option<Millis>,
    pub newest: Option<Millis>,
    pub bytes: u64,
    pub free_bytes: u64,
}

/// What a call of [`Store::prune`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    pub rows: usize,
    pub more: bool,
}

impl Store {
    pub fn stats(&self) -> Result<Stats, StoreError> {
        self.try_to("count the memory", |connection| {
            let number = |sql: &str| connection.one(sql, []).map(i64::unsigned_abs);
            let (oldest, newest): (Option<i64>, Option<i64>) = connection.one(
                "SELECT min((SELECT min(created_at) FROM observations WHERE project_id = p.id)),
                        max((SELECT max(created_at) FROM observations WHERE project_id = p.id))
                 FROM projects p WHERE p.project_key IS NOT NULL",
                [],
            )?;
            let page = number("PRAGMA page_size")?;
            Ok(Stats {
                sessions: number("SELECT count(*) FROM sessions")?,
                projects: number(
                    "SELECT count(*) FROM (SELECT project_key FROM sessions
                                           UNION SELECT project_key FROM projects WHERE observations > 0)",
                )?,
                prompts: number("SELECT count(*) FROM prompts")?,
                observations: number("SELECT coalesce(sum(observations), 0) FROM projects")?,
                summaries: number("SELECT count(*) FROM session_summaries")?,
                details: number("SELECT count(*) FROM details")?,
                oldest: oldest.map(millis),
                newest: newest.map(millis),
                bytes: page * number("PRAGMA page_count")?,
                free_bytes: page * number("PRAGMA freelist_count")?,
            })
        })
    }

    /// Returns the bytes that each table takes, its indexes included, the largest first.
    ///
    /// It reads every page, which takes seconds for gigabytes.
    pub fn sizes(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.connection
            .all_with(
                "SELECT coalesce(m.tbl_name, d.name), sum(d.pgsize) FROM dbstat d
                 LEFT JOIN sqlite_schema m ON m.name = d.name WHERE d.aggregate = TRUE GROUP BY 1 ORDER BY 2 DESC",
                [],
                |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())),
            )
            .map_err(cannot("measure the tables"))
    }

    /// Returns the time of what was stored last: a prompt, an observation or raw text; `None` if there is none.
    pub fn newest_record(&self) -> Result<Option<Millis>, StoreError> {
        // By the number of the row, not by the time: a clock that was ahead once has left times that lie ahead.
        let sql = "SELECT max(at) FROM (
                       SELECT * FROM (SELECT created_at AS at FROM prompts ORDER BY id DESC LIMIT 1) UNION ALL
                       SELECT * FROM (SELECT created_at FROM observations ORDER BY id DESC LIMIT 1) UNION ALL
                       SELECT * FROM (SELECT created_at FROM details ORDER BY rowid DESC LIMIT 1))";
        let newest = self.connection.one::<Option<i64>>(sql, []);
        newest.map(|at| at.map(millis)).map_err(cannot("find the newest record"))
    }

    /// Deletes raw text from before `before`, at most `most` pieces, and returns some free space to the file system.
    ///
    /// The observations stay. Call it again while there is more.
    pub fn prune(&self, before: Millis, most: usize) -> Result<Pruned, StoreError> {
        let action = "delete old raw text";
        let rows = self.write(action, |tx| prune(tx, before.0 as i64, most))?;
        if rows > 0 {
            give_back(&self.connection, Some(PAGES)).map_err(cannot(action))?;
        }
        Ok(Pruned { rows, more: rows == most })
    }

    /// Prepares for many writes in a row: the cache is larger, and the WAL is copied back less often.
    ///
    /// Call [`Store::settle_writes`] afterwards: a long WAL makes every opening slower.
    pub fn expect_many_writes(&self) -> Result<(), StoreError> {
        self.connection
            .execute_batch("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000;")
            .map_err(cannot("prepare for many writes"))
    }

    /// Copies the WAL back after many writes, as far as other processes allow it.
    pub fn settle_writes(&self) -> Result<(), StoreError> {
        let failed = cannot("copy the writes back");
        self.connection.execute_batch("PRAGMA wal_autocheckpoint = 100;").map_err(&failed)?;
        if self.empty_wal().map_err(failed)? {
            self.begin_wal()?;
        }
        Ok(())
    }

    /// Rewrites the whole file without free pages and without deleted text, in the mode in which it can shrink.
    pub fn vacuum(&self) -> Result<(), StoreError> {
        let optimize: String =
            INDEXES.iter().map(|index| format!("INSERT INTO {index} ({index}) VALUES ('optimize');")).collect();
        let failed = cannot("vacuum the database");
        self.connection
            .execute_batch(&format!("{optimize} PRAGMA auto_vacuum = incremental; VACUUM;"))
            .map_err(&failed)?;
        self.empty_wal().map(drop).map_err(failed)
    }

    /// Returns the problems of the database, one sentence each; empty if it is in order.
    pub fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        let failed = cannot("check the database");
        let mut problems: Vec<String> = self.connection.all("PRAGMA quick_check", []).map_err(&failed)?;
        problems.retain(|problem| problem != "ok");
        for index in INDEXES {
            // The index of passages has no text to be compared with.
            let how = if index == PASSAGES { Check::Alone } else { Check::WithText };
            match check(&self.connection, index, how) {
                Ok(()) => {}
                Err(error) if crate::is_damage(&error) => problems.push(format!("{index}: {error}")),
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(problems)
    }

    /// Builds the search indexes anew from the records.
    ///
    /// Interrupted at any moment, it leaves what [`Store::build_index`] can complete: replacing the index and queueing the
    /// records for it is one transaction, and each step of the building is another.
    pub fn rebuild_indexes(&self) -> Result<(), StoreError> {
        self.empty_indexes()?;
        while self.write("rebuild the indexes", |tx| backlog::build(tx, REBUILT_AT_ONCE))? {}
        Ok(())
    }

    /// Rebuilds the damaged indexes of parts of words, and puts an empty index of passages in the place of the present one,
    /// for [`Store::build_index`] to build.
    pub fn empty_indexes(&self) -> Result<(), StoreError> {
        self.write("empty the indexes", |tx| {
            rebuild_damaged(tx, Check::WithText)?;
            backlog::begin_again(tx)
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// Whether it is consistent in itself.
    Alone,
    /// Also against the text that it was made from, which takes as long as building it.
    WithText,
}

/// Rebuilds every full-text index that is damaged, except that of passages.
pub(crate) fn rebuild_damaged(connection: &Connection, how: Check) -> rusqlite::Result<()> {
    for index in INDEXES.into_iter().filter(|index| *index != PASSAGES) {
        match check(connection, index, how) {
            Err(error) if crate::is_damage(&error) => {
                connection.run(&format!("INSERT INTO {index} ({index}) VALUES ('rebuild')"), [])?;
            }
            checked => checked?,
        }
    }
    Ok(())
}

/// Checks a full-text index; returns an error if it is damaged.
fn check(connection: &Connection, index: &str, how: Check) -> rusqlite::Result<()> {
    let level = match how {
        Check::Alone => 0,
        Check::WithText => 1,
    };
    let sql = format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', {level})");
    connection.run(&sql, []).map(drop)
}

/// Returns free pages to the file system, at most `most`.
pub(super) fn give_back(connection: &Connection, most: Option<usize>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({})", most.unwrap_or_default()))?;
    let mut rows = statement.query([])?;
    // Each step returns one page.
    while rows.next()?.is_some() {}
    Ok(())
}

/// Deletes raw text session by session: it has no index by time, which would cost every tool call something.
fn prune(connection: &Connection, before: i64, most: usize) -> rusqlite::Result<usize> {
    let mut deleted = 0;
    let mut last = 0;
    let mut next = connection.prepare(
        "SELECT s.id FROM sessions s WHERE s.id > ?2 AND s.created_at < ?1
           AND EXISTS (SELECT 1 FROM details d WHERE d.session_id = s.id) ORDER BY s.id LIMIT 1",
    )?;
    let mut delete = connection.prepare(
        "DELETE FROM details WHERE rowid IN
             (SELECT rowid FROM details WHERE session_id = ?1 AND created_at < ?2 LIMIT ?3)",
    )?;
    while deleted < most {
        let found: Option<i64> = next.query_row((before, last), |row| row.get(0)).optional()?;
        let Some(session) = found else { break };
        last = session;
        deleted += delete.execute((session, before, (most - deleted) as i64))?;
    }
    Ok(deleted)
}
