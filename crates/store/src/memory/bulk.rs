//! The bulk mode: a database without triggers, whose search indexes are brought up to date once per transaction.
//!
//! A trigger makes a full-text index write its pages with every row, which takes longer than everything else in an import.
//! Here the triggers are off, and [`Bulk::write`] adds what a transaction has inserted to the indexes at its end. The
//! statements below do what the triggers `…_inserted` do in `schema.sql`: a change of one requires a change of the other. The test
//! `bulk_writes_leave_what_the_triggers_leave` compares them.

use longhaul_core::Millis;
use longhaul_memory::{MadeBy, Summary};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::summaries::write_summary;
use crate::{SETTINGS, Store, StoreError, cannot};

/// Adds the prompts behind `?1` to their index.
const INDEX_PROMPTS: &str = "INSERT INTO prompt_trigrams (rowid, prompt, mark)
     SELECT id, prompt, mark FROM prompts WHERE id > ?1 ORDER BY id";

/// Adds the observations behind `?1` to their index.
const INDEX_OBSERVATIONS: &str = "INSERT INTO observation_trigrams (rowid, title, files_read, files_modified, mark)
     SELECT id, title, files_read, files_modified, mark FROM observations WHERE id > ?1 ORDER BY id";

/// Adds the observations behind `?1` to the counts of their projects.
const COUNT_OBSERVATIONS: &str = "UPDATE projects SET observations = observations + new.rows
     FROM (SELECT project_id, count(*) AS rows FROM observations WHERE id > ?1 GROUP BY 1) AS new
     WHERE projects.id = new.project_id";

impl Store {
    /// Switches to the bulk mode for as long as the returned value lives.
    pub fn bulk(&mut self) -> Result<Bulk<'_>, StoreError> {
        let failed = cannot("prepare for an import");
        // Made first, so that dropping it restores the settings if a later step fails.
        let bulk = Bulk { store: self };
        let connection = &bulk.store.connection;
        // The WAL is copied back less often.
        let settings = "PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536;";
        connection.execute_batch(settings).map_err(&failed)?;
        enable_triggers(connection, false).map_err(failed)?;
        Ok(bulk)
    }
}

/// A database in the bulk mode.
///
/// It borrows the store mutably: nothing else can write through the same connection while the triggers are off.
#[derive(Debug)]
pub struct Bulk<'a> {
    store: &'a mut Store,
}

impl Drop for Bulk<'_> {
    /// Leaves the connection as [`Store::open`] made it, and an empty WAL.
    fn drop(&mut self) {
        let connection = &self.store.connection;
        let _ = enable_triggers(connection, true);
        let _ = connection.execute_batch(SETTINGS);
        let _ = self.store.empty_wal();
    }
}

impl Bulk<'_> {
    /// Returns the database for what has no index that a trigger maintains: sessions and turns, and for reading.
    pub fn plain(&self) -> &Store {
        self.store
    }

    /// Runs `work` in one transaction, in which the indexes are brought up to date, and commits it.
    pub(super) fn write<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&BulkWrite<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.store.write(action, |tx| {
            let write = BulkWrite::begin(tx)?;
            let done = work(&write)?;
            write.index_new_rows()?;
            Ok(done)
        })
    }
}

/// A transaction of the bulk mode, with the ids of the last rows from before it.
///
/// No other process can add rows meanwhile: the transaction holds the write lock.
pub(crate) struct BulkWrite<'a> {
    pub(super) connection: &'a Connection,
    last_prompt: i64,
    last_observation: i64,
    last_summary: i64,
}

impl<'a> BulkWrite<'a> {
    pub(crate) fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        let last = |table: &str| {
            let sql = format!("SELECT coalesce(max(id), 0) FROM {table}");
            connection.prepare_cached(&sql)?.query_row([], |row| row.get(0))
        };
        Ok(Self {
            connection,
            last_prompt: last("prompts")?,
            last_observation: last("observations")?,
            last_summary: last("session_summaries")?,
        })
    }

    /// Stores a summary, as [`Store::write_summary`] does; returns whether that changed anything.
    pub(super) fn write_summary(
        &self,
        session: &str,
        prompt_number: i64,
        summary: &Summary,
        made_by: MadeBy,
        at: Millis,
    ) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM session_summaries t JOIN sessions s ON s.id = t.session_id
                   WHERE s.session_id = ?1 AND t.prompt_number = ?2 AND t.id <= ?3";
        let is_indexed = self.connection.prepare_cached(sql)?.exists((session, prompt_number, self.last_summary))?;
        // Rare: a row that the indexes have changes, which the triggers can do.
        if is_indexed {
            enable_triggers(self.connection, true)?;
        }
        let written = write_summary(self.connection, session, prompt_number, summary, made_by, at);
        if is_indexed {
            enable_triggers(self.connection, false)?;
        }
        written
    }

    /// Adds the rows that the transaction has inserted to the indexes and the counts.
    pub(crate) fn index_new_rows(&self) -> rusqlite::Result<()> {
        let (prompt, observation) = (self.last_prompt, self.last_observation);
        let statements =
            [(INDEX_PROMPTS, prompt), (INDEX_OBSERVATIONS, observation), (COUNT_OBSERVATIONS, observation)];
        for (sql, last) in statements {
            self.connection.prepare_cached(sql)?.execute([last])?;
        }
        Ok(())
    }
}

/// Switches the triggers of a connection. SQLite prepares statements again that were compiled with the other setting.
pub(crate) fn enable_triggers(connection: &Connection, enabled: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, enabled).map(drop)
}
