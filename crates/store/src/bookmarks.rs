//! Confirmed bookmarks.

use rusqlite::{Row, named_params};

use crate::sql::Sql;
use crate::sync::HOST_NAME;
use crate::{Store, StoreError, cannot};

/// A bookmark that has just been confirmed.
#[derive(Debug, Clone, Default)]
pub struct NewBookmark<'a> {
    /// The session's id, in the form that is safe as a file name.
    pub session: &'a str,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// The id of the prompt in whose turn it was typed.
    pub prompt_id: Option<&'a str>,
    /// What the user wrote behind the marker.
    pub note: Option<&'a str>,
    /// The session's working directory.
    pub cwd: Option<&'a str>,
    /// The commit that was checked out there.
    pub git_commit: Option<&'a str>,
    /// Tokens in the context at that time.
    pub context_tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    pub id: i64,
    pub session: String,
    pub created_at: u64,
    pub prompt_id: Option<String>,
    pub note: Option<String>,
    pub cwd: Option<String>,
    pub git_commit: Option<String>,
    /// Whether there were uncommitted changes; `None` where git did not answer in time.
    pub git_dirty: Option<bool>,
    pub context_tokens: Option<u64>,
    /// The other machine that it comes from; `None` if it was set here.
    pub host: Option<String>,
}

impl Store {
    pub fn add_bookmark(&self, bookmark: &NewBookmark<'_>) -> Result<(), StoreError> {
        self.connection
            .run(
                "INSERT INTO bookmarks (session_id, created_at, prompt_id, note, cwd, git_commit, context_tokens)
                 VALUES (:session, :created_at, :prompt_id, :note, :cwd, :git_commit, :context_tokens)",
                named_params! {
                    ":session": bookmark.session,
                    ":created_at": bookmark.created_at as i64,
                    ":prompt_id": bookmark.prompt_id,
                    ":note": bookmark.note,
                    ":cwd": bookmark.cwd,
                    ":git_commit": bookmark.git_commit,
                    ":context_tokens": bookmark.context_tokens.map(|tokens| tokens as i64),
                },
            )
            .map(drop)
            .map_err(cannot("store the bookmark"))
    }

    /// Adds to the session's bookmark of that time whether the work tree had uncommitted changes.
    pub fn set_dirty(&self, session: &str, created_at: u64, dirty: bool) -> Result<(), StoreError> {
        let update = "UPDATE bookmarks SET git_dirty = ?3 WHERE session_id = ?1 AND created_at = ?2";
        self.connection
            .run(update, (session, created_at as i64, dirty))
            .map(drop)
            .map_err(cannot("update the bookmark"))
    }

    /// Returns the bookmarks of sessions whose id begins with `session`, or of all sessions, the oldest first.
    pub fn bookmarks(&self, session: Option<&str>) -> Result<Vec<Bookmark>, StoreError> {
        let sql = format!(
            "SELECT id, session_id, created_at, prompt_id, note, cwd, git_commit, git_dirty, context_tokens, {HOST_NAME}
             FROM bookmarks t WHERE ?1 IS NULL OR substr(session_id, 1, length(?1)) = ?1 ORDER BY created_at, id"
        );
        self.connection.all_with(&sql, [session], read).map_err(cannot("list the bookmarks"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Bookmark> {
    Ok(Bookmark {
        id: row.get(0)?,
        session: row.get(1)?,
        created_at: row.get::<_, i64>(2)?.unsigned_abs(),
        prompt_id: row.get(3)?,
        note: row.get(4)?,
        cwd: row.get(5)?,
        git_commit: row.get(6)?,
        git_dirty: row.get(7)?,
        context_tokens: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
        host: row.get(9)?,
    })
}
