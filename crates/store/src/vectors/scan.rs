//! Comparing every vector of a model, while a person waits for the results of a search.
//!
//! If only one project is searched, the vectors of blocks without it are not read. Otherwise two threads share the blocks if
//! there are many, each with its own connection.

use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

use longhaul_embedding::Vector;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};

use super::VectorModel;
use super::blocks::{Comparison, has_project};
use crate::RecordId;

/// With fewer blocks, opening a second connection takes as long as it saves.
const SHARED: i64 = 512;

/// For how long the second connection waits, for example while the WAL is being reset.
const PATIENCE: Duration = Duration::from_millis(100);

/// Compares the vectors of a model with `query`, of one project or of all.
pub(super) fn nearest(
    connection: &Connection,
    model: &VectorModel,
    project: Option<i64>,
    query: &Vector,
    most: usize,
) -> rusqlite::Result<Vec<(RecordId, f32)>> {
    let scan = Scan { model, project, query, most };
    let sql = "SELECT (SELECT min(rowid) FROM vector_blocks), (SELECT max(rowid) FROM vector_blocks)";
    let ends = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)): (Option<i64>, Option<i64>) = ends else { return Ok(Vec::new()) };
    let is_much = project.is_none() && last - first >= SHARED;
    // Another connection would not see what an open transaction has written.
    let path = connection.path().filter(|path| is_much && !path.is_empty() && connection.is_autocommit());
    let Some(path) = path else { return Ok(scan.compare(connection, first..=last)?.finish()) };
    let mapped: i64 = connection.pragma_query_value(None, "mmap_size", |row| row.get(0))?;
    let middle = first.midpoint(last);
    let (older, newer) = thread::scope(|scope| {
        let newer = scope.spawn(|| scan.compare(&reader(path, mapped)?, middle + 1..=last));
        (scan.compare(connection, first..=middle), newer.join())
    });
    let newer = match newer {
        Ok(Ok(compared)) => compared,
        Ok(Err(_)) | Err(_) => scan.compare(connection, middle + 1..=last)?,
    };
    Ok(older?.and(newer).finish())
}

/// Opens a connection that maps as much of the file as the first one, so that it needs no more memory.
fn reader(path: &str, mapped: i64) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "mmap_size", mapped)?;
    Ok(connection)
}

/// What is compared.
#[derive(Clone, Copy)]
struct Scan<'a> {
    model: &'a VectorModel,
    project: Option<i64>,
    query: &'a Vector,
    most: usize,
}

impl<'a> Scan<'a> {
    /// Compares the vectors of the blocks with some row numbers.
    fn compare(self, connection: &Connection, rows: RangeInclusive<i64>) -> rusqlite::Result<Comparison<'a>> {
        let mut comparison = Comparison::new(self.model, self.project, self.query, self.most);
        let vectors = match self.project {
            Some(project) => {
                connection.create_scalar_function("has_project", 1, FunctionFlags::SQLITE_UTF8, move |arguments| {
                    Ok(has_project(arguments.get_raw(0).as_blob()?, project))
                })?;
                "CASE WHEN has_project(keys) THEN vectors ELSE x'' END"
            }
            None => "vectors",
        };
        // In the order of the rows, because looking each of them up by an index takes longer.
        let sql = format!(
            "SELECT keys, {vectors} FROM vector_blocks NOT INDEXED WHERE model_id = ?1 AND rowid BETWEEN ?2 AND ?3"
        );
        let mut statement = connection.prepare(&sql)?;
        let mut found = statement.query((self.model.id, rows.start(), rows.end()))?;
        while let Some(row) = found.next()? {
            comparison.add(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
        }
        Ok(comparison)
    }
}
