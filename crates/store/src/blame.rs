//! Line maps: the origin of each line of a file, which stay when the snapshots that they were made from are dropped. Also what
//! the origins are found by: edit calls, turns and commands.

use rusqlite::{Connection, named_params};

use crate::sql::Sql;
use crate::{Store, StoreError, cannot};

/// The origins of a file's lines, up to one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// The work tree, as in [`crate::Snapshot::tree_key`].
    pub tree_key: String,
    /// The path of the file in it, as text from which its bytes can be restored.
    pub path: String,
    /// The time of the first snapshot that it has seen, in milliseconds since the epoch.
    pub begins_at: u64,
    /// The time of the snapshot that it goes up to, in milliseconds since the epoch.
    pub snapshot_at: u64,
    /// The content of the file then, as git identifies it; empty if the file did not exist.
    pub blob: String,
    /// The lines, with the numbers of their origins.
    pub lines: Vec<u8>,
    /// The origins, as JSON.
    pub origins: String,
    /// When it was made, in milliseconds since the epoch.
    pub made_at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineMapStats {
    pub files: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEdit {
    /// The session's id, in the form that is safe as a file name.
    pub session: String,
    pub tool_use_id: String,
    /// When it was done, in milliseconds since the epoch.
    pub at: u64,
    /// Its input, as JSON text of which the middle may be missing.
    pub input: String,
    /// The number of its prompt in the memory.
    pub prompt: Option<i64>,
}

/// A turn, as the memory knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTurn {
    /// Its number in the memory: `P12`.
    pub id: i64,
    pub session: String,
    /// The id of the prompt, if the client reported one.
    pub prompt_id: Option<String>,
    /// When the prompt was sent, in milliseconds since the epoch.
    pub at: u64,
    /// When the last reply was written.
    pub replied_at: Option<u64>,
    /// Whether it was forgotten at the user's request.
    pub is_forgotten: bool,
}

/// A call that may have changed any file, such as a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCall {
    pub tool_use_id: String,
    pub title: String,
    /// When it ended, in milliseconds since the epoch.
    pub at: u64,
    pub session: String,
    pub prompt: Option<i64>,
    /// The files that the client reported as changed by it, as JSON.
    pub files_modified: String,
    /// Whether it only reads, or edits a file that its input names.
    pub is_harmless: bool,
}

/// What is known of the turn that wrote a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnText {
    pub id: i64,
    pub prompt: String,
    pub reply: String,
    /// What was decided in it, a title each.
    pub decisions: Vec<String>,
}

/// Tools that change no file by themselves. What an edit tool changes is known from its input.
const HARMLESS: &str = "('Read', 'Grep', 'Glob', 'LS', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'apply_patch', 'TodoWrite', 'Agent', 'Task',
    'WebFetch', 'WebSearch', 'AskUserQuestion', 'ExitPlanMode', 'ToolSearch', 'TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet')";

