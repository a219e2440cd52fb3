//! `longhaul doctor`: checks an installation and suggests fixes.
//!
//! [`Facts::collect`] reads everything without changing it. [`judge`] turns the facts into findings and is pure.

mod agents;
mod codex;
mod codex_trust;
mod config;
mod embeddings;
mod facts;
mod judge;
mod keys;
mod model;
mod notify;
mod plugin;
mod registered;
mod sessions;
mod snapshots;
mod storage;
mod sync;
mod tmux;
mod worker;

pub use self::codex::CodexFacts;
pub use self::facts::{BridgeFacts, Client, Database, Facts, TmuxFacts, Worker};
pub use self::judge::judge;
pub use self::keys::KeyFacts;
pub use self::model::ModelFacts;
pub use self::notify::NotifyFacts;
pub use self::registered::{Peer, Source};
pub use self::sessions::{SessionFacts, about};
pub use self::snapshots::SnapshotFacts;
pub use self::sync::SyncFacts;

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
