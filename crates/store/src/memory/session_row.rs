//! The rows of a session and its project, which every record of the memory refers to, and the list of projects.

use longhaul_core::Millis;
use rusqlite::Connection;

use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

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
    connection.first(sql, [session])
}

/// Returns a project's row, adding it if there is none.
pub(crate) fn add_project(connection: &Connection, key: &str, name: &str) -> rusqlite::Result<ProjectRow> {
    if let Some(row) = project_row(connection, key)? {
        return Ok(row);
    }
    let sql = "INSERT INTO projects (project_key, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    connection.run(sql, (key, name))?;
    project_row(connection, key)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

/// Returns a project's row, if it has one.
pub(crate) fn project_row(connection: &Connection, key: &str) -> rusqlite::Result<Option<ProjectRow>> {
    connection.first("SELECT id FROM projects WHERE project_key = ?1", [key])
}

/// Returns the number of a project's row, if it has one.
pub(crate) fn project_number(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    Ok(project_row(connection, key)?.map(|row| row.0))
}

/// A project with how much is stored of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProject {
    /// Its key: the git folder that all its worktrees share, else its path.
    pub key: String,
    /// Its name.
    pub name: String,
    /// How many sessions it has had.
    pub sessions: u64,
    /// How many observations it has.
    pub observations: u64,
}

impl Store {
    /// Returns every project that has a session or a note, the one with most observations first.
    pub fn projects(&self) -> Result<Vec<KnownProject>, StoreError> {
        let failed = cannot("list the projects");
        let mut statement = self
            .connection
            .prepare(
                "SELECT k.project_key, coalesce(p.name, k.name), k.sessions, coalesce(p.observations, 0) AS most
                 FROM (SELECT project_key, min(project) AS name, count(*) AS sessions FROM sessions GROUP BY 1
                       UNION ALL
                       SELECT project_key, name, 0 FROM projects
                       WHERE observations > 0 AND project_key NOT IN (SELECT project_key FROM sessions)) k
                 LEFT JOIN projects p ON p.project_key = k.project_key ORDER BY most DESC, k.project_key",
            )
            .map_err(&failed)?;
        let rows = statement
            .query_map([], |row| {
                Ok(KnownProject {
                    key: row.get(0)?,
                    name: row.get(1)?,
                    sessions: row.get::<_, i64>(2)?.unsigned_abs(),
                    observations: row.get::<_, i64>(3)?.unsigned_abs(),
                })
            })
            .map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }
}
