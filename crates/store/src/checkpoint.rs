//! Empties the WAL by copying its pages into the database file, so that nothing of them is left beside it, and begins a new one.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::sql::Sql;
use crate::{Store, StoreError};

/// After how long no attempt follows.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long one attempt waits for readers. It holds the write lock meanwhile, and every hook waits for that.
const ATTEMPT: Duration = Duration::from_millis(25);

/// How long the others can write before the next attempt.
const PAUSE: Duration = Duration::from_millis(25);

impl Store {
    /// Empties the WAL; returns whether that was possible. While another process reads, it is not.
    ///
    /// Pages that are left are copied back by a later commit, and `journal_size_limit` shortens the file.
    pub(crate) fn empty_wal(&self) -> rusqlite::Result<bool> {
        let end = Instant::now() + PATIENCE;
        loop {
            // Most of the copying is done by the first checkpoint, which does not need the write lock.
            checkpoint(&self.connection, "PASSIVE")?;
            let is_empty = self.lock_queue.without_queueing(ATTEMPT, || checkpoint(&self.connection, "TRUNCATE"))?;
            if is_empty || Instant::now() >= end {
                return Ok(is_empty);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Begins an empty WAL by writing the first page of the database as it is.
    ///
    /// The first commit to an empty WAL waits for the disk. Afterwards the next hook, which would make that commit, does not. If
    /// another process is writing, this is left to it.
    pub(crate) fn begin_wal(&self) -> Result<(), StoreError> {
        let write_first_page = || {
            self.write("begin the write-ahead log", |tx| {
                let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
                tx.pragma_update(None, "user_version", version)
            })
        };
        match self.lock_queue.without_queueing(Duration::ZERO, write_first_page) {
            Err(error) if error.is_busy() => Ok(()),
            done => done,
        }
    }
}

/// Returns whether the checkpoint was complete.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    connection.one_with(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| Ok(!row.get::<_, bool>(0)?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use crate::Store;

    #[test]
    fn after_many_writes_the_log_has_only_its_first_page() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("l.db");
        let store = Store::open(&path, Duration::from_secs(5)).unwrap();
        let version =
            || -> i64 { store.connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap() };
        let before = version();
        store.expect_many_writes().unwrap();
        store
            .connection
            .execute_batch("CREATE TABLE filled (bytes); INSERT INTO filled VALUES (zeroblob(400000))")
            .unwrap();
        store.settle_writes().unwrap();
        let (header, page) = (32, 24 + 4096);
        assert_eq!(fs::metadata(path.with_extension("db-wal")).unwrap().len(), header + page);
        assert_eq!(version(), before);
    }
}
