//! The schema: one file, and one step more for each later version.
//!
//! From the first release on, a step that has shipped is never edited, `schema.sql` included: a change is a new step. A database
//! from before the first release is not updated: `Home::store` in `runtime` renames it and creates a new one. What a hook does if
//! the database is too new is in `runtime/src/hook.rs`.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::sql::Sql;
use crate::{StoreError, cannot};

/// Step n brings `user_version` from n to n + 1.
const STEPS: &[&str] = &[include_str!("schema.sql")];

/// The number of the schema that this version knows.
pub const SCHEMA: u32 = STEPS.len() as u32;

/// Identifies a database of a released version: `Lhul`. Those before it have no id, and their versions had the same numbers.
const APPLICATION_ID: i32 = 0x4c68_756c;

/// The schema of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Of this version, or of an earlier one that is updated; 0 if the database is empty.
    Known(u32),
    /// Of a later version.
    Newer(u32),
    /// Of a version before the first release.
    Unreleased,
}

impl Schema {
    /// Reads the schema of a database.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let found = connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))?;
        // Every hook opens the database, so the id is read only if it matters.
        if found != 0 && found != SCHEMA && is_unreleased(connection)? {
            return Ok(Self::Unreleased);
        }
        Ok(if found > SCHEMA { Self::Newer(found) } else { Self::Known(found) })
    }

    /// Returns the version of a database that can be used; an error for another one.
    fn known(self, path: &Path) -> Result<u32, StoreError> {
        let path = || path.to_owned();
        match self {
            Self::Known(found) => Ok(found),
            Self::Newer(found) => Err(StoreError::TooNew { path: path(), found, known: SCHEMA }),
            Self::Unreleased => Err(StoreError::Unreleased { path: path() }),
        }
    }
}

/// Returns whether a database without our id has a table that every version before the first release had.
fn is_unreleased(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(id != APPLICATION_ID && connection.table_exists(None, "bookmarks")?)
}

/// Creates the schema, or updates it to the current version.
pub(crate) fn update(connection: &mut Connection, path: &Path, patience: Duration) -> Result<(), StoreError> {
    let read =
        |connection: &Connection| Schema::of(connection).map_err(|error| StoreError::open(path, error))?.known(path);
    let found = read(connection)?;
    if found == SCHEMA {
        return Ok(());
    }
    let failed = cannot("update the database's schema");
    if found == 0 {
        // This works only while the file has no page; later the whole file would have to be rewritten.
        connection.pragma_update(None, "auto_vacuum", "incremental").map_err(&failed)?;
    }
    use_wal(connection, patience).map_err(&failed)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
    // Another process may have done it while this one waited for the lock.
    let found = read(&transaction)?;
    for step in STEPS.iter().skip(found as usize) {
        transaction.execute_batch(&without_comments(step)).map_err(&failed)?;
    }
    if found == 0 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
        crate::recall::backlog::set_current(&transaction).map_err(&failed)?;
    }
    transaction.pragma_update(None, "user_version", SCHEMA).map_err(&failed)?;
    transaction.commit().map_err(failed)?;
    // Every opening reads the WAL, so the schema should not stay in it. While another process reads, a later commit copies
    // it back.
    let _ = connection.pragma_query(None, "wal_checkpoint", |_| Ok(()));
    Ok(())
}

/// Removes comments and white space: the database keeps the text of each statement, and every opening reads it.
fn without_comments(sql: &str) -> String {
    let lines = sql.lines().map(|line| line.split_once("--").map_or(line, |(code, _)| code));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Returns whether the database is of this version.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(Schema::of(connection)? == Schema::Known(SCHEMA))
}

/// Returns an error if the database is of another version.
pub(crate) fn must_be_current(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = Schema::of(connection).map_err(|error| StoreError::open(path, error))?.known(path)?;
    if found == SCHEMA { Ok(()) } else { Err(StoreError::TooOld { path: path.to_owned(), found, known: SCHEMA }) }
}

/// Copies the WAL of a database of any version back, as far as other processes allow it, so that the file alone has everything.
pub fn copy_wal_back(path: &Path, patience: Duration) {
    let copied = Connection::open(path).and_then(|connection| {
        connection.busy_timeout(patience)?;
        connection.one_with("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    });
    // What is left stays in the WAL.
    drop(copied);
}

/// Switches to the write-ahead log, which the file keeps from then on.
///
/// If several processes create the database at the same moment, SQLite refuses the switch without calling the
/// busy handler. It is tried again for as long as `patience` allows.
fn use_wal(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let started = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < patience =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}
