//! Reading databases of other programs without changing them or any file beside them.

mod claude_mem;
mod limits;
pub(crate) mod open;
mod patience;
mod throughline;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use longhaul_core::Millis;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};

pub use self::claude_mem::{
    ClaudeMem, ForeignHead, ForeignObservation, ForeignRecords, ForeignSession, ForeignSummary, Sitting,
};
use self::limits::{MAX_BYTES, MAX_CHARS};
use self::patience::Patience;
pub use self::throughline::{OldDetail, OldSession, OldTurn, OldTurnSize, Throughline};
use crate::{SqliteError, StoreError, cannot};

/// Times below this are seconds, not milliseconds: in milliseconds it is in 1973, in seconds in 5138.
const SECONDS_BELOW: i64 = 100_000_000_000;

/// A database of another program.
#[derive(Debug)]
pub(crate) struct Foreign {
    connection: Connection,
    path: PathBuf,
    patience: Patience,
}

impl Foreign {
    /// Opens a database and checks that all of it can be read.
    ///
    /// Everything is read in one transaction, so that it is one state, whatever other processes write meanwhile.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let mut connection = open::open(path)?;
        let failed = |error| StoreError::open(path, error);
        let patience = Patience::watch(&mut connection).map_err(failed)?;
        let health: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
        if health != "ok" {
            return Err(StoreError::Foreign { path: path.to_owned(), problem: format!("it is damaged ({health})") });
        }
        Ok(Self { connection, path: path.to_owned(), patience })
    }

    /// Returns the columns of a table; none if there is no such table.
    ///
    /// Anything but a table is refused: a view is a query of the file's own, which may never end.
    fn columns(&self, table: &str) -> Result<Columns, StoreError> {
        let failed = cannot("read the tables");
        let sql = "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE NOCASE";
        let kind = self.connection.query_row(sql, [table], |row| row.get::<_, String>(0)).optional();
        if let Some(kind) = kind.map_err(&failed)?.filter(|kind| kind != "table") {
            let problem = format!("its {table} is a {kind}, and only tables are read");
            return Err(StoreError::Foreign { path: self.path.clone(), problem });
        }
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(&failed)?;
        let names = statement.query_map([table], |row| row.get(0)).map_err(&failed)?;
        Ok(Columns(names.collect::<Result<_, _>>().map_err(failed)?))
    }

    /// Returns a table's columns; an error if one is missing without which nothing can be read.
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
        self.patience.renew();
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement.query_map(values, |row| {
            self.patience.renew();
            read(row)
        });
        rows.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
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
    /// Returns the first of some names that the table has.
    fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.0.contains(*name))
    }

    /// Returns the first of some names that the table has, or `NULL` for a query.
    fn or_null<'a>(&self, names: &[&'a str]) -> &'a str {
        self.first(names).unwrap_or("NULL")
    }

    /// Returns an expression for the beginning of a text, in which a column that is missing is empty.
    ///
    /// More than [`MAX_CHARS`] are kept of no text. One of more than [`MAX_BYTES`] is not even loaded.
    fn text(&self, names: &[&str]) -> String {
        match self.first(names) {
            Some(name) => format!(
                "iif(octet_length({name}) > {MAX_BYTES}, '(left out: ' || octet_length({name}) || ' bytes)',
                     substr({name}, 1, {MAX_CHARS}))"
            ),
            None => "NULL".to_owned(),
        }
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
