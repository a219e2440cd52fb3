//! What a session has done, for what it is given back after a compaction and for handoffs: its calls, and the files
//! that it has changed, as far as tool calls and snapshots tell.

use longhaul_handoff::{file_of, patched_files};

use crate::sql::Sql;
use crate::{Store, StoreError, cannot, limit, newest_last};

/// The number of the newest calls that are read.
const CALLS: usize = 4_000;

/// A tool call that a session made itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    pub tool: String,
    /// The input, as JSON text with its middle cut out where it is long.
    pub input: String,
    /// The output of a call that failed or created a task, else empty.
    pub output: String,
    pub is_error: bool,
}

impl Store {
    /// Returns the newest calls that a session made itself, the oldest of them first, without those of turns that were taken
    /// back.
    pub fn calls_of(&self, session: &str) -> Result<Vec<StoredCall>, StoreError> {
        let sql = format!(
            "SELECT d.tool_name, d.input_text, d.is_error,
                    iif(d.is_error OR d.tool_name = 'TaskCreate', d.output_text, NULL)
             FROM details d
             WHERE d.session_id = (SELECT id FROM sessions WHERE session_id = ?1)
               -- A subagent works on the session's task list.
               AND (d.subagent = 0 OR d.tool_name IN ('TaskCreate', 'TaskUpdate'))
               AND d.tool_name IS NOT NULL AND d.input_text IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.id = d.turn AND t.replaced <> 0)
             ORDER BY d.created_at DESC, d.rowid DESC {}",
            limit(CALLS)
        );
        newest_last(&self.connection, &sql, [session], |row| {
            Ok(StoredCall {
                tool: row.get(0)?,
                input: row.get(1)?,
                is_error: row.get(2)?,
                output: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            })
        })
        .map_err(cannot("read the session's calls"))
    }

    /// Returns how many of a session's newest prompts belong to the turn of the prompt with this id: that one, and those queued
    /// since.
    pub fn prompts_of_turn(&self, session: &str, prompt_id: &str) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM prompts
                   WHERE session_id = (SELECT id FROM sessions WHERE session_id = ?1)
                     AND created_at >= (SELECT min(p.created_at) FROM prompts p
                                        WHERE p.session_id = prompts.session_id AND p.prompt_id = ?2)";
        let count: i64 = self.connection.one(sql, (session, prompt_id)).map_err(cannot("count the turn's prompts"))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Keeps what a session is given back after the compaction that begins.
    pub fn keep_compaction(&self, session: &str, facts: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET compaction = ?2 WHERE session_id = ?1";
        self.connection.run(sql, (session, facts)).map(drop).map_err(cannot("keep what a compaction loses"))
    }

    /// Returns what a session is given back, if a compaction runs.
    pub fn compaction(&self, session: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT compaction FROM sessions WHERE session_id = ?1";
        let facts = self.connection.first(sql, [session]);
        Ok(facts.map_err(cannot("read what a compaction loses"))?.flatten())
    }

    /// Removes and returns what a session is given back. Of two hooks at the same time, one gets it.
    pub fn take_compaction(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.write("take what a compaction loses", |tx| {
            let sql = "SELECT compaction FROM sessions WHERE session_id = ?1 AND compaction IS NOT NULL";
            let facts: Option<String> = tx.first(sql, [session])?;
            if facts.is_some() {
                tx.run("UPDATE sessions SET compaction = NULL WHERE session_id = ?1", [session])?;
            }
            Ok(facts)
        })
    }
}

/// How many of the newest turns are searched for tool calls, and how many records are read in all.
const NEWEST: usize = 200;

impl Store {
    /// Returns the paths of files that a session has changed, the newest change first: below `project`, relative to it.
    ///
    /// Tool calls name what an agent's own tools changed; snapshots also what its commands changed.
    pub fn changed_files(&self, session: &str, project: &str) -> Result<Vec<String>, StoreError> {
        let few = limit(NEWEST);
        let sql = format!(
            "SELECT how, text, folder FROM (
               SELECT d.created_at AS at, 0 AS how, d.input_text AS text, '' AS folder
               FROM (SELECT id FROM turns WHERE owner_id = (SELECT id FROM sessions WHERE session_id = ?1)
                     AND number IS NOT NULL AND replaced = 0 ORDER BY began_at DESC {few}) t
               CROSS JOIN details d ON d.turn = t.id
               WHERE d.tool_name IN ('Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'apply_patch') AND d.input_text IS NOT NULL
                 AND d.is_error = 0
               UNION ALL
               SELECT o.created_at, 1, o.files_modified, '' FROM observations o
               WHERE o.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND o.files_modified <> '[]'
                 AND NOT EXISTS (SELECT 1 FROM details d JOIN turns t ON t.id = d.turn AND t.replaced <> 0
                                 WHERE d.session_id = o.session_id AND d.source_id = o.tool_use_id)
               UNION ALL
               -- What changed before the session is in the snapshot of its start.
               SELECT s.created_at, 1, s.changed_some, s.work_tree || '/' FROM snapshots s
               WHERE s.session_id = ?1 AND s.kind <> 'start' AND s.changed_some IS NOT NULL)
             ORDER BY at DESC {few}"
        );
        let found: Vec<(i64, String, String)> =
            self.connection.all(&sql, [session]).map_err(cannot("list the changed files"))?;
        let mut files: Vec<String> = Vec::new();
        for (how, text, folder) in found {
            let names: Vec<String> = match how {
                0 => file_of(&text).into_iter().chain(patched_files(&text).map(str::to_owned)).collect(),
                _ => serde_json::from_str(&text).unwrap_or_default(),
            };
            for name in names.into_iter().map(|name| format!("{folder}{name}")) {
                let below = name.strip_prefix(project).and_then(|rest| rest.strip_prefix('/'));
                let name = below.unwrap_or(&name);
                if !name.is_empty() && !files.iter().any(|known| known == name) {
                    files.push(name.to_owned());
                }
            }
        }
        Ok(files)
    }
}
