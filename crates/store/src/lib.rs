//! The database: the only crate that knows SQLite. It holds the schema and every query.

mod agents;
mod batons;
mod blame;
mod bookmarks;
mod bridges;
mod capture;
mod checkpoint;
mod compaction;
mod context;
mod continuations;
mod foreign;
mod health;
mod lock_queue;
mod memory;
mod model;
mod notifications;
mod recall;
mod row_ids;
mod salvage;
mod sanitizer;
mod schema;
mod session_places;
mod sessions;
mod snapshots;
mod sql;
mod sync;
mod turns;
mod vectors;
mod viewer;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, Params, Row, Transaction, TransactionBehavior};

use crate::lock_queue::LockQueue;
use crate::sql::Sql;

pub use crate::agents::{Change, PermissionQuestion, PromptOrigin, Sighting};
pub use crate::batons::{Injection, NewInjection, StoredBaton, WRITTEN};
pub use crate::blame::{CommandCall, LineMap, LineMapStats, StoredEdit, StoredTurn, TurnText};
pub use crate::bookmarks::{Bookmark, NewBookmark};
pub use crate::bridges::{Bridge, Shown, StepTaker};
pub use crate::capture::{
    BOOKMARK, Bulk, Moved, MovedCall, MovedIn, MovedTurn, NewNote, NewObservation, PastPrompt, PastTurn, Reading,
    Taken, turn_role,
};
pub use crate::compaction::StoredCall;
pub use crate::context::ContextUse;
pub use crate::continuations::{Chain, ChainStep, ChainUpdate, Handoff, NewChain, PendingMessage};
pub use crate::foreign::{
    ClaudeMem, ForeignHead, ForeignObservation, ForeignRecords, ForeignSession, ForeignSummary, OldDetail, OldSession,
    OldTurn, OldTurnSize, Sitting, Throughline,
};
pub use crate::health::{Health, bridges_of, health_of, index_progress_of, schema_of};
pub use crate::memory::{
    Content, Hit, KnownProject, Order, PageSession, Pruned, Record, RecordId, Score, ScoreParts, Stats, What,
};
pub use crate::model::{Cost, JobTurn, ModelJob, Rest, Retry, Reworded, Spending, Tokens, Trouble, Words};
pub use crate::notifications::{Notification, NotifyEvent, NotifyResult, last_notifications_of};
pub use crate::recall::{Compared, IndexProgress, NEAREST, NearRecords, PromptPassage, PromptSearch, SearchQuery};
pub use crate::row_ids::ChainId;
pub use crate::salvage::Salvaged;
pub use crate::sanitizer::Sanitizer;
pub use crate::schema::{SCHEMA, Schema, copy_wal_back};
pub use crate::sessions::{NewSession, Session};
pub use crate::snapshots::{Snapshot, SnapshotKind};
pub use crate::sync::{Logged, OwnCheck, Scan, SyncCounts, SyncHost, SyncProject, SyncSelf, TakenIn, from_host};
pub use crate::turns::{Detail, Rewind, Turn, TurnWords, Within};
pub use crate::vectors::{RecordParts, VectorModel, VectorStats, Waiting};
pub use crate::viewer::{Counts, Day, Entry, Moment, MomentId, Newest, Only, SessionOverview};

#[cfg(test)]
mod tests;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file could not be opened as a database.
    #[error("cannot open the database {}", path.display())]
    Open { path: PathBuf, source: SqliteError },
    /// The file is damaged, or no database at all. It is left as it is: the caller decides what to do with it.
    #[error("cannot open the database {}", path.display())]
    Corrupt { path: PathBuf, source: SqliteError },
    #[error("{} was written by a newer version (schema {found}, this one knows {known}): update longhaul", path.display())]
    TooNew { path: PathBuf, found: u32, known: u32 },
    /// An older version of the program has written it, and it was opened for reading only.
    #[error("{} was written by an older version (schema {found}, this one knows {known}): the next hook updates it", path.display())]
    TooOld { path: PathBuf, found: u32, known: u32 },
    /// A version before the first release has written it.
    #[error("{} was written by a version before the first release: the next session renames it and begins a new one", path.display())]
    Unreleased { path: PathBuf },
    /// Another program's database is not of the expected form.
    #[error("{} cannot be imported: {problem}", path.display())]
    Foreign { path: PathBuf, problem: String },
    /// Another program's database cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: SqliteError },
    #[error("cannot {action}")]
    Statement { action: &'static str, source: SqliteError },
}

impl StoreError {
    /// Returns whether the database is damaged, noticed at opening or by a statement later.
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Corrupt { .. } => true,
            Self::Open { source, .. } | Self::Statement { source, .. } => is_damage(&source.0),
            _ => false,
        }
    }

    /// Returns whether a full-text index is damaged. It is made of the records, which are whole.
    pub fn is_index_damage(&self) -> bool {
        let code = self.sqlite_error().and_then(rusqlite::Error::sqlite_error);
        code.is_some_and(|error| error.extended_code == DAMAGED_INDEX)
    }

    /// Returns whether another process held the database for too long.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::Corrupt { source, .. } | Self::Statement { source, .. } => {
                matches!(source.0.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
            }
            _ => false,
        }
    }

    /// Returns whether the disk is the cause: it is full, read-only, or fails.
    ///
    /// That says nothing about the content of the database.
    pub fn is_disk_trouble(&self) -> bool {
        self.sqlite_error().is_some_and(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::CannotOpen) => true,
            // A file that ends too early is damage.
            Some(ErrorCode::SystemIoFailure) => {
                error.sqlite_error().is_some_and(|error| error.extended_code != SHORT_READ)
            }
            _ => false,
        })
    }

    pub fn is_disk_full(&self) -> bool {
        self.sqlite_error().is_some_and(|error| error.sqlite_error_code() == Some(ErrorCode::DiskFull))
    }

    fn sqlite_error(&self) -> Option<&rusqlite::Error> {
        match self {
            Self::Open { source, .. } | Self::Corrupt { source, .. } | Self::Statement { source, .. } => {
                Some(&source.0)
            }
            _ => None,
        }
    }

    fn open(path: &Path, error: rusqlite::Error) -> Self {
        let damaged = is_damage(&error);
        let (path, source) = (path.to_owned(), SqliteError(error));
        if damaged { Self::Corrupt { path, source } } else { Self::Open { path, source } }
    }
}

