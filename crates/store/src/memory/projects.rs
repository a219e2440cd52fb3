//! The list of projects.

use crate::{Store, StoreError, cannot};

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
