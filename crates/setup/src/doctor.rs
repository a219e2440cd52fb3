//! `longhaul doctor`: checks an installation and suggests fixes.
//!
//! [`Facts::collect`] reads everything without changing it. [`judge`] turns the facts into findings and is pure.

mod facts;
mod installation;
mod limits;
mod other_agents;
mod services;
mod sessions;
mod storage;

pub use self::facts::{BridgeFacts, Client, Database, Facts, TmuxFacts, Worker};
pub use self::installation::{Peer, Source};
pub use self::limits::LimitFacts;
pub use self::other_agents::CodexFacts;
pub use self::services::{ModelFacts, NotifyFacts, SyncFacts};
pub use self::sessions::{KeyFacts, SessionFacts, about};
pub use self::storage::SnapshotFacts;

use serde::Serialize;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing is wrong.
    Ok,
    /// Information; nothing needs to be done.
    Note,
    /// It works, but not as it should.
    Warning,
    /// It does not work.
    Broken,
}

impl Level {
    /// Returns the name, as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Broken => "broken",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// How serious it is.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// How to fix it.
    pub fix: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), fix: None }
    }

    fn note(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Note, what: what.into(), fix: None }
    }

    fn warning(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, what: what.into(), fix: Some(fix.into()) }
    }

    fn broken(check: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, level: Level::Broken, what: what.into(), fix: Some(fix.into()) }
    }
}

/// How many items of a list are named.
const NAMED: usize = 5;

/// Every check, in the order in which the results are shown. A new check is added here.
const CHECKS: &[fn(&Facts) -> Vec<Finding>] = &[
    installation::executables,
    installation::path,
    installation::versions,
    installation::disabled,
    installation::client,
    installation::settings,
    installation::registration,
    installation::launchers,
    installation::cache,
    installation::fired,
    sessions::terminals,
    sessions::tmux,
    storage::storage,
    storage::database,
    storage::config,
    storage::permissions,
    storage::transcripts,
    storage::peers,
    storage::snapshots,
    storage::space,
    services::notifications,
    limits::limits,
    other_agents::agents,
    services::sync,
    services::worker,
    services::model,
    services::embeddings,
    services::bridge,
    sessions::keys,
    other_agents::codex,
];

/// Runs every check.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|check| check(facts)).collect()
}

/// Returns how long ago `at` was, such as `5m ago`.
fn ago(now: u64, at: u64) -> String {
    match now.saturating_sub(at) / 1000 {
        0..60 => "just now".to_owned(),
        seconds => format!("{} ago", longhaul_tracker::age(seconds)),
    }
}

/// Returns the first of the names, and how many more there are.
fn few(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let rest = names.len().saturating_sub(NAMED);
    let named = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if rest == 0 { named } else { format!("{named} and {rest} more") }
}
