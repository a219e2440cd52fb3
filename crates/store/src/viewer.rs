//! What the viewer in a browser shows: pages of records, sessions with their counts, the timeline of one session, and days.
//!
//! Everything here only reads, through connections that stay open for long and use little memory.

mod days;
mod entries;
mod moments;
mod sessions;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use self::days::Day;
pub use self::entries::{Entry, Newest, Only};
pub use self::moments::{Moment, MomentId};
pub use self::sessions::{Counts, SessionOverview};
use crate::lock_queue::LockQueue;
use crate::{Store, StoreError, cannot};

impl Store {
    /// Opens an existing database for reading, over a long time and with little memory.
    pub fn open_to_read(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let open = |error| StoreError::open(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(open)?;
        let lock_queue = LockQueue::install(&mut connection, path, patience).map_err(open)?;
        crate::keep_statements(&connection).map_err(open)?;
        // Half a megabyte: the system caches the file's pages anyway.
        connection.execute_batch("PRAGMA cache_size = -512; PRAGMA mmap_size = 0;").map_err(open)?;
        // A reader does not update the schema, so it must refuse one that it does not know.
        crate::schema::must_be_current(&connection, path)?;
        Ok(Self { connection, lock_queue })
    }

    /// Returns whether the database has the schema of this version. A newer version may have changed it since it was opened.
    pub fn is_current(&self) -> Result<bool, StoreError> {
        crate::schema::is_current(&self.connection).map_err(cannot("read the version of the database"))
    }

    /// Returns a number that changes when another connection has written.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(cannot("read whether the database has changed"))
    }

    /// Reads pages into the cache from now on, instead of mapping the file: the memory of the process then does not grow with
    /// the file.
    pub fn read_without_mapping(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("PRAGMA mmap_size = 0;").map_err(cannot("set how the database is read"))
    }

    /// Limits the page cache of this connection.
    pub fn set_cache(&self, kibibytes: u32) -> Result<(), StoreError> {
        self.connection
            .pragma_update(None, "cache_size", -i64::from(kibibytes))
            .map_err(cannot("set the size of the cache"))
    }
}
