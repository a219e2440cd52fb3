//! Checks that failed when they were last run.

use super::PageRecord;
use crate::observation::Kind;
use crate::observe::is_check;

/// Returns the failures after which no run of the same command succeeded in any session. `records` and the result are
/// ordered from new to old.
///
/// Only a run that ended has a `command_key`, and a run that is not a problem has succeeded. A later run without the
/// last arguments, such as `cargo test` after `cargo test parser`, counts for both.
pub(super) fn failing(records: &[PageRecord]) -> Vec<&PageRecord> {
    let mut later: Vec<&str> = Vec::new();
    let mut open = Vec::new();
    for record in records {
        let Some(key) = record.command_key.as_deref() else { continue };
        if record.kind == Kind::Problem && !later.iter().any(|run| *run == key || covers(run, key)) {
            open.push(record);
        }
        later.push(key);
    }
    open
}

/// Returns whether a check runs everything that `key` runs, which is the same check with additional names.
fn covers(run: &str, key: &str) -> bool {
    let Some(names) = key.strip_prefix(run).and_then(|rest| rest.strip_prefix(' ')) else { return false };
    let are_names = names.split(' ').all(|name| !name.starts_with(['-', '&', '|', ';']));
    // `make` alone does not run `make test`.
    are_names && run.contains(' ') && is_check(run)
}
