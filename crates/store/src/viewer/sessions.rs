//! Sessions with their counts.

use longhaul_core::Millis;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::row_ids::Time;
use crate::{Store, StoreError, cannot};

/// A session, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOverview {
    /// The number of its row.
    pub id: i64,
    /// Its id.
    pub session: String,
    /// The other host on which it ran; `None` for this one.
    pub host: Option<String>,
    /// The project's name.
    pub project: String,
    /// The key of the project.
    pub project_key: String,
    /// The project's folder.
    pub project_path: String,
    /// `initialized`, `active` or `completed`.
    pub status: String,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// The first prompt.
    pub first_prompt: Option<String>,
    /// The last prompt.
    pub last_prompt: Option<String>,
    /// The session that has inherited it.
    pub merged_into: Option<String>,
    /// When it was first seen.
    pub created_at: Millis,
    /// When it ended.
    pub completed_at: Option<Millis>,
    /// When something of it was last stored.
    pub last_at: Millis,
    /// How many records it has.
    pub counts: Counts,
    /// Bytes of everything in its turns.
    pub bytes: u64,
}

/// How many records a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Prompts.
    pub prompts: u64,
    /// Observations.
    pub observations: u64,
    /// Summaries.
    pub summaries: u64,
    /// Turns.
    pub turns: u64,
    /// Bookmarks.
    pub bookmarks: u64,
}

const COLUMNS: &str = "s.id, s.session_id, s.project, s.project_key, s.project_path, s.status, s.end_reason,
    -- A first prompt that no hook has reported is taken from the memory, or from the turns.
    coalesce(s.first_user_prompt,
        (SELECT t.prompt FROM prompts t WHERE t.session_id = s.id ORDER BY t.prompt_number LIMIT 1),
        (SELECT t.prompt FROM turns t WHERE t.session_id = s.id AND t.replaced = 0 AND t.number IS NOT NULL AND t.prompt IS NOT NULL
         ORDER BY t.number LIMIT 1)),
    coalesce(s.last_prompt,
        (SELECT t.prompt FROM prompts t WHERE t.session_id = s.id ORDER BY t.prompt_number DESC LIMIT 1)),
    s.merged_into, s.created_at, s.completed_at,
    (SELECT count(*) FROM prompts t WHERE t.session_id = s.id),
    (SELECT count(*) FROM observations t WHERE t.session_id = s.id),
    (SELECT count(*) FROM session_summaries t WHERE t.session_id = s.id),
    (SELECT count(*) FROM turns t WHERE t.session_id = s.id AND t.number IS NOT NULL AND t.replaced = 0 AND t.role <> 'bookmark'),
    (SELECT count(*) FROM bookmarks t WHERE t.session_id = s.session_id),
    (SELECT coalesce(sum(t.chars), 0) FROM turns t WHERE t.session_id = s.id AND t.replaced = 0),
    max(s.created_at, coalesce(s.completed_at, 0),
        coalesce((SELECT max(t.created_at) FROM observations t WHERE t.session_id = s.id), 0),
        coalesce((SELECT max(t.created_at) FROM prompts t WHERE t.session_id = s.id), 0),
        coalesce((SELECT max(t.created_at) FROM session_summaries t WHERE t.session_id = s.id), 0)),
    (SELECT iif(h.name = '', 'host', h.name) FROM sync_hosts h WHERE h.id = s.host_id AND h.is_own = 0)";

impl Store {
    /// Returns a page of sessions, the newest first, of a project or of all; `before` is the time and number of a session.
    pub fn session_overviews(
        &self,
        project_key: Option<&str>,
        before: Option<(Millis, i64)>,
        limit: usize,
    ) -> Result<Vec<SessionOverview>, StoreError> {
        let failed = cannot("list the sessions");
        let (at, id) = before.map_or((i64::MAX, i64::MAX), |(at, id)| (at.0 as i64, id));
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions s
             WHERE (?1 IS NULL OR s.project_key = ?1) AND (s.created_at, s.id) < (?2, ?3)
             ORDER BY s.created_at DESC, s.id DESC LIMIT ?4"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let rows = statement.query_map((project_key, at, id, limit as i64), read).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Returns one session.
    pub fn session_overview(&self, session: &str) -> Result<Option<SessionOverview>, StoreError> {
        one(&self.connection, session).map_err(cannot("read the session"))
    }
}

fn one(connection: &Connection, session: &str) -> rusqlite::Result<Option<SessionOverview>> {
    let sql = format!("SELECT {COLUMNS} FROM sessions s WHERE s.session_id = ?1");
    connection.prepare_cached(&sql)?.query_row([session], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<SessionOverview> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(SessionOverview {
        id: row.get(0)?,
        session: row.get(1)?,
        host: row.get(19)?,
        project: row.get(2)?,
        project_key: row.get(3)?,
        project_path: row.get(4)?,
        status: row.get(5)?,
        end_reason: row.get(6)?,
        first_prompt: row.get(7)?,
        last_prompt: row.get(8)?,
        merged_into: row.get(9)?,
        created_at: Millis(count(10)?),
        completed_at: row.get::<_, Option<Time>>(11)?.map(Millis::from),
        counts: Counts {
            prompts: count(12)?,
            observations: count(13)?,
            summaries: count(14)?,
            turns: count(15)?,
            bookmarks: count(16)?,
        },
        bytes: count(17)?,
        last_at: Millis(count(18)?),
    })
}
