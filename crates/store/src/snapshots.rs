//! Snapshots of work trees: which there are, and what they belong to. The files are in a private git store.

use rusqlite::{Row, named_params};

use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

longhaul_core::named! {
    /// What a snapshot was taken for.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SnapshotKind {
        Start = "start",
        Prompt = "prompt",
        Bookmark = "bookmark",
        Compaction = "compaction",
        /// The state before a restore.
        Restore = "restore",
        /// Enough work in a turn that still runs.
        Work = "work",
        End = "end",
    }
}

/// A snapshot, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its number; 0 before it is stored.
    pub id: i64,
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    pub kind: SnapshotKind,
    pub prompt_id: Option<String>,
    /// Whether it is dropped last.
    pub is_pinned: bool,
    /// Whether a private turn begins with it.
    pub is_private: bool,
    /// The folder of the work tree.
    pub work_tree: Option<String>,
    /// Identifies the work tree in the private store.
    pub tree_key: Option<String>,
    /// The commit in the private store; `None` where no snapshot was taken.
    pub commit: Option<String>,
    /// The tree of the files.
    pub tree: Option<String>,
    pub head: Option<String>,
    pub branch: Option<String>,
    /// A merge or rebase that was not finished.
    pub under_way: Option<String>,
    /// The tree of what was staged.
    pub index_tree: Option<String>,
    pub left_out: u64,
    /// The first of them, as text.
    pub left_out_some: Option<String>,
    /// Files, added lines and removed lines since the snapshot before; `None` for the first one.
    pub changed: Option<(u64, u64, u64)>,
    /// The first of those files.
    pub changed_some: Vec<String>,
    /// How many bytes it added to the store.
    pub bytes: u64,
    /// How long after the event the files were read.
    pub took_ms: Option<u64>,
    /// Why no snapshot was taken.
    pub skipped: Option<String>,
}

impl Snapshot {
    /// Returns a snapshot with the given event, and nothing else.
    pub fn new(session: &str, created_at: u64, kind: SnapshotKind) -> Self {
        Self {
            id: 0,
            session: session.to_owned(),
            created_at,
            kind,
            prompt_id: None,
            is_pinned: false,
            is_private: false,
            work_tree: None,
            tree_key: None,
            commit: None,
            tree: None,
            head: None,
            branch: None,
            under_way: None,
            index_tree: None,
            left_out: 0,
            left_out_some: None,
            changed: None,
            changed_some: Vec::new(),
            bytes: 0,
            took_ms: None,
            skipped: None,
        }
    }
}

/// How much of a prompt or title is read to say what a session was doing. Lists show less.
const DOING_CHARS: i64 = 400;

const COLUMNS: &str =
    "id, session_id, created_at, kind, prompt_id, pinned, work_tree, tree_key, commit_id, tree_id, head,
    branch, under_way, index_tree, left_out, left_out_some, files, added, removed, bytes, took_ms, skipped,
    changed_some, private";

