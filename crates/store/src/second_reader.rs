//! Another connection to an open database, with which a second thread reads.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Store, StoreError, cannot};

/// What a second thread needs to open the database that this one has opened.
#[derive(Debug, Clone)]
pub struct SecondReader {
    path: PathBuf,
    patience: Duration,
    /// How much of the file is mapped, and the size of the cache, as SQLite counts it: both as in the first connection.
    mmap_size: i64,
    cache_size: i64,
}

impl Store {
    /// Returns what a second thread needs to read the same database.
    ///
    /// Returns `None` if it would not see what this connection sees: in a transaction, or if the database is in memory.
    pub fn second_reader(&self) -> Result<Option<SecondReader>, StoreError> {
        let path = self.connection.path().filter(|path| !path.is_empty() && self.connection.is_autocommit());
        let Some(path) = path.map(PathBuf::from) else { return Ok(None) };
        let setting = |name: &str| {
            let value = self.connection.pragma_query_value(None, name, |row| row.get(0));
            value.map_err(cannot("read the settings of the database"))
        };
        let (mmap_size, cache_size) = (setting("mmap_size")?, setting("cache_size")?);
        Ok(Some(SecondReader { path, patience: self.lock_queue.patience(), mmap_size, cache_size }))
    }
}

impl SecondReader {
    /// Opens the database for reading.
    pub fn open(&self) -> Result<Store, StoreError> {
        let store = Store::open_to_read(&self.path, self.patience)?;
        for (name, value) in [("mmap_size", self.mmap_size), ("cache_size", self.cache_size)] {
            let set = store.connection.pragma_update(None, name, value);
            set.map_err(cannot("change the settings of the database"))?;
        }
        Ok(store)
    }
}
