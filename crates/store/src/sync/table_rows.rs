//! Which rows of the memory are looked at for the log.

use super::entities::EntityTable;
use crate::limit;

/// How many new rows are listed at once.
pub(super) const PAGE: usize = 1_000;

/// Which rows are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Those that were not looked at before.
    New,
    /// Those that may have changed since.
    Changed,
}

/// Returns the statement that lists rows of a project: `?1` is its key, `?2` and `?3` are ids, `?4` is the earliest time, and
/// `?5` the time from which on the project is shared.
pub(super) fn rows_of_project(table: EntityTable, pass: Pass) -> String {
    let (name, _) = names(table);
    let of_project = match table {
        EntityTable::Bookmarks => "t.session_id IN (SELECT session_id FROM sessions WHERE project_key = ?1)",
        _ => "t.project_id = (SELECT id FROM projects WHERE project_key = ?1)",
    };
    // A summary covers its whole session, so all of it must be shared.
    let is_all_shared = match table {
        EntityTable::Summaries => {
            "NOT EXISTS (SELECT 1 FROM prompts u WHERE u.session_id = t.session_id AND u.created_at < ?5)
             AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.session_id = t.session_id AND o.created_at < ?5)"
        }
        _ => "?5 IS NOT NULL",
    };
    // New rows are read in the order of the table, recent ones by the index of the project's times: the plus keeps SQLite
    // from using another index.
    match pass {
        Pass::New => format!(
            "SELECT t.id FROM {name} t WHERE t.id > ?2 AND t.id <= ?3 AND +t.created_at >= ?4 AND +{of_project}
             AND {is_all_shared} ORDER BY t.id {}",
            limit(PAGE)
        ),
        Pass::Changed => format!(
            "SELECT t.id FROM {name} t WHERE +t.id > ?2 AND +t.id <= ?3 AND t.created_at >= ?4 AND {of_project}
             AND {is_all_shared}"
        ),
    }
}

/// Returns the table, and the column of `projects` with how far it was looked at.
pub(super) fn names(table: EntityTable) -> (&'static str, &'static str) {
    match table {
        EntityTable::Prompts => ("prompts", "seen_prompts"),
        EntityTable::Observations => ("observations", "seen_observations"),
        EntityTable::Summaries => ("session_summaries", "seen_summaries"),
        EntityTable::Bookmarks => ("bookmarks", "seen_bookmarks"),
    }
}