impl Store {
    /// Stores a snapshot and returns its number. The same event is stored once.
    pub fn add_snapshot(&self, snapshot: &Snapshot) -> Result<i64, StoreError> {
        let number = |number: u64| number as i64;
        self.write("store the snapshot", |connection| {
            connection.run(
                "INSERT INTO snapshots (session_id, created_at, kind, prompt_id, pinned, work_tree, tree_key, commit_id,
                     tree_id, head, branch, under_way, index_tree, left_out, left_out_some, files, added, removed, bytes,
                     took_ms, skipped, changed_some, private)
                 VALUES (:session, :created_at, :kind, :prompt_id, :pinned, :work_tree, :tree_key, :commit, :tree, :head,
                     :branch, :under_way, :index_tree, :left_out, :left_out_some, :files, :added, :removed, :bytes,
                     :took_ms, :skipped, :changed_some, :private)
                 ON CONFLICT DO NOTHING",
                named_params! {
                    ":session": snapshot.session,
                    ":created_at": number(snapshot.created_at),
                    ":kind": snapshot.kind.as_str(),
                    ":prompt_id": snapshot.prompt_id,
                    ":pinned": snapshot.is_pinned,
                    ":private": snapshot.is_private,
                    ":work_tree": snapshot.work_tree,
                    ":tree_key": snapshot.tree_key,
                    ":commit": snapshot.commit,
                    ":tree": snapshot.tree,
                    ":head": snapshot.head,
                    ":branch": snapshot.branch,
                    ":under_way": snapshot.under_way,
                    ":index_tree": snapshot.index_tree,
                    ":left_out": number(snapshot.left_out),
                    ":left_out_some": snapshot.left_out_some,
                    ":files": snapshot.changed.map(|(files, _, _)| number(files)),
                    ":added": snapshot.changed.map(|(_, added, _)| number(added)),
                    ":removed": snapshot.changed.map(|(_, _, removed)| number(removed)),
                    ":bytes": number(snapshot.bytes),
                    ":took_ms": snapshot.took_ms.map(number),
                    ":skipped": snapshot.skipped,
                    ":changed_some": (!snapshot.changed_some.is_empty())
                        .then(|| serde_json::to_string(&snapshot.changed_some).unwrap_or_default()),
                },
            )?;
            let sql = "SELECT id FROM snapshots WHERE session_id = ?1 AND created_at = ?2 AND kind = ?3";
            connection.one(sql, (&snapshot.session, number(snapshot.created_at), snapshot.kind.as_str()))
        })
    }

    /// Returns the snapshots of sessions whose id begins with `session`, or of all sessions, the oldest first.
    pub fn snapshots(&self, session: Option<&str>) -> Result<Vec<Snapshot>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE ?1 IS NULL OR substr(session_id, 1, length(?1)) = ?1
             ORDER BY created_at, id"
        );
        self.connection.all_with(&sql, [session], read).map_err(cannot("list the snapshots"))
    }

    /// Returns the newest snapshots of a session with a number below `before`, the newest first.
    pub fn snapshots_of_session(&self, session: &str, before: i64, most: usize) -> Result<Vec<Snapshot>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM snapshots WHERE session_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3");
        self.connection.all_with(&sql, (session, before, most as i64), read).map_err(cannot("list the snapshots"))
    }

    pub fn snapshot(&self, id: i64) -> Result<Option<Snapshot>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM snapshots WHERE id = ?1");
        self.connection.first_with(&sql, [id], read).map_err(cannot("read the snapshot"))
    }

    /// Returns the newest snapshot of a session, taken or not.
    pub fn newest_snapshot(&self, session: &str) -> Result<Option<Snapshot>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM snapshots WHERE session_id = ?1 ORDER BY created_at DESC, id DESC LIMIT 1");
        self.connection.first_with(&sql, [session], read).map_err(cannot("read the snapshot"))
    }

    /// Returns the newest snapshot of a work tree that was taken.
    pub fn newest_snapshot_of_tree(&self, tree_key: &str) -> Result<Option<Snapshot>, StoreError> {
        // From the end of the table, which is usually a few rows away.
        let sql = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE tree_key = ?1 AND commit_id IS NOT NULL ORDER BY id DESC LIMIT 1"
        );
        self.connection.first_with(&sql, [tree_key], read).map_err(cannot("read the snapshot"))
    }

    /// Returns the snapshots of a work tree that were taken after `after`, the oldest first.
    pub fn snapshots_of_tree(&self, tree_key: &str, after: u64) -> Result<Vec<Snapshot>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM snapshots WHERE tree_key = ?1 AND tree_id IS NOT NULL AND created_at > ?2 ORDER BY created_at, id"
        );
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.connection.all_with(&sql, (tree_key, after), read).map_err(cannot("list the snapshots"))
    }

    /// Returns what a session was doing at a time: the title of its newest tool call, or its newest prompt if no call was
    /// later; `None` if neither is stored.
    pub fn doing_at(&self, session: &str, at: u64) -> Result<Option<String>, StoreError> {
        let in_memory = "SELECT text FROM (
                SELECT * FROM (SELECT created_at AS at, 1 AS is_prompt, substr(prompt, 1, ?3) AS text FROM prompts
                    WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND created_at <= ?2
                    ORDER BY prompt_number DESC LIMIT 1)
                UNION ALL
                SELECT * FROM (SELECT created_at, 0, substr(title, 1, ?3) FROM observations
                    WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND created_at <= ?2
                    ORDER BY created_at DESC, id DESC LIMIT 1)
            ) ORDER BY at DESC, is_prompt DESC LIMIT 1";
        // Without the memory there are still the turns of the handoff. Claude Code writes the time of a prompt, and the hook
        // that of the snapshot a moment later or earlier.
        let in_turns = "SELECT substr(prompt, 1, ?3) FROM turns
            WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND replaced = 0 AND role <> 'bookmark'
              AND prompt IS NOT NULL AND began_at <= ?2 + 1000
            ORDER BY number DESC LIMIT 1";
        for sql in [in_memory, in_turns] {
            let found = self.connection.first(sql, (session, at as i64, DOING_CHARS));
            if let Some(text) = found.map_err(cannot("read what a session was doing"))? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// Returns whether everything of a session was deleted at the user's request.
    pub fn is_forgotten(&self, session: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE session_id = ?1 AND forgotten_at IS NOT NULL)";
        self.connection.one(sql, [session]).map_err(cannot("read the session"))
    }

    /// Deletes snapshots by number; returns how many there were.
    pub fn drop_snapshots(&self, ids: &[i64]) -> Result<usize, StoreError> {
        self.write("drop snapshots", |connection| {
            let mut statement = connection.prepare("DELETE FROM snapshots WHERE id = ?1")?;
            ids.iter().try_fold(0, |dropped, id| Ok(dropped + statement.execute([id])?))
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    let number = |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(i64::unsigned_abs));
    let kind: String = row.get(3)?;
    let changed = match (number(16)?, number(17)?, number(18)?) {
        (Some(files), Some(added), Some(removed)) => Some((files, added, removed)),
        _ => None,
    };
    Ok(Snapshot {
        id: row.get(0)?,
        session: row.get(1)?,
        created_at: number(2)?.unwrap_or_default(),
        kind: SnapshotKind::from_name(&kind).unwrap_or(SnapshotKind::Prompt),
        prompt_id: row.get(4)?,
        is_pinned: row.get(5)?,
        is_private: row.get(23)?,
        work_tree: row.get(6)?,
        tree_key: row.get(7)?,
        commit: row.get(8)?,
        tree: row.get(9)?,
        head: row.get(10)?,
        branch: row.get(11)?,
        under_way: row.get(12)?,
        index_tree: row.get(13)?,
        left_out: number(14)?.unwrap_or_default(),
        left_out_some: row.get(15)?,
        changed,
        changed_some: row
            .get::<_, Option<String>>(22)?
            .and_then(|some| serde_json::from_str(&some).ok())
            .unwrap_or_default(),
        bytes: number(19)?.unwrap_or_default(),
        took_ms: number(20)?,
        skipped: row.get(21)?,
    })
}
