//! What was stored on each day.

use longhaul_core::Millis;
use longhaul_core::clock::DAY_MS;
use rusqlite::Connection;

use crate::memory::session_row::project_row;
use crate::row_ids::{ProjectRow, Time};
use crate::{Store, StoreError, cannot};

/// What was stored on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Day {
    /// Bytes of the turns that began.
    pub turn_bytes: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Prompts.
    pub prompts: u64,
    /// Observations.
    pub observations: u64,
    /// Bytes of prompts, observations and summaries.
    pub record_bytes: u64,
}

/// Each returns the day, the number of rows, and their bytes. `?1` is a project's row, `?2` its key, both NULL for all
/// projects; `?3` is the beginning of the first day, `?4` the length of a day.
const SOURCES: [&str; 5] = [
    "SELECT (t.began_at - ?3) / ?4, count(iif(t.role = 'bookmark', NULL, 1)), sum(t.chars) FROM turns t
     WHERE t.began_at >= ?3 AND t.replaced = 0 AND ?1 IS ?1
       AND (?2 IS NULL OR t.session_id IN (SELECT id FROM sessions WHERE project_key = ?2)) GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*), 0 FROM sessions t
     WHERE t.created_at >= ?3 AND ?1 IS ?1 AND (?2 IS NULL OR t.project_key = ?2) GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*), sum(octet_length(t.prompt))
     FROM projects p CROSS JOIN prompts t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*),
            sum(octet_length(t.title) + octet_length(t.narrative) + octet_length(t.facts)
                + octet_length(t.files_read) + octet_length(t.files_modified))
     FROM projects p CROSS JOIN observations t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
    "SELECT (t.created_at - ?3) / ?4, count(*),
            sum(octet_length(t.request) + octet_length(t.investigated) + octet_length(t.learned)
                + octet_length(t.completed) + octet_length(t.next_steps))
     FROM projects p CROSS JOIN session_summaries t ON t.project_id = p.id AND t.created_at >= ?3
     WHERE p.project_key IS NOT NULL AND (?1 IS NULL OR p.id = ?1) AND ?2 IS ?2 GROUP BY 1",
];

impl Store {
    /// Returns what was stored on each of `days` days from `from` on, of a project or of all.
    pub fn days(&self, project_key: Option<&str>, from: Millis, days: usize) -> Result<Vec<Day>, StoreError> {
        count(&self.connection, project_key, from, days).map_err(cannot("count the days"))
    }
}

fn count(connection: &Connection, key: Option<&str>, from: Millis, days: usize) -> rusqlite::Result<Vec<Day>> {
    let mut counted = vec![Day::default(); days];
    let project = match key {
        // No project has the row 0.
        Some(key) => Some(project_row(connection, key)?.unwrap_or(ProjectRow(0))),
        None => None,
    };
    for (source, sql) in SOURCES.iter().enumerate() {
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query((project, key, Time(from), DAY_MS))?;
        while let Some(row) = rows.next()? {
            let number =
                |column: usize| row.get::<_, Option<i64>>(column).map(|n| n.unwrap_or_default().unsigned_abs());
            let Some(day) = usize::try_from(row.get::<_, i64>(0)?).ok().and_then(|day| counted.get_mut(day)) else {
                continue;
            };
            let (rows, size) = (number(1)?, number(2)?);
            match source {
                0 => day.turn_bytes += size,
                1 => day.sessions += rows,
                2 => (day.prompts, day.record_bytes) = (day.prompts + rows, day.record_bytes + size),
                3 => (day.observations, day.record_bytes) = (day.observations + rows, day.record_bytes + size),
                _ => day.record_bytes += size,
            }
        }
    }
    Ok(counted)
}
