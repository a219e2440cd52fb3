//! The order of the rows: the state first, then the time.

use std::cmp::Reverse;

use longhaul_core::Status;

use crate::session_row::SessionRow;

/// Sorts the rows: blocked sessions first, then completed, working and idle ones, of all hosts together.
///
/// Of several blocked or completed sessions, the one that has waited longest comes first. Of the others, the one that
/// changed last comes first. Sessions that work for another one come last.
pub fn sort(rows: &mut [SessionRow]) {
    rows.sort_by_cached_key(|row| {
        let rank = match row.status {
            _ if row.works_for_another => 4,
            Status::Blocked => 0,
            Status::Completed => 1,
            Status::Working => 2,
            Status::Idle => 3,
        };
        let waits_since = if row.waits() { row.changed_at } else { 0 };
        (rank, waits_since, Reverse(row.changed_at), row.id.clone())
    });
}
