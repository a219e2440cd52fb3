//! Checking a database without changing it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::bridges::{Bridge, all};
use crate::recall::{IndexProgress, backlog};
use crate::schema::Schema;
use crate::sql::Sql;

/// Returns the schema of the database at `path`; `None` if it cannot be read.
pub fn schema_of(path: &Path, wait: Duration) -> Option<Schema> {
    open(path, wait).ok().and_then(|connection| Schema::of(&connection).ok())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Sound,
    /// Its content is damaged; the messages are SQLite's.
    Damaged(Vec<String>),
    /// It cannot be read now, for this reason, such as a disk that is full. That says nothing about its content.
    Unreadable(String),
}

/// Returns the state of the database at `path`.
///
/// It reads every page, which takes seconds for gigabytes.
pub fn health_of(path: &Path, wait: Duration) -> Health {
    let checked = open(path, wait).and_then(|connection| connection.all::<String>("PRAGMA quick_check(5)", []));
    match checked {
        Ok(rows) if rows.iter().all(|row| row == "ok") => Health::Sound,
        Ok(rows) => Health::Damaged(rows),
        Err(error) if crate::is_damage(&error) => Health::Damaged(vec![error.to_string()]),
        Err(error) => Health::Unreadable(error.to_string()),
    }
}

/// Returns how far the search index of the database at `path` is built; `None` if it cannot be read.
pub fn index_progress_of(path: &Path, wait: Duration) -> Option<IndexProgress> {
    open(path, wait).and_then(|connection| backlog::progress(&connection)).ok()
}

/// Returns the clients that run the bridge module, by the database at `path`; none if it cannot be read.
pub fn bridges_of(path: &Path, wait: Duration) -> Vec<Bridge> {
    open(path, wait).and_then(|connection| all(&connection)).unwrap_or_default()
}

/// Opens the database to read it; a write of another process is waited for up to `wait`.
pub(crate) fn open(path: &Path, wait: Duration) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(wait)?;
    Ok(connection)
}
