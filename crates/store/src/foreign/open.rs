//! Opening another program's database without changing any file beside it, and without trusting its content.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::OFlags;

use super::limits::LOCK_TIME;
use crate::StoreError;

/// The first bytes of every SQLite file.
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
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
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

/// Returns the file beside a database whose name ends in `end`.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}
