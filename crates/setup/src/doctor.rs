//! Whether all is well. Looking ([`Facts`]) and judging ([`judge`]) are two things: a judgement is a function of facts.

mod conditions;
mod facts;
mod judge;
mod keys;
mod model;
mod registered;
mod sessions;
mod tmux;

pub use self::facts::{BridgeFacts, Client, Database, Facts, TmuxFacts, Worker};
pub use self::judge::judge;
pub use self::keys::KeyFacts;
pub use self::model::ModelFacts;
pub use self::registered::{Peer, Source};
pub use self::sessions::{SessionFacts, about};

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All is well.
    Ok,
    /// Good to know.
    Note,
    /// It works, and not as it should.
    Warning,
    /// It does not work.
    Broken,
}

impl Level {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Broken => "broken",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub mend: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), mend: None }
    }

    fn note(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Note, what: what.into(), mend: None }
    }

    fn warning(check: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, level: Level::Warning, what: what.into(), mend: Some(mend.into()) }
    }

    fn broken(check: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, level: Level::Broken, what: what.into(), mend: Some(mend.into()) }
    }
}
