//! The list of all checks, each from facts to findings, and what several of them need. Pure; the checks themselves are in
//! the files beside this one.

use super::facts::Facts;
use super::{Finding, config, plugin, storage, worker};

/// How many items of a list are named.
pub(super) const NAMED: usize = 5;

/// Every check, in the order in which the results are shown. A new check is added here.
const CHECKS: &[fn(&Facts) -> Vec<Finding>] = &[
    plugin::executables,
    plugin::path,
    plugin::versions,
    plugin::disabled,
    plugin::client,
    plugin::settings,
    plugin::registration,
    plugin::launchers,
    plugin::cache,
    plugin::fired,
    super::sessions::terminals,
    super::tmux::check,
    storage::storage,
    storage::database,
    config::config,
    storage::permissions,
    storage::transcripts,
    config::peers,
    super::snapshots::check,
    super::notify::check,
    super::agents::check,
    super::sync::check,
    worker::worker,
    super::model::model,
    super::embeddings::check,
    worker::bridge,
    super::keys::keys,
    super::codex::check,
];

/// Runs every check.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|check| check(facts)).collect()
}

/// Returns how long ago `at` was, such as `5m ago`.
pub(super) fn ago(now: u64, at: u64) -> String {
    match now.saturating_sub(at) / 1000 {
        0..60 => "just now".to_owned(),
        seconds => format!("{} ago", longhaul_tracker::age(seconds)),
    }
}

/// Returns the first of the names, and how many more there are.
pub(super) fn few(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let rest = names.len().saturating_sub(NAMED);
    let named = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if rest == 0 { named } else { format!("{named} and {rest} more") }
}
