//! The database, as a process uses it that lives long and stays small: few connections, kept while nobody uses them.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_runtime::{Error, Home};
use longhaul_store::Store;

use crate::response::Problem;

/// How long a request waits for others' writes.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the connection that writes remembers of the file, in kibibytes.
const WRITER_CACHE: u32 = 512;

/// A connection, and the file that it was opened on.
#[derive(Debug)]
struct Resting {
    store: Store,
    file: u64,
}

/// The connections.
#[derive(Debug)]
pub(crate) struct Database {
    home: Home,
    /// The file that was last seen to be a whole database.
    made: AtomicU64,
    readers: Mutex<Vec<Resting>>,
    writer: Mutex<Option<Resting>>,
}

impl Database {
    /// Opens the database. One that is not there yet is made by [`Self::make`], or when it is first needed.
    pub(crate) fn open(home: &Home) -> Result<Self, Error> {
        let database =
            Self { home: home.clone(), made: AtomicU64::new(0), readers: Mutex::default(), writer: Mutex::default() };
        if database.file() != 0 {
            database.make()?;
        }
        Ok(database)
    }

    /// Makes the database where there is none, and waits for whoever is making it.
    pub(crate) fn make(&self) -> Result<(), Error> {
        if self.file() == 0 || self.made.load(Ordering::Acquire) != self.file() {
            self.write(|_| Ok::<(), Error>(()))?;
            self.made.store(self.file(), Ordering::Release);
        }
        Ok(())
    }

    /// Opens another connection that only reads, with the file that it is on.
    pub(crate) fn reader(&self, patience: Duration) -> Result<(Store, u64), Error> {
        self.make()?;
        let file = self.file();
        Ok((Store::open_to_read(&self.home.database(), patience)?, file))
    }

    /// Reads, on a thread that may wait.
    pub(crate) async fn ask<T, F>(self: &Arc<Self>, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Store) -> Result<T, Problem> + Send + 'static,
    {
        let database = Arc::clone(self);
        blocking(move || database.read(work)).await
    }

    /// Writes, on a thread that may wait.
    pub(crate) async fn change<T, F>(self: &Arc<Self>, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Store) -> Result<T, Problem> + Send + 'static,
    {
        let database = Arc::clone(self);
        blocking(move || database.write(work)).await
    }

    /// Reads.
    pub(crate) fn read<T, E: From<Error>>(&self, work: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        let file = self.file();
        let resting = lock(&self.readers).pop().filter(|resting| resting.file == file);
        let resting = match resting {
            Some(resting) => resting,
            None => {
                let (store, file) = self.reader(PATIENCE)?;
                Resting { store, file }
            }
        };
        // One that has failed is opened anew: whatever was wrong with it may be over then.
        let done = work(&resting.store)?;
        lock(&self.readers).push(resting);
        Ok(done)
    }

    /// Writes; one after the other.
    pub(crate) fn write<T, E: From<Error>>(&self, work: impl FnOnce(&Store) -> Result<T, E>) -> Result<T, E> {
        let mut writer = lock(&self.writer);
        let file = self.file();
        let mut resting = match writer.take().filter(|resting| resting.file == file) {
            Some(resting) => resting,
            None => {
                let store = self.home.store(PATIENCE)?;
                store.set_cache(WRITER_CACHE).map_err(Error::from)?;
                Resting { store, file: self.file() }
            }
        };
        let done = work(&mut resting.store)?;
        *writer = Some(resting);
        Ok(done)
    }

    /// Returns what tells the database's file from one that takes its place; 0 where there is none.
    pub(crate) fn file(&self) -> u64 {
        std::fs::metadata(self.home.database()).map_or(0, |metadata| metadata.ino())
    }
}

/// Does something that takes time beside the thread that answers.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Problem::internal(error.to_string())))
}

/// What a thread has left behind that panicked is still what it was.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