impl Store {
    pub fn line_map(&self, tree_key: &str, path: &str) -> Result<Option<LineMap>, StoreError> {
        let sql =
            "SELECT snapshot_at, blob, lines, origins, made_at, begins_at FROM blame WHERE tree_key = ?1 AND path = ?2";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(LineMap {
                tree_key: tree_key.to_owned(),
                path: path.to_owned(),
                snapshot_at: row.get::<_, i64>(0)?.unsigned_abs(),
                blob: row.get(1)?,
                lines: row.get(2)?,
                origins: row.get(3)?,
                made_at: row.get::<_, i64>(4)?.unsigned_abs(),
                begins_at: row.get::<_, i64>(5)?.unsigned_abs(),
            })
        };
        self.connection.first_with(sql, [tree_key, path], read).map_err(cannot("read the line map"))
    }

    /// Stores the line map of a file in place of an older one.
    pub fn put_line_map(&self, map: &LineMap) -> Result<(), StoreError> {
        self.write("store the line map", |connection| {
            let sql = "INSERT INTO blame (tree_key, path, snapshot_at, blob, lines, origins, made_at, begins_at)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                       ON CONFLICT DO UPDATE SET snapshot_at = excluded.snapshot_at, blob = excluded.blob, lines = excluded.lines,
                                                 origins = excluded.origins, made_at = excluded.made_at, begins_at = excluded.begins_at
                       WHERE excluded.snapshot_at >= blame.snapshot_at";
            let (at, made_at, begins_at) = (map.snapshot_at as i64, map.made_at as i64, map.begins_at as i64);
            let values = (&map.tree_key, &map.path, at, &map.blob, &map.lines, &map.origins, made_at, begins_at);
            connection.run(sql, values).map(drop)
        })
    }

    /// Deletes line maps from before `before`, and the oldest ones while all together have more than `most` bytes.
    pub fn prune_line_maps(&self, before: u64, most: u64) -> Result<usize, StoreError> {
        self.write("delete old line maps", |connection| {
            let sql = "DELETE FROM blame WHERE made_at < ?1 OR (tree_key, path) IN
                       (SELECT tree_key, path FROM
                           (SELECT tree_key, path, sum(length(lines) + length(origins)) OVER (ORDER BY made_at DESC, path) AS total
                            FROM blame)
                        WHERE total > ?2)";
            connection.run(sql, (before as i64, most as i64))
        })
    }

    pub fn line_map_stats(&self) -> Result<LineMapStats, StoreError> {
        let sql = "SELECT count(*), coalesce(sum(length(lines) + length(origins)), 0) FROM blame";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(LineMapStats {
                files: row.get::<_, i64>(0)?.unsigned_abs(),
                bytes: row.get::<_, i64>(1)?.unsigned_abs(),
            })
        };
        self.connection.one_with(sql, [], read).map_err(cannot("count the line maps"))
    }

    /// Returns the edit calls for files with a name, of sessions in a project or with snapshots of a work tree, the oldest first.
    /// Calls that failed are not among them.
    pub fn edit_calls(
        &self,
        project_key: &str,
        tree_key: &str,
        file_name: &str,
    ) -> Result<Vec<StoredEdit>, StoreError> {
        let sql = "SELECT s.session_id, o.tool_use_id, o.created_at, d.input_text, t.id
                   FROM sessions s
                   JOIN observations o ON o.session_id = s.id
                   JOIN details d ON d.session_id = o.session_id AND d.source_id = o.tool_use_id
                   LEFT JOIN turns t ON t.session_id = o.session_id AND t.prompt_number = o.prompt_number
                   WHERE (s.project_key = :project OR s.session_id IN (SELECT session_id FROM snapshots WHERE tree_key = :tree))
                     AND o.tool_name IN ('Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'apply_patch')
                     AND instr(o.files_modified, :name) > 0 AND d.input_text IS NOT NULL AND d.is_error = 0
                   ORDER BY o.created_at, o.id";
        // The list of files is JSON text.
        let name = serde_json::Value::from(file_name).to_string();
        let name = name.trim_matches('"');
        let values = named_params! { ":project": project_key, ":tree": tree_key, ":name": name };
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoredEdit {
                session: row.get(0)?,
                tool_use_id: row.get(1)?,
                at: row.get::<_, i64>(2)?.unsigned_abs(),
                input: row.get(3)?,
                prompt: row.get(4)?,
            })
        };
        self.connection.all_with(sql, values, read).map_err(cannot("read the edit calls"))
    }

    /// Returns the turns of sessions in a project or with snapshots of a work tree, the oldest first.
    pub fn turns_of_tree(&self, project_key: &str, tree_key: &str) -> Result<Vec<StoredTurn>, StoreError> {
        let sql =
            "SELECT t.id, s.session_id, t.prompt_id, coalesce(t.began_at, t.created_at), t.created_at, t.replied_at,
                          t.forgotten > 0
                   FROM sessions s JOIN turns t ON t.session_id = s.id
                   WHERE (s.project_key = ?1 OR s.session_id IN (SELECT session_id FROM snapshots WHERE tree_key = ?2))
                     AND (t.prompt_number IS NOT NULL OR t.forgotten > 0)
                   ORDER BY t.created_at, t.id";
        self.connection
            .all_with(sql, [project_key, tree_key], |row| {
                let number = |at: usize| row.get::<_, Option<i64>>(at).map(|number| number.map(i64::unsigned_abs));
                Ok(StoredTurn {
                    id: row.get(0)?,
                    session: row.get(1)?,
                    prompt_id: row.get(2)?,
                    at: number(3)?.or(number(4)?).unwrap_or_default(),
                    replied_at: number(5)?,
                    is_forgotten: row.get(6)?,
                })
            })
            .map_err(cannot("read the turns"))
    }

    /// Returns the calls of sessions with snapshots of a work tree after `after`, the oldest first.
    pub fn calls_of_tree(&self, tree_key: &str, after: u64) -> Result<Vec<CommandCall>, StoreError> {
        let sql = format!(
            "SELECT o.tool_use_id, o.title, o.created_at, s.session_id, t.id, o.files_modified, o.tool_name IN {HARMLESS}
             FROM sessions s JOIN observations o ON o.session_id = s.id AND o.created_at >= ?2
             LEFT JOIN turns t ON t.session_id = o.session_id AND t.prompt_number = o.prompt_number
             WHERE s.session_id IN (SELECT session_id FROM snapshots WHERE tree_key = ?1) AND o.tool_use_id IS NOT NULL
             ORDER BY o.created_at, o.id"
        );
        self.connection
            .all_with(&sql, (tree_key, after as i64), |row| {
                Ok(CommandCall {
                    tool_use_id: row.get(0)?,
                    title: row.get(1)?,
                    at: row.get::<_, i64>(2)?.unsigned_abs(),
                    session: row.get(3)?,
                    prompt: row.get(4)?,
                    files_modified: row.get(5)?,
                    is_harmless: row.get(6)?,
                })
            })
            .map_err(cannot("read the calls"))
    }

    /// Returns what is known of the turn of a session with a prompt's id, or, without it, with that time.
    pub fn turn_text(&self, session: &str, prompt_id: Option<&str>, at: u64) -> Result<Option<TurnText>, StoreError> {
        // Claude Code writes the time of a prompt, and the hook that of the snapshot, a moment later or earlier.
        let sql = "SELECT t.id, t.prompt_number, coalesce(t.prompt, ''), s.id FROM turns t JOIN sessions s ON s.id = t.session_id
                   WHERE s.session_id = ?1 AND t.prompt_number IS NOT NULL
                     AND (t.prompt_id = ?2 OR (coalesce(?2, '') = '' AND abs(t.created_at - ?3) <= 5000))
                   ORDER BY abs(t.created_at - ?3) LIMIT 1";
        self.try_to("read the turn", |connection| {
            let found: Option<(i64, i64, String, i64)> = connection.first(sql, (session, prompt_id, at as i64))?;
            let Some((id, number, prompt, row)) = found else { return Ok(None) };
            // A reply may be in turns of its own: after a bookmark, or a subagent that returned.
            let sql = "SELECT reply FROM turns WHERE reply IS NOT NULL AND (id = ?1 OR passage = ?1) ORDER BY id";
            let replies: Vec<String> = connection.all(sql, [id])?;
            let sql = "SELECT title FROM observations
                       WHERE session_id = ?1 AND prompt_number = ?2 AND kind = 'decision' ORDER BY id";
            let decisions = connection.all(sql, (row, number))?;
            Ok(Some(TurnText { id, prompt, reply: replies.join("\n\n"), decisions }))
        })
    }

    /// Returns the title of a call's record, and its number: `O7`.
    pub fn call_title(&self, tool_use_id: &str) -> Result<Option<(i64, String)>, StoreError> {
        let sql = "SELECT id, title FROM observations WHERE tool_use_id = ?1";
        self.connection.first(sql, [tool_use_id]).map_err(cannot("read the call"))
    }
}

