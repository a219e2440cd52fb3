//! How a database is, without changing a byte of it.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::bridges::{Bridge, all};
use crate::migrations::STEPS;

/// The schema that this version knows.
pub const SCHEMA: u32 = STEPS.len() as u32;

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the schema of the database at `path`; `None` where there is none that can be read.
pub fn schema_of(path: &Path) -> Option<u32> {
    open(path).ok().and_then(|connection| schema(&connection).ok())
}

/// Returns what is wrong with the database at `path`, in SQLite's words; nothing where all is well.
///
/// Every page is looked at: seconds, for gigabytes.
pub fn problems_of(path: &Path) -> Vec<String> {
    let checked = open(path).and_then(|connection| {
        let mut statement = connection.prepare("PRAGMA quick_check(5)")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        rows.collect::<rusqlite::Result<Vec<String>>>()
    });
    match checked {
        Ok(rows) => rows.into_iter().filter(|row| row != "ok").collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// Returns the clients that have told of their module, in the database at `path`; none where it cannot be read.
pub fn bridges_of(path: &Path) -> Vec<Bridge> {
    open(path).and_then(|connection| all(&connection)).unwrap_or_default()
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn schema(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
