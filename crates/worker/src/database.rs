//! The connections to the database: few, and kept open between requests, because the worker runs for long.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_runtime::waiting_times::DATABASE_FOR_REQUEST;
use longhaul_runtime::{Error, Home};
use longhaul_store::Store;

use crate::routes::Problem;

/// The cache of the writing connection, in kibibytes.
const WRITER_CACHE: u32 = 512;

/// A connection that is not in use, and the inode of the file that it was opened on.
#[derive(Debug)]
struct IdleConnection {
    store: Store,
    file: u64,
}

#[derive(Debug)]
pub(crate) struct Database {
    home: Home,
    /// The inode of the last file that was seen to be a complete database.
    made: AtomicU64,
    readers: Mutex<Vec<IdleConnection>>,
    writer: Mutex<Option<IdleConnection>>,
}

impl Database {
    /// Opens the database. If it does not exist, [`Self::make`] creates it, or the first request does.
    pub(crate) fn open(home: &Home) -> Result<Self, Error> {
        let database =
            Self { home: home.clone(), made: AtomicU64::new(0), readers: Mutex::default(), writer: Mutex::default() };
        if database.file() != 0 {
            database.make()?;
        }
        Ok(database)
    }

    /// Creates the database if it does not exist, and waits for another process that is creating it.
    pub(crate) fn make(&self) -> Result<(), Error> {
        if self.file() == 0 || self.made.load(Ordering::Acquire) != self.file() {
            self.write(|_| Ok::<(), Error>(()))?;
            self.made.store(self.file(), Ordering::Release);
        }
        Ok(())
    }

    /// Opens another read-only connection, and returns the inode of its file too.
    pub(crate) fn reader(&self, patience: Duration) -> Result<(Store, u64), Error> {
        self.make()?;
        let file = self.file();
        Ok((Store::open_to_read(&self.home.database(), patience)?, file))
    }

    pub(crate) fn read<T, E: From<Error>>(&self, work: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        let file = self.file();
        let idle = lock(&self.readers).pop().filter(|idle| idle.file == file);
        let idle = match idle {
            Some(idle) => idle,
            None => {
                let (store, file) = self.reader(DATABASE_FOR_REQUEST)?;
                IdleConnection { store, file }
            }
        };
        // After an error the connection is closed; the next request opens a new one.
        let done = work(&idle.store)?;
        lock(&self.readers).push(idle);
        Ok(done)
    }

    /// Writes to the database. Only one write runs at a time.
    pub(crate) fn write<T, E: From<Error>>(&self, work: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        let mut writer = lock(&self.writer);
        let file = self.file();
        let mut idle = match writer.take().filter(|idle| idle.file == file) {
            Some(idle) => idle,
            None => {
                let store = self.home.store(DATABASE_FOR_REQUEST)?;
                store.set_cache(WRITER_CACHE).map_err(Error::from)?;
                IdleConnection { store, file: self.file() }
            }
        };
        let done = work(&mut idle.store)?;
        *writer = Some(idle);
        Ok(done)
    }

    /// Returns the inode of the database's file, which changes when the file is replaced; 0 if there is none.
    pub(crate) fn file(&self) -> u64 {
        std::fs::metadata(self.home.database()).map_or(0, |metadata| metadata.ino())
    }
}

/// Runs work that may block on another thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Problem::internal(error.to_string())))
}

/// Locks a mutex, also after a thread has panicked while holding it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
