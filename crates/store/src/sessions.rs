//! The sessions, which are kept for good.

use longhaul_core::Millis;
use longhaul_transcript::Cursor;
use rusqlite::{Row, named_params};

use crate::row_ids::Time;
use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    /// Its id, in the form that is safe as a file name.
    pub session: &'a str,
    pub project: &'a str,
    /// The key of the project: the git folder that all its worktrees share, else its path.
    pub project_key: &'a str,
    pub project_path: &'a str,
    /// The client's process id, 0 if unknown.
    pub client_pid: u32,
    pub transcript: Option<&'a str>,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub session: String,
    pub project: String,
    pub project_key: String,
    pub project_path: String,
    pub prompts: u32,
    pub last_prompt: Option<String>,
    /// The session that it would inherit, until its first prompt.
    pub inherits: Option<String>,
    /// The session that has inherited it.
    pub merged_into: Option<String>,
    pub client_pid: u32,
    pub transcript: Option<String>,
    /// How far the transcript has been read.
    pub cursor: Cursor,
    pub created_at: Millis,
}

const COLUMNS: &str =
    "session_id, project, project_key, project_path, prompt_counter, last_prompt, inherits, merged_into,
     client_pid, transcript_path, read_offset, read_mark, read_turn, read_tip, created_at";

/// A session of another host has no transcript here, and can be neither continued nor handed over.
const OF_THIS_HOST: &str = "(host_id IS NULL OR transcript_path IS NOT NULL)";

impl Store {
    /// Adds a session, or updates the process and the transcript of a known one.
    pub fn register_session(&self, new: &NewSession<'_>) -> Result<(), StoreError> {
        self.connection.run(
            "INSERT INTO sessions (session_id, project, project_key, project_path, client_pid, transcript_path, created_at)
                 VALUES (:session, :project, :key, :path, :pid, :transcript, :at)
                 ON CONFLICT (session_id) DO UPDATE SET
                     client_pid = iif(:pid = 0, client_pid, :pid),
                     transcript_path = coalesce(:transcript, transcript_path)",
            named_params! {
                ":session": new.session,
                ":project": new.project,
                ":key": new.project_key,
                ":path": new.project_path,
                ":pid": new.client_pid,
                ":transcript": new.transcript,
                ":at": Time(new.at),
            },
        )
            .map(drop)
            .map_err(cannot("record the session"))
    }

    /// Counts a prompt; returns how many there were before. The text is `None` if nothing of it may be stored.
    pub fn count_prompt(&self, session: &str, prompt: Option<&str>) -> Result<u32, StoreError> {
        self.connection
            .first(
                // A session that was inherited and is prompted again is a session of its own again.
                "UPDATE sessions SET prompt_counter = prompt_counter + 1, status = 'active', last_prompt = ?2,
                                     merged_into = NULL,
                                     first_user_prompt = coalesce(first_user_prompt, ?2)
                 WHERE session_id = ?1 RETURNING prompt_counter - 1",
                (session, prompt),
            )
            .map(Option::unwrap_or_default)
            .map_err(cannot("count the prompt"))
    }

    pub fn complete_session(&self, session: &str, reason: &str, at: Millis) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET status = 'completed', end_reason = ?2, completed_at = ?3 WHERE session_id = ?1";
        self.connection.run(sql, (session, reason, Time(at))).map(drop).map_err(cannot("complete the session"))
    }

    pub fn session(&self, session: &str) -> Result<Option<Session>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE session_id = ?1");
        self.connection.first_with(&sql, [session], read).map_err(cannot("read the session"))
    }

    /// Returns the sessions whose id begins with `prefix`, the newest first.
    pub fn sessions_like(&self, prefix: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE substr(session_id, 1, length(?1)) = ?1 ORDER BY created_at DESC"
        );
        self.list_sessions(&sql, prefix)
    }

    /// Returns the ids that begin with `prefix`, of the sessions of the memory and of those that only other parts know.
    pub fn session_ids_like(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let tables = ["sessions", "agents", "session_places", "bookmarks", "snapshots", "notifications"];
        let selects =
            tables.map(|table| format!("SELECT session_id FROM {table} WHERE substr(session_id, 1, length(?1)) = ?1"));
        self.connection.all(&selects.join(" UNION "), [prefix]).map_err(cannot("list the sessions"))
    }

    pub fn session_ids(&self, project_key: &str) -> Result<Vec<String>, StoreError> {
        self.connection
            .all("SELECT session_id FROM sessions WHERE project_key = ?1", [project_key])
            .map_err(cannot("list the sessions"))
    }

    /// Returns a project's newest sessions of this host, the newest first.
    pub fn sessions_of(&self, project_key: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE project_key = ?1 AND {OF_THIS_HOST} ORDER BY created_at DESC LIMIT 50"
        );
        self.list_sessions(&sql, project_key)
    }

    /// Returns a project's newest sessions that were inherited, the newest first.
    pub fn merged_sessions(&self, project_key: &str) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions WHERE project_key = ?1 AND merged_into IS NOT NULL
             ORDER BY created_at DESC LIMIT 8"
        );
        self.list_sessions(&sql, project_key)
    }

    fn list_sessions(&self, sql: &str, value: &str) -> Result<Vec<Session>, StoreError> {
        self.connection.all_with(sql, [value], read).map_err(cannot("list the sessions"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let mut cursor = Cursor::default();
    cursor.offset = row.get::<_, i64>("read_offset")?.unsigned_abs();
    cursor.mark = row.get("read_mark")?;
    cursor.turn = row.get("read_turn")?;
    cursor.tip = row.get("read_tip")?;
    Ok(Session {
        session: row.get("session_id")?,
        project: row.get("project")?,
        project_key: row.get("project_key")?,
        project_path: row.get("project_path")?,
        prompts: row.get("prompt_counter")?,
        last_prompt: row.get("last_prompt")?,
        inherits: row.get("inherits")?,
        merged_into: row.get("merged_into")?,
        client_pid: row.get("client_pid")?,
        transcript: row.get("transcript_path")?,
        cursor,
        created_at: row.get::<_, Time>("created_at")?.into(),
    })
}
