//! Which projects are shared.

use longhaul_core::Millis;
use longhaul_sync::ProjectId;
use rusqlite::{Connection, OptionalExtension};

use super::log::{READY, WAITS};
use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// A project of the circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncProject {
    /// The project, as records refer to it.
    pub project: ProjectId,
    /// Its key here; `None` if only other hosts have shared it.
    pub project_key: Option<String>,
    /// Its name.
    pub name: String,
    /// Whether it is shared here.
    pub is_shared: bool,
    /// What is older is not shared; 0 if everything is.
    pub since: Millis,
    /// How many records of other hosts wait until it is shared here.
    pub waiting: u64,
}

/// Lists the projects, and how many records wait for each. Without the first condition on the state, SQLite does not use the
/// index; the same holds for the next statement.
pub(crate) const LIST: &str =
    "SELECT p.sync_id, p.project_key, p.sync_name, p.is_shared, p.since, coalesce(w.records, 0)
    FROM projects p LEFT JOIN (SELECT project, count(*) AS records FROM sync_log
        WHERE state > 0 AND state IN (1, 5) AND project IS NOT NULL GROUP BY project) w ON w.project = p.sync_id
    WHERE p.sync_id IS NOT NULL ORDER BY p.is_shared DESC, p.sync_name, p.id";

/// How many projects are listed that only other hosts share. Any member of the circle can make up names.
const MOST_NAMED: i64 = 1000;

/// Marks the records that have waited for a project.
pub(crate) const MAKE_READY: &str = "UPDATE sync_log SET state = ?1 WHERE state > 0 AND state = ?2 AND project = ?3";

impl Store {
    /// Shares a project: what is made from `since` on becomes records, and what other hosts have shared is taken in.
    ///
    /// `shared_as` is the name that the other hosts are told, `name` its own, in case that nothing is recorded of it yet.
    pub fn share_project(
        &self,
        project: ProjectId,
        shared_as: &str,
        project_key: &str,
        name: &str,
        since: Millis,
    ) -> Result<(), StoreError> {
        self.write("share the project", |tx| {
            tx.execute("DELETE FROM projects WHERE sync_id = ?1 AND project_key IS NULL", [project.as_bytes()])?;
            // Sharing it again, with more of the past: everything is looked at again. What is in the log already stays.
            tx.execute(
                "INSERT INTO projects (sync_id, project_key, name, sync_name, is_shared, since) VALUES (?1, ?2, ?3, ?4, 1, ?5)
                 ON CONFLICT (project_key) DO UPDATE SET
                     sync_id = ?1, sync_name = ?4, since = iif(is_shared, min(since, ?5), ?5), is_shared = 1,
                     seen_prompts = 0, seen_observations = 0, seen_summaries = 0, seen_bookmarks = 0",
                (project.as_bytes(), project_key, name, shared_as, Time(since)),
            )?;
            tx.execute(MAKE_READY, (READY, WAITS, project.as_bytes())).map(drop)
        })
    }

    /// Ends the sharing of a project; returns whether it was shared. What was sent stays with the others.
    pub fn unshare_project(&self, project_key: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE projects SET is_shared = 0 WHERE project_key = ?1 AND is_shared = 1";
        self.connection.execute(sql, [project_key]).map(|rows| rows > 0).map_err(cannot("end the sharing"))
    }

    /// Returns the projects that are or were shared here, and those that other hosts share, by name.
    pub fn sync_projects(&self) -> Result<Vec<SyncProject>, StoreError> {
        let failed = cannot("list the shared projects");
        let mut statement = self.connection.prepare(LIST).map_err(&failed)?;
        let rows = statement.query_map([], |row| {
            Ok(SyncProject {
                project: ProjectId::from_bytes(row.get(0)?),
                project_key: row.get(1)?,
                name: row.get(2)?,
                is_shared: row.get(3)?,
                since: row.get::<_, Time>(4)?.into(),
                waiting: row.get::<_, i64>(5)?.unsigned_abs(),
            })
        });
        rows.map_err(&failed)?.collect::<Result<_, _>>().map_err(failed)
    }
}

/// Returns the key and the name that a shared project has here; `None` if it is not shared here.
pub(super) fn shared_as(connection: &Connection, project: ProjectId) -> rusqlite::Result<Option<(String, String)>> {
    let sql = "SELECT project_key, name FROM projects
               WHERE sync_id = ?1 AND is_shared = 1 AND project_key IS NOT NULL ORDER BY id LIMIT 1";
    connection.prepare_cached(sql)?.query_row([project.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Records the name of a project that another host shares, for the list.
pub(super) fn note_project(connection: &Connection, project: ProjectId, name: &str) -> rusqlite::Result<()> {
    let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
    let sql = "INSERT INTO projects (sync_id, name, sync_name) SELECT ?1, ?2, ?2
               WHERE NOT EXISTS (SELECT 1 FROM projects WHERE sync_id = ?1)
                 AND (SELECT count(*) FROM projects WHERE project_key IS NULL) < ?3";
    connection.prepare_cached(sql)?.execute((project.as_bytes(), name, MOST_NAMED)).map(drop)
}
