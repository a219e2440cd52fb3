//! The files that a session has changed, as far as tool calls and snapshots tell.

use longhaul_handoff::{file_of, patched_files};

use crate::{Store, StoreError, cannot, limit};

/// How many of the newest turns are searched for tool calls, and how many records are read in all.
const NEWEST: usize = 200;

impl Store {
    /// Returns the paths of files that a session has changed, the newest change first: below `project`, relative to it.
    ///
    /// Tool calls name what an agent's own tools changed; snapshots also what its commands changed.
    pub fn changed_files(&self, session: &str, project: &str) -> Result<Vec<String>, StoreError> {
        let failed = cannot("list the changed files");
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
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        let rows = statement
            .query_map([session], |row| {
                let (how, text, folder): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let names: Vec<String> = match how {
                    0 => file_of(&text).into_iter().chain(patched_files(&text).map(str::to_owned)).collect(),
                    _ => serde_json::from_str(&text).unwrap_or_default(),
                };
                Ok(names.into_iter().map(|name| format!("{folder}{name}")).collect::<Vec<_>>())
            })
            .map_err(&failed)?;
        let mut files: Vec<String> = Vec::new();
        for names in rows {
            for name in names.map_err(&failed)? {
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
