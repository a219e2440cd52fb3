//! The rows of a session and its project, which every record of the memory refers to, and the list of projects.

use longhaul_core::Millis;
use longhaul_handoff::MAX_MERGES;
use rusqlite::Connection;

use crate::row_ids::{ProjectRow, SessionRow, Time};
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// A session, as the memory needs it.
pub(crate) struct MemorySession {
    pub(crate) row: SessionRow,
    pub(crate) project: ProjectRow,
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

    /// Returns the row of the session that its turns belong to.
    pub(crate) fn owner(&self, connection: &Connection) -> rusqlite::Result<SessionRow> {
        Ok(owned_by(connection, self.row)?.owner)
    }

    /// Returns whether what happened at a time was forgotten, and must not come back.
    pub(crate) fn is_forgotten(&self, at: Millis) -> bool {
        self.forgotten_at.is_some_and(|forgotten_at| at <= forgotten_at)
    }
}

/// A session, and the one that its turns belong to: itself, or the one that has inherited it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owned {
    pub(crate) row: SessionRow,
    pub(crate) owner: SessionRow,
}

pub(crate) fn owned(connection: &Connection, session: &str) -> rusqlite::Result<Owned> {
    owned_by(connection, session_row(connection, session)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
}

fn owned_by(connection: &Connection, row: SessionRow) -> rusqlite::Result<Owned> {
    let mut owner = row;
    // A longer chain is damage, and any end of it will do.
    for _ in 0..MAX_MERGES {
        let sql = "SELECT h.id FROM sessions s JOIN sessions h ON h.session_id = s.merged_into WHERE s.id = ?1";
        let next: Option<SessionRow> = connection.first(sql, [owner])?;
        match next {
            Some(next) if next != row => owner = next,
            Some(_) | None => break,
        }
    }
    Ok(Owned { row, owner })
}

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

pub(crate) fn project_row(connection: &Connection, key: &str) -> rusqlite::Result<Option<ProjectRow>> {
    connection.first("SELECT id FROM projects WHERE project_key = ?1", [key])
}

pub(crate) fn project_number(connection: &Connection, key: &str) -> rusqlite::Result<Option<i64>> {
    Ok(project_row(connection, key)?.map(|row| row.0))
}

/// A project with how much is stored of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownProject {
    /// Its key: the git folder that all its worktrees share, else its path.
    pub key: String,
    pub name: String,
    pub sessions: u64,
    pub observations: u64,
}

impl Store {
    /// Returns every project that has a session or a note, the one with most observations first.
    pub fn projects(&self) -> Result<Vec<KnownProject>, StoreError> {
        self.connection
            .all_with(
                "SELECT k.project_key, coalesce(p.name, k.name), k.sessions, coalesce(p.observations, 0) AS most
                 FROM (SELECT project_key, min(project) AS name, count(*) AS sessions FROM sessions GROUP BY 1
                       UNION ALL
                       SELECT project_key, name, 0 FROM projects
                       WHERE observations > 0 AND project_key NOT IN (SELECT project_key FROM sessions)) k
                 LEFT JOIN projects p ON p.project_key = k.project_key ORDER BY most DESC, k.project_key",
                [],
                |row| {
                    Ok(KnownProject {
                        key: row.get(0)?,
                        name: row.get(1)?,
                        sessions: row.get::<_, i64>(2)?.unsigned_abs(),
                        observations: row.get::<_, i64>(3)?.unsigned_abs(),
                    })
                },
            )
            .map_err(cannot("list the projects"))
    }
}