/// Removes from every line map what comes from a prompt of a session, or from all of its prompts.
pub(crate) fn forget(connection: &Connection, session: &str, prompt: Option<(&str, i64)>) -> rusqlite::Result<()> {
    let sql = "SELECT rowid, origins FROM blame WHERE instr(origins, ?1) > 0";
    let maps: Vec<(i64, String)> = connection.all(sql, [session])?;
    for (row, origins) in maps {
        let Ok(mut all) = serde_json::from_str::<Vec<serde_json::Value>>(&origins) else {
            connection.run("DELETE FROM blame WHERE rowid = ?1", [row])?;
            continue;
        };
        for origin in &mut all {
            forget_origin(origin, session, prompt);
        }
        let origins = serde_json::Value::from(all).to_string();
        connection.run("UPDATE blame SET origins = ?2 WHERE rowid = ?1", (row, origins))?;
    }
    Ok(())
}

/// Makes an origin unknown if it is that of a prompt.
fn forget_origin(origin: &mut serde_json::Value, session: &str, prompt: Option<(&str, i64)>) {
    let is_prompt = |origin: &serde_json::Value| match prompt {
        None => true,
        Some((id, _)) if !id.is_empty() && origin["p"].is_string() => origin["p"] == id,
        // The snapshot may have had no id where the memory has one: the turn was found by its time.
        Some((_, at)) => origin["t"].as_i64().is_some_and(|time| (time - at).abs() <= 5_000),
    };
    if origin["s"] == session && is_prompt(origin) {
        *origin = serde_json::json!({ "k": "unknown" });
    }
    if let Some(candidates) = origin.get_mut("a").and_then(serde_json::Value::as_array_mut) {
        for candidate in candidates {
            forget_origin(candidate, session, prompt);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::forget_origin;

    #[test]
    fn a_forgotten_prompt_is_in_no_origin_by_its_id_or_its_time() {
        let prompt = Some(("p1", 100_000));
        for (mut origin, is_forgotten) in [
            (json!({ "k": "prompt", "s": "s", "p": "p1", "t": 100_000 }), true),
            (json!({ "k": "prompt", "s": "s", "p": "p2", "t": 100_000 }), false),
            (json!({ "k": "command", "s": "s", "t": 102_000 }), true),
            (json!({ "k": "command", "s": "s", "t": 200_000 }), false),
            (json!({ "k": "prompt", "s": "other", "p": "p1", "t": 100_000 }), false),
        ] {
            let shown = origin.to_string();
            let mut doubt = json!({ "k": "unknown", "a": [origin.clone()] });
            forget_origin(&mut origin, "s", prompt);
            forget_origin(&mut doubt, "s", prompt);
            assert_eq!(origin == json!({ "k": "unknown" }), is_forgotten, "{shown}");
            assert_eq!(doubt["a"][0] == json!({ "k": "unknown" }), is_forgotten, "{shown}");
        }
    }
}
