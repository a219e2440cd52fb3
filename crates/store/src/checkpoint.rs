//! Emptying the WAL: copying its pages into the database file, so that nothing of them is left beside it.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::Store;

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
}

/// Returns whether the checkpoint was complete.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| Ok(!row.get::<_, bool>(0)?))
}
