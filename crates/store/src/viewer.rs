//! What somebody looks at in a browser: pages of records, sessions with everything that is counted of them, one
//! session on one axis, and days.
//!
//! Everything here only reads, by way of connections that live long and stay small.

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
pub use self::sessions::{Counts, SessionRow};
use crate::lock_queue::Line;
use crate::{Store, StoreError, cannot};

impl Store {
    /// Opens a database that is there already, to read it for a long time in little room.
    pub fn open_to_read(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let open = |error| StoreError::open(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(open)?;
        let line = Line::of(&mut connection, path, patience).map_err(open)?;
        // Half a megabyte: the system keeps the file's pages anyway.
        connection.execute_batch("PRAGMA cache_size = -512; PRAGMA mmap_size = 0;").map_err(open)?;
        // Nothing is brought up to date here, so what this version cannot read must not be guessed at.
        crate::migrations::must_be_current(&connection, path)?;
        Ok(Self { connection, line })
    }

    /// Returns a number that changes when another connection has written.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(cannot("ask whether anything was written"))
    }

    /// Keeps what this connection remembers of the file within `kibibytes`.
    pub fn set_cache(&self, kibibytes: u32) -> Result<(), StoreError> {
        self.connection
            .pragma_update(None, "cache_size", -i64::from(kibibytes))
            .map_err(cannot("set the size of the cache"))
    }
}
