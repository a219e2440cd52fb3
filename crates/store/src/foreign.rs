//! Reading databases of other programs without changing them or any file beside them, and without trusting their
//! content.

mod claude_mem;
mod throughline;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longhaul_core::Millis;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use rustix::fs::OFlags;

use crate::sql::Sql;
use crate::{SqliteError, StoreError, cannot};

pub use self::claude_mem::{
    ClaudeMem, ForeignHead, ForeignObservation, ForeignRecords, ForeignSession, ForeignSummary, Sitting,
};
pub use self::throughline::{OldDetail, OldSession, OldTurn, OldTurnSize, Throughline};

/// How many characters of one text are read at most. What is stored of a long text is far shorter.
const MAX_CHARS: usize = 1 << 20;

/// The bytes of the largest text that is read at all: SQLite loads the whole text to return its beginning.
const MAX_BYTES: usize = 64 << 20;

/// How long a query may run without returning a row. Checking a database of many gigabytes takes minutes.
const QUERY_TIME: Duration = Duration::from_secs(300);

/// How long a lock of the other program is waited for.
const LOCK_TIME: Duration = Duration::from_secs(5);

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
        let mut connection = connect(path)?;
        let failed = |error| StoreError::open(path, error);
        let patience = Patience::watch(&mut connection).map_err(failed)?;
        let health: String = connection.one("PRAGMA quick_check(1)", []).map_err(failed)?;
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
        let kind = self.connection.first::<String>(sql, [table]).map_err(&failed)?;
        if let Some(kind) = kind.filter(|kind| kind != "table") {
            let problem = format!("its {table} is a {kind}, and only tables are read");
            return Err(StoreError::Foreign { path: self.path.clone(), problem });
        }
        let names = self.connection.all("SELECT name FROM pragma_table_info(?1)", [table]).map_err(failed)?;
        Ok(Columns(names.into_iter().collect()))
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

const MAGIC: &[u8] = b"SQLite format 3\0";

/// The offset in the header of the journal mode, and the value for a write-ahead log.
const WRITE_VERSION: usize = 18;
const WAL: u8 = 2;

/// The files that SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How a database is opened so that nothing beside it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It has no write-ahead log: SQLite's own locks are enough.
    Shared,
    /// No process has it open, and there is no log: SQLite would create one.
    Still,
    /// Another process may have it open: its locks are honoured, and its index of the log is only read.
    Live,
    /// A process that ended early has left a log without an index, which is then built in memory.
    Left,
}

/// Opens a database for reading, in a transaction that lasts until it is closed.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let way = way(path)?;
    let failed = |error| StoreError::open(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, way), flags).map_err(failed)?;
    connection.busy_timeout(LOCK_TIME).map_err(failed)?;
    if way == Way::Left {
        connection.execute_batch("PRAGMA locking_mode = exclusive;").map_err(failed)?;
    }
    // The schema is as foreign as the rows: no expression in it is evaluated unless a query needs it.
    let settings = "PRAGMA trusted_schema = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA cache_size = -16384;";
    connection.execute_batch(settings).map_err(failed)?;
    connection.execute_batch("BEGIN").map_err(failed)?;
    Ok(connection)
}

/// Decides how a file is opened; fails if it is no database, or is being changed.
fn way(path: &Path) -> Result<Way, StoreError> {
    let refuse = |problem: &str| StoreError::Foreign { path: path.to_owned(), problem: problem.to_owned() };
    let mut header = [0; 20];
    let read = open_regular(path).and_then(|mut file| file.read_exact(&mut header));
    if let Err(error) = read {
        return Err(match error.kind() {
            std::io::ErrorKind::UnexpectedEof => refuse("it is no SQLite database"),
            _ => refuse(&format!("it cannot be read ({error})")),
        });
    }
    if !header.starts_with(MAGIC) {
        return Err(refuse("it is no SQLite database"));
    }
    // SQLite would open these too, and wait for a FIFO.
    for end in COMPANIONS {
        if fs::metadata(beside(path, end)).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(refuse(&format!("the file beside it that ends in {end} is not a regular file")));
        }
    }
    let length = |end: &str| fs::metadata(beside(path, end)).map(|metadata| metadata.len()).ok();
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

/// Opens a regular file without blocking; anything else is an error.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// After how many steps of a query the clock is read.
const STEPS: i32 = 10_000;

/// Interrupts a query that does not return its next row in time.
#[derive(Debug)]
struct Patience {
    began: Instant,
    /// When the last row was returned, in milliseconds after `began`.
    newest: Arc<AtomicU64>,
}

impl Patience {
    /// Watches every query of a connection from now on.
    fn watch(connection: &mut Connection) -> rusqlite::Result<Self> {
        let patience = Self { began: Instant::now(), newest: Arc::default() };
        let (began, newest) = (patience.began, Arc::clone(&patience.newest));
        connection.progress_handler(
            STEPS,
            Some(move || {
                let waited = began.elapsed().saturating_sub(Duration::from_millis(newest.load(Ordering::Relaxed)));
                waited > QUERY_TIME
            }),
        )?;
        Ok(patience)
    }

    /// Records that a query begins, or has returned a row.
    fn renew(&self) {
        self.newest.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}
