//! The queries for the page that a session is shown of its project when it begins. Its limits are in `memory/src/page.rs`.
//!
//! Everything is read by an index and up to a limit, so that it costs the same however much a project holds.

use std::collections::HashSet;

use longhaul_core::Millis;
use longhaul_memory::{Exchange, Kind, MadeBy, PageRecord, Summary};
use rusqlite::{Connection, Row};

use super::records::{maker, read_summary};
use super::session_row::project_number;
use super::{RecordId, What, millis};
use crate::sql::Sql;
use crate::sync::HOST_NAME;
use crate::{Store, StoreError, cannot, limit};

/// How many sessions are looked at for each that is returned: many begin and are never prompted.
const SESSIONS_FOR_EACH: usize = 4;

/// How many of the newest summaries are looked at for sessions that began long ago and still go on.
const SUMMARIES: usize = 60;

/// How many of all projects' newest notes are looked at for those of one project.
const NOTES: usize = 200;

/// How much of a first prompt is read, in characters.
const PROMPT_CHARS: usize = 1_000;

/// A session with what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSession {
    pub session: String,
    /// The other host on which it ran; `None` for this one.
    pub host: Option<String>,
    /// The record by which it is fetched: its last summary, else its first prompt.
    pub record: RecordId,
    /// When that summary, or the last prompt, was stored.
    pub at: Millis,
    pub first_prompt: String,
    /// What it came to, and who put that into words; `None` where no turn of it has ended.
    pub summary: Option<(Summary, MadeBy)>,
}

impl Store {
    /// Returns a project's newest sessions that were prompted, by when something last happened in them, at most `most`.
    pub fn page_sessions(&self, project_key: &str, most: usize) -> Result<Vec<PageSession>, StoreError> {
        sessions(&self.connection, project_key, most).map_err(cannot("read the newest sessions"))
    }

    /// Returns, of a project's `newest` records, those that a page may show: commands, decisions and notes, and up to
    /// `notes` older notes besides. The newest come first.
    pub fn page_records(&self, project_key: &str, newest: usize, notes: usize) -> Result<Vec<PageRecord>, StoreError> {
        records(&self.connection, project_key, newest, notes).map_err(cannot("read the newest records"))
    }

    pub fn count_records(&self, project_key: &str) -> Result<u64, StoreError> {
        let sql = "SELECT observations FROM projects WHERE project_key = ?1";
        let count = self.connection.first_with(sql, [project_key], |row| row.get::<_, i64>(0));
        Ok(count.map_err(cannot("count the records"))?.unwrap_or_default().unsigned_abs())
    }
}

fn sessions(connection: &Connection, project_key: &str, most: usize) -> rusqlite::Result<Vec<PageSession>> {
    let Some(project) = project_number(connection, project_key)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let lists = [
        (
            format!(
                "SELECT DISTINCT session_id FROM (SELECT session_id FROM session_summaries
                 WHERE project_id = (SELECT id FROM projects WHERE project_key = ?1) ORDER BY created_at DESC {})",
                limit(SUMMARIES)
            ),
            most,
        ),
        (
            format!(
                "SELECT id FROM sessions WHERE project_key = ?1 ORDER BY created_at DESC {}",
                limit(most.saturating_mul(SESSIONS_FOR_EACH))
            ),
            most.saturating_mul(2),
        ),
    ];
    for (sql, enough) in lists {
        let ids: Vec<i64> = connection.all(&sql, [project_key])?;
        for id in ids {
            if found.len() < enough && seen.insert(id) {
                found.extend(session(connection, project, id)?);
            }
        }
    }
    found.sort_by_key(|session: &PageSession| std::cmp::Reverse((session.at, session.record)));
    found.truncate(most);
    Ok(found)
}