/// SQLite's code for a file that ends before the page that is read (`SQLITE_IOERR_SHORT_READ`).
const SHORT_READ: i32 = 522;

/// SQLite's code for damage that a full-text index has found in its own tables (`SQLITE_CORRUPT_VTAB`).
const DAMAGED_INDEX: i32 = 267;

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// The error of SQLite. Its own type repeats the message as its cause; this one does not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SqliteError(rusqlite::Error);

/// The settings of every connection.
///
/// The cache is large because a search reads a thousand rows from all over the file; it is filled only as pages are read.
/// `secure_delete = fast` overwrites deleted text where the page is written anyway. `journal_size_limit` shortens a WAL that
/// an interrupted import has left. `mmap_size` is the maximum in `.cargo/config.toml`: pages are read where the kernel has them,
/// instead of being copied one by one; nothing is written that way.
const SETTINGS: &str = "PRAGMA mmap_size = 1099511627776; PRAGMA synchronous = normal; PRAGMA wal_autocheckpoint = 100;
                        PRAGMA secure_delete = fast; PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 4194304;";

/// How many prepared statements a connection keeps: all that a hook or an import uses.
const STATEMENTS: usize = 64;

#[derive(Debug)]
pub struct Store {
    connection: Connection,
    lock_queue: LockQueue,
}

impl Store {
    /// Opens the database; creates it, or updates its schema.
    ///
    /// Opening never deletes anything that is stored. A statement waits at most `patience` for another process to finish
    /// writing.
    pub fn open(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let open = |error| StoreError::open(path, error);
        let mut connection = Connection::open(path).map_err(open)?;
        // First of all: the very next statement may find the database locked by another hook.
        let lock_queue = LockQueue::install(&mut connection, path, patience).map_err(open)?;
        // A hook runs for milliseconds, so closing must not copy the WAL back each time. Commits do it, often enough that the
        // next opening has little to read.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(open)?;
        keep_statements(&connection).map_err(open)?;
        connection.execute_batch(SETTINGS).map_err(open)?;
        schema::update(&mut connection, path, patience)?;
        Ok(Self { connection, lock_queue })
    }
}

/// Makes a connection prepare each statement once.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    // Otherwise binding a value makes SQLite plan a statement again, including those inside a full-text index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

impl Store {
    /// Sets how long a statement waits for another process to finish writing.
    pub fn set_patience(&self, patience: Duration) {
        self.lock_queue.set_patience(patience);
    }

    /// Sets how long all statements together, from the opening on, wait for other processes to finish writing.
    pub fn limit_all_waits(&self, most: Duration) {
        self.lock_queue.limit_all_waits(most);
    }

    /// Returns whether so many processes want to write that work which can wait should wait.
    pub fn is_crowded(&self) -> bool {
        self.lock_queue.is_long()
    }

    /// Runs `work` in one transaction and commits it. If `work` returns an error, nothing of it is stored.
    ///
    /// The transaction holds the write lock from its beginning: no other process writes between what `work` reads and what it
    /// writes. `action` names the operation in an error of the transaction itself. `work` may call methods of the store, but
    /// only those that begin no transaction; SQLite refuses a second one.
    pub fn transaction<T, E: From<StoreError>>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let failed = cannot(action);
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate);
        let transaction = begun.map_err(&failed)?;
        let done = work(self)?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Runs `work`, which only reads, in one transaction: everything that it reads is of the same moment.
    ///
    /// It is also faster than many single statements, because each of those locks the database.
    pub fn read_together<T, E: From<StoreError>>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred);
        let transaction = begun.map_err(cannot(action))?;
        let done = work(self)?;
        transaction.commit().map_err(cannot(action))?;
        Ok(done)
    }

    /// Runs statements, each by itself.
    fn try_to<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(cannot(action))
    }

    /// Runs statements that only read in one transaction: [`Store::read_together`] for code that uses the connection itself.
    fn read<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.read_together(action, |store| work(&store.connection).map_err(cannot(action)))
    }

    /// Runs statements in one transaction and commits it: [`Store::transaction`] for code that uses the connection itself.
    fn write<T>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.transaction(action, |store| work(&store.connection).map_err(cannot(action)))
    }
}

/// Returns a `LIMIT` clause with its number written out: a bound one makes SQLite prepare the statement twice.
fn limit(most: usize) -> String {
    format!("LIMIT {}", i64::try_from(most).unwrap_or(i64::MAX))
}

/// Returns the rows of a statement that selects the newest first, in the opposite order: the newest last.
fn newest_last<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut found: Vec<T> = connection.all_with(sql, values, read)?;
    found.reverse();
    Ok(found)
}

/// Names the operation in an error.
fn cannot(action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| StoreError::Statement { action, source: SqliteError(error) }
}

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
    pub fn open(&self) -> Result<Store, StoreError> {
        let store = Store::open_to_read(&self.path, self.patience)?;
        for (name, value) in [("mmap_size", self.mmap_size), ("cache_size", self.cache_size)] {
            let set = store.connection.pragma_update(None, name, value);
            set.map_err(cannot("change the settings of the database"))?;
        }
        Ok(store)
    }
}
