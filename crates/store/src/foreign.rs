//! Databases of other programs: read, never changed, not even by a lock file beside them.

mod claude_mem;
mod throughline;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use longhaul_core::Millis;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

pub use self::claude_mem::{ClaudeMem, ForeignObservation, ForeignPrompt, ForeignSession, ForeignSummary, Sitting};
pub use self::throughline::{OldDetail, OldSession, OldTurn, Throughline};
use crate::{SqliteError, StoreError, cannot};

/// What every SQLite file begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where the header says how changes are journaled, and what means a write-ahead log.
const WRITE_VERSION: usize = 18;
const WAL: u8 = 2;

/// Times below this are seconds, not milliseconds: it is 1973 in the one and 5138 in the other.
const SECONDS_BELOW: i64 = 100_000_000_000;

/// A database of another program.
#[derive(Debug)]
pub(crate) struct Foreign {
    connection: Connection,
    path: PathBuf,
}

/// How a database is opened so that nothing beside it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It has no write-ahead log: SQLite's own locks are enough.
    Shared,
    /// Nobody has it open, and its log is gone: SQLite would make a new one.
    Still,
    /// Somebody may have it open: their locks are honoured, their index of the log is only looked at.
    Live,
    /// Somebody ended early and has left a log without an index, which is then made in memory.
    Left,
}

impl Foreign {
    /// Opens a database and makes sure that all of it can be read.
    ///
    /// What is read is one state of it, whatever others write meanwhile.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let way = way(path)?;
        let failed = |error| StoreError::open(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(path, way), flags).map_err(failed)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(failed)?;
        if way == Way::Left {
            connection.execute_batch("PRAGMA locking_mode = exclusive;").map_err(failed)?;
        }
        connection.execute_batch("BEGIN; PRAGMA cache_size = -16384;").map_err(failed)?;
        let health: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
        if health != "ok" {
            return Err(StoreError::Foreign { path: path.to_owned(), problem: format!("it is damaged ({health})") });
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Returns the columns of a table; none where there is no such table.
    fn columns(&self, table: &str) -> Result<Columns, StoreError> {
        let failed = cannot("read the tables");
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(&failed)?;
        let names = statement.query_map([table], |row| row.get(0)).map_err(&failed)?;
        Ok(Columns(names.collect::<Result<_, _>>().map_err(failed)?))
    }

    /// Returns a table's columns, and refuses where one is missing without which nothing can be read.
    fn must_have(&self, table: &str, columns: &[&[&str]]) -> Result<Columns, StoreError> {
        let found = self.columns(table)?;
        let refuse = |problem: String| StoreError::Foreign { path: self.path.clone(), problem };
        if found.0.is_empty() {
            return Err(refuse(format!("it has no table {table}")));
        }
        match columns.iter().find(|names| found.first(names).is_none()) {
            Some(names) => Err(refuse(format!("its table {table} has no column {}", names.join(" or ")))),
            None => Ok(found),
        }
    }

    /// Runs a query and collects what `read` makes of its rows.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = |error| StoreError::Unreadable { path: self.path.clone(), source: SqliteError(error) };
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement.query_map(values, read).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    fn count(&self, table: &str) -> Result<usize, StoreError> {
        let rows = self.rows(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))?;
        Ok(rows.first().map_or(0, |count| count.unsigned_abs() as usize))
    }
}

/// The columns of a table, which differ from version to version.
#[derive(Debug, Clone, Default)]
struct Columns(BTreeSet<String>);

impl Columns {
    /// Returns the first of some names that there is.
    fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.0.contains(*name))
    }

    /// Returns the same for a query, in which a column that is missing is empty.
    fn or_null<'a>(&self, names: &[&'a str]) -> &'a str {
        self.first(names).unwrap_or("NULL")
    }

    /// Returns an expression for a time: a number of milliseconds or seconds, or what SQLite can read as a date.
    fn time(&self, numbers: &[&str], date: &str) -> String {
        let date = self.or_null(&[date]);
        let parsed = format!(
            "iif(typeof({date}) IN ('integer', 'real'), CAST({date} AS INTEGER),
                 CAST(round((julianday({date}) - 2440587.5) * 86400000) AS INTEGER))"
        );
        match self.first(numbers) {
            Some(number) => format!("coalesce(CAST({number} AS INTEGER), {parsed})"),
            None => parsed,
        }
    }
}

/// Decides how a file is opened; fails where it is no database, or is in the middle of a change.
fn way(path: &Path) -> Result<Way, StoreError> {
    let refuse = |problem: &str| StoreError::Foreign { path: path.to_owned(), problem: problem.to_owned() };
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    if let Err(error) = read {
        return Err(match error.kind() {
            std::io::ErrorKind::UnexpectedEof => refuse("it is no SQLite database"),
            _ => refuse(&format!("it cannot be read ({error})")),
        });
    }
    if !header.starts_with(MAGIC) {
        return Err(refuse("it is no SQLite database"));
    }
    let length = |end: &str| fs::metadata(format!("{}{end}", path.display())).map(|metadata| metadata.len()).ok();
    if header[WRITE_VERSION] != WAL {
        return match length("-journal") {
            Some(1..) => Err(refuse("it was left in the middle of a change: start the program that it is of once")),
            _ => Ok(Way::Shared),
        };
    }
    Ok(match (length("-wal"), length("-shm")) {
        (_, Some(_)) => Way::Live,
        (Some(1..), None) => Way::Left,
        (_, None) => Way::Still,
    })
}

fn uri(path: &Path, way: Way) -> String {
    let mut escaped = String::new();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'?' | b'#' | b'%' | 128.. => escaped.push_str(&format!("%{byte:02X}")),
            byte => escaped.push(char::from(byte)),
        }
    }
    let how = match way {
        Way::Shared => "",
        Way::Still => "&immutable=1",
        Way::Live => "&readonly_shm=1",
        Way::Left => "&vfs=unix-none",
    };
    format!("file:{escaped}?mode=ro{how}")
}

/// Reads a text, whatever the column holds.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Null | ValueRef::Blob(_) => String::new(),
    })
}

/// Reads a number; none where there is something else.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    })
}

/// Reads a time of [`Columns::time`].
fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Millis>> {
    let number = number(row, column)?.filter(|number| *number > 0);
    Ok(number.map(|number| if number < SECONDS_BELOW { number * 1000 } else { number }).map(|ms| Millis(ms as u64)))
}

/// Reads a list of texts: a JSON array, or lines.
fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text = text(row, column)?;
    let texts = match serde_json::from_str::<Vec<serde_json::Value>>(&text) {
        Ok(values) => {
            values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
        }
        Err(_) => text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>(),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}