/// Reads a session; `None` where nothing is known of it but that it began.
fn session(connection: &Connection, project: i64, id: i64) -> rusqlite::Result<Option<PageSession>> {
    let (session, first): (String, Option<String>) = connection.one(
        "SELECT session_id, substr(first_user_prompt, 1, ?2) FROM sessions WHERE id = ?1",
        (id, PROMPT_CHARS as i64),
    )?;
    // A clock may have stepped back within the session: the number of the prompt says which is the last.
    let sql = format!(
        "SELECT id, created_at, {HOST_NAME}, made_by, exchanges, request, investigated, learned, completed, next_steps
         FROM session_summaries t WHERE session_id = ?1 AND project_id = ?2 ORDER BY prompt_number DESC LIMIT 1"
    );
    let summary = connection.first_with(&sql, (id, project), |row| {
        let mut summary = read_summary(row)?;
        summary.exchanges = row.get::<_, Option<String>>(4)?.as_deref().map(Exchange::from_json).unwrap_or_default();
        Ok((row.get(0)?, millis(row.get(1)?), row.get(2)?, (summary, maker(row, 3)?)))
    })?;
    let of_prompt = |end: &str| {
        let sql = format!(
            "SELECT id, created_at, {HOST_NAME}, substr(prompt, 1, ?2) FROM prompts t WHERE session_id = ?1
             ORDER BY prompt_number {end} LIMIT 1"
        );
        connection.first::<(i64, i64, Option<String>, String)>(&sql, (id, PROMPT_CHARS as i64))
    };
    // What no hook has reported is known from what was imported.
    let prompt = if summary.is_none() || first.is_none() { of_prompt("ASC")? } else { None };
    let first_prompt = first.or_else(|| prompt.as_ref().map(|(.., text)| text.clone())).unwrap_or_default();
    Ok(match (summary, prompt) {
        (Some((id, at, host, summary)), _) => {
            let record = RecordId { what: What::Summary, id };
            Some(PageSession { session, host, record, at, first_prompt, summary: Some(summary) })
        }
        (None, Some((id, at, host, _))) => {
            let record = RecordId { what: What::Prompt, id };
            let at = millis(of_prompt("DESC")?.map_or(at, |(_, last, ..)| last));
            Some(PageSession { session, host, record, at, first_prompt, summary: None })
        }
        (None, None) => None,
    })
}

fn records(
    connection: &Connection,
    project_key: &str,
    newest: usize,
    notes: usize,
) -> rusqlite::Result<Vec<PageRecord>> {
    let Some(project) = project_number(connection, project_key)? else { return Ok(Vec::new()) };
    let read = |row: &Row<'_>| {
        let kind = Kind::from_name(&row.get::<_, String>(2)?).unwrap_or(Kind::Note);
        let mut record = PageRecord::new(row.get(0)?, millis(row.get(1)?), kind, row.get::<_, String>(3)?);
        (record.command_key, record.host) = (row.get(4)?, row.get(5)?);
        Ok(record)
    };
    let sql = format!(
        "SELECT id, created_at, kind, title, command_key, {HOST_NAME}
         FROM (SELECT * FROM observations WHERE project_id = ?1 ORDER BY created_at DESC, id DESC {}) t
         WHERE kind IN ('decision', 'note') OR command_key IS NOT NULL",
        limit(newest)
    );
    let mut found: Vec<PageRecord> = connection.all_with(&sql, [project], read)?;
    let sql = format!("{} {}", older_notes(), limit(notes));
    let older: Vec<PageRecord> = connection.all_with(&sql, [project], read)?;
    let known: HashSet<i64> = found.iter().map(|record| record.id).collect();
    found.extend(older.into_iter().filter(|note| !known.contains(&note.id)));
    found.sort_by_key(|record| std::cmp::Reverse((record.at, record.id)));
    Ok(found)
}

/// Returns the statement that reads notes. They are the records without a call, which the index of calls has side by side.
fn older_notes() -> String {
    format!(
        "SELECT id, created_at, kind, title, command_key, {HOST_NAME}
         FROM (SELECT * FROM observations WHERE tool_use_id IS NULL ORDER BY id DESC {}) t
         WHERE project_id = ?1 AND kind = 'note'",
        limit(NOTES)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::older_notes;
    use crate::Store;

    #[test]
    fn notes_are_found_by_an_index() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", older_notes());
        let mut statement = store.connection.prepare(&sql).unwrap();
        let plan: Vec<String> = statement.query_map([1], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
        let plan = plan.join("\n");
        assert!(plan.contains("SEARCH observations USING INDEX") && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}
