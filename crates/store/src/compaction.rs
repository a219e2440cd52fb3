//! What a session is given back after a compaction, and the calls from which it is made.

use rusqlite::OptionalExtension;

use crate::{Store, StoreError, cannot, limit, newest_last};

/// The number of the newest calls that are read.
const CALLS: usize = 4_000;

/// A tool call that a session made itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    /// The tool's name.
    pub tool: String,
    /// The input, as JSON text with its middle cut out where it is long.
    pub input: String,
    /// The output of a call that failed or created a task, else empty.
    pub output: String,
    /// Whether it failed or was denied.
    pub is_error: bool,
}

impl Store {
    /// Returns the newest calls that a session made itself, the oldest of them first, without those of turns that were taken
    /// back.
    pub fn calls_of(&self, session: &str) -> Result<Vec<StoredCall>, StoreError> {
        let sql = format!(
            "SELECT d.tool_name, d.input_text, d.is_error,
                    CASE WHEN d.is_error OR d.tool_name = 'TaskCreate' THEN
                        (SELECT o.output_text FROM details o
                         WHERE o.session_id = d.session_id AND o.source_id = d.source_id || ':result') END
             FROM details d
             WHERE d.session_id = (SELECT id FROM sessions WHERE session_id = ?1) AND d.kind = 'tool_input'
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
        let count: i64 = self
            .connection
            .query_row(sql, (session, prompt_id), |row| row.get(0))
            .map_err(cannot("count the turn's prompts"))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Keeps what a session is given back after the compaction that begins.
    pub fn keep_compaction(&self, session: &str, facts: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sessions SET compaction = ?2 WHERE session_id = ?1";
        self.connection.execute(sql, (session, facts)).map(drop).map_err(cannot("keep what a compaction loses"))
    }

    /// Returns what a session is given back, if a compaction runs.
    pub fn compaction(&self, session: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT compaction FROM sessions WHERE session_id = ?1";
        let facts = self.connection.query_row(sql, [session], |row| row.get(0)).optional();
        Ok(facts.map_err(cannot("read what a compaction loses"))?.flatten())
    }

    /// Removes and returns what a session is given back. Of two hooks at the same time, one gets it.
    pub fn take_compaction(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.write("take what a compaction loses", |tx| {
            let sql = "SELECT compaction FROM sessions WHERE session_id = ?1 AND compaction IS NOT NULL";
            let facts: Option<String> = tx.query_row(sql, [session], |row| row.get(0)).optional()?;
            if facts.is_some() {
                tx.execute("UPDATE sessions SET compaction = NULL WHERE session_id = ?1", [session])?;
            }
            Ok(facts)
        })
    }
}
