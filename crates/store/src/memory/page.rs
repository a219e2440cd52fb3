//! What a session is shown of its project when it begins.

use longhaul_core::Millis;
use longhaul_memory::{Kind, Summary};
use rusqlite::{Connection, OptionalExtension};

use super::millis;
use super::place::project_number;
use super::records::{raw_chars, texts};
use crate::{Store, StoreError, cannot, limit};

/// A project's newest observations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The newest first.
    pub lines: Vec<PageLine>,
    /// How many older ones there are.
    pub older: u64,
}

/// An observation in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLine {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: Millis,
    /// What it is about.
    pub kind: Kind,
    /// It in one line.
    pub title: String,
    /// The first file that was changed, else read.
    pub file: Option<String>,
    /// How often it came again.
    pub repeats: i64,
    /// Bytes of the whole record: what reading it costs.
    pub chars: u64,
}

/// What a project's last session came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestSummary {
    /// Its number.
    pub id: i64,
    /// The session.
    pub session: String,
    /// When.
    pub at: Millis,
    /// What it says.
    pub summary: Summary,
}

impl Store {
    /// Returns a project's newest observations, at most `most`, and how many there are older.
    pub fn page_lines(&self, project_key: &str, most: usize) -> Result<Page, StoreError> {
        lines(&self.connection, project_key, most).map_err(cannot("read the newest observations"))
    }

    /// Returns the newest summary of a project.
    pub fn latest_summary(&self, project_key: &str) -> Result<Option<LatestSummary>, StoreError> {
        self.connection
            .query_row(
                "SELECT t.id, s.session_id, t.created_at, t.request, t.investigated, t.learned, t.completed, t.next_steps
                 FROM session_summaries t JOIN sessions s ON s.id = t.session_id
                 WHERE t.session_id = (SELECT session_id FROM session_summaries
                                       WHERE project_id = (SELECT id FROM projects WHERE project_key = ?1)
                                       ORDER BY created_at DESC, id DESC LIMIT 1)
                 -- A clock may have stepped back within the session.
                 ORDER BY t.prompt_number DESC LIMIT 1",
                [project_key],
                |row| {
                    Ok(LatestSummary {
                        id: row.get(0)?,
                        session: row.get(1)?,
                        at: millis(row.get(2)?),
                        summary: Summary {
                            request: row.get(3)?,
                            investigated: row.get(4)?,
                            learned: row.get(5)?,
                            completed: row.get(6)?,
                            next_steps: row.get(7)?,
                        },
                    })
                },
            )
            .optional()
            .map_err(cannot("read the newest summary"))
    }
}

fn lines(connection: &Connection, project_key: &str, most: usize) -> rusqlite::Result<Page> {
    let Some(project) = project_number(connection, project_key)? else { return Ok(Page::default()) };
    let sql = format!(
        "SELECT o.id, o.created_at, o.kind, o.title, o.files_modified, o.files_read, o.repeats,
                octet_length(o.title) + octet_length(o.narrative) + octet_length(o.facts), s.session_id
         FROM observations o LEFT JOIN sessions s ON s.id = o.session_id
         WHERE o.project_id = ?1 ORDER BY o.created_at DESC, o.id DESC {}",
        limit(most)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([project], |row| {
        let (modified, read): (String, String) = (row.get(4)?, row.get(5)?);
        let session: Option<String> = row.get(8)?;
        let line = PageLine {
            id: row.get(0)?,
            at: millis(row.get(1)?),
            kind: Kind::from_name(&row.get::<_, String>(2)?).unwrap_or(Kind::Note),
            title: row.get(3)?,
            file: texts(&modified).into_iter().chain(texts(&read)).next(),
            repeats: row.get(6)?,
            chars: row.get::<_, i64>(7)?.unsigned_abs() + (modified.len() + read.len()) as u64,
        };
        Ok((line, session))
    })?;
    let mut lines = Vec::new();
    for row in rows {
        let (mut line, session) = row?;
        if let Some(session) = session {
            line.chars += raw_chars(connection, &session, line.id)?;
        }
        lines.push(line);
    }
    let all: i64 =
        connection.query_row("SELECT observations FROM projects WHERE id = ?1", [project], |row| row.get(0))?;
    let older = all.unsigned_abs().saturating_sub(lines.len() as u64);
    Ok(Page { lines, older })
}
