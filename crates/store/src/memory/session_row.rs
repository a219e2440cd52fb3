//! Where a session's memory goes.

use rusqlite::{Connection, OptionalExtension};

/// A session, as memory needs it.
pub(crate) struct Place {
    /// Its row.
    pub(crate) session: i64,
    /// Its project.
    pub(crate) project: i64,
    /// How many prompts it has had.
    pub(crate) prompts: i64,
    /// What is as old as this is not to be remembered again.
    pub(crate) forgotten: i64,
}

impl Place {
    /// Finds a session, and numbers its project where that is new.
    pub(crate) fn find(connection: &Connection, session: &str) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT s.id, p.id, s.prompt_counter, coalesce(s.forgotten_at, -1), s.project_key, s.project
                   FROM sessions s LEFT JOIN projects p ON p.project_key = s.project_key WHERE s.session_id = ?1";
        let found: Option<(i64, Option<i64>, i64, i64, String, String)> = connection
            .prepare_cached(sql)?
            .query_row([session], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
            })
            .optional()?;
        let Some((session, project, prompts, forgotten, key, name)) = found else { return Ok(None) };
        let project = match project {
            Some(project) => project,
            None => number_project(connection, &key, &name)?,
        };
        Ok(Some(Self { session, project, prompts, forgotten }))
    }
}

/// Returns a project's number, giving it one where it has none.
pub(crate) fn number_project(connection: &Connection, key: &str, name: &str) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO projects (project_key, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.execute(sql, (key, name))?;
    connection.query_row("SELECT id FROM projects WHERE project_key = ?1", [key], |row| row.get(0))
}

/// Returns a project's number, if it has one.
pub(crate) fn project_number(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT id FROM projects WHERE project_key = ?1", [key], |row| row.get(0)).optional()
}
