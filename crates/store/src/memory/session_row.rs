//! The rows of a session and its project, which every record of the memory refers to.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension};

use crate::row_ids::{ProjectRow, SessionRow, Time};

/// A session, as the memory needs it.
pub(crate) struct MemorySession {
    /// The session's row.
    pub(crate) row: SessionRow,
    /// The row of its project.
    pub(crate) project: ProjectRow,
    /// How many prompts it has had.
    pub(crate) prompts: i64,
    /// When the user had the session forgotten last. Nothing up to then is remembered again.
    forgotten_at: Option<Millis>,
}

impl MemorySession {
    /// Finds a session by its id. Its project gets a row if it has none.
    pub(crate) fn find(connection: &Connection, session: &str) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT s.id, p.id, s.prompt_counter, s.forgotten_at, s.project_key, s.project
                   FROM sessions s LEFT JOIN projects p ON p.project_key = s.project_key WHERE s.session_id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query([session])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let project: Option<ProjectRow> = row.get(1)?;
        let project = match project {
            Some(project) => project,
            None => add_project(connection, &row.get::<_, String>(4)?, &row.get::<_, String>(5)?)?,
        };
        let forgotten_at = row.get::<_, Option<Time>>(3)?.map(Millis::from);
        Ok(Some(Self { row: row.get(0)?, project, prompts: row.get(2)?, forgotten_at }))
    }

    /// Returns whether what happened at a time was forgotten, and must not come back.
    pub(crate) fn is_forgotten(&self, at: Millis) -> bool {
        self.forgotten_at.is_some_and(|forgotten_at| at <= forgotten_at)
    }
}

/// Returns a session's row, if there is such a session.
pub(crate) fn session_row(connection: &Connection, session: &str) -> rusqlite::Result<Option<SessionRow>> {
    let sql = "SELECT id FROM sessions WHERE session_id = ?1";
    connection.prepare_cached(sql)?.query_row([session], |row| row.get(0)).optional()
}

/// Returns a project's row, adding it if there is none.
pub(crate) fn add_project(connection: &Connection, key: &str, name: &str) -> rusqlite::Result<ProjectRow> {
    if let Some(row) = project_row(connection, key)? {
        return Ok(row);
    }
    let sql = "INSERT INTO projects (project_key, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute((key, name))?;
    project_row(connection, key)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Returns a project's row, if it has one.
pub(crate) fn project_row(connection: &Connection, key: &str) -> rusqlite::Result<Option<ProjectRow>> {
    let mut statement = connection.prepare_cached("SELECT id FROM projects WHERE project_key = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}

/// Returns the number of a project's row, if it has one.
pub(crate) fn project_number(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    Ok(project_row(connection, key)?.map(|row| row.0))
}
