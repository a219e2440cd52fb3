//! Memory: prompts, observations and summaries, kept and found again.
//!
//! A record belongs to a project and, unless it is a note that somebody made outside of any, to a session. Raw tool text
//! is not here but in handoff's `details`, once, under the call's id.

mod bulk;
mod forget;
mod import;
mod import_from;
mod long_texts;
mod notes;
mod page;
mod projects;
mod prompts;
mod rank;
mod record_id;
pub(crate) mod records;
pub(crate) mod session_row;
mod summaries;
pub(crate) mod tables;
mod timeline;
mod tool_calls;
pub(crate) mod upkeep;
pub(crate) mod word_search;

use longhaul_core::Millis;
use longhaul_core::budget::tokens_of_chars;
use longhaul_memory::Kind;
use serde_json::{Value, json};

pub use self::bulk::Bulk;
pub use self::import::{Past, PastPrompt, PastTurn};
pub use self::import_from::{Moved, MovedCall, MovedIn, MovedTurn};
pub use self::notes::NewNote;
pub use self::page::{PageRecord, PageSession};
pub use self::projects::KnownProject;
pub use self::record_id::RecordId;
pub(crate) use self::records::observed;
pub use self::records::{Content, Record};
pub use self::tool_calls::{NewObservation, Reading, Taken};
pub use self::upkeep::{Pruned, Stats};
pub use self::word_search::Order;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// What somebody asked.
    Prompt,
    /// What a tool call did, or a note.
    Observation,
    /// What a session came to.
    Summary,
}

impl What {
    /// Everything there is.
    pub const ALL: [Self; 3] = [Self::Prompt, Self::Observation, Self::Summary];

    /// Returns its name: `prompt`, `observation` or `summary`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Observation => "observation",
            Self::Summary => "summary",
        }
    }

    /// Returns the name of several: `prompts`, `observations` or `summaries`.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Observation => "observations",
            Self::Summary => "summaries",
        }
    }

    /// Returns what is named so, one or several.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.as_str() == name || what.plural() == name)
    }
}

/// A record in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which.
    pub record: RecordId,
    /// The session; none for a note that no session made.
    pub session: Option<String>,
    /// The project's name.
    pub project: String,
    /// The number of the prompt in the session.
    pub prompt_number: i64,
    /// When.
    pub at: Millis,
    /// What an observation is about.
    pub kind: Option<Kind>,
    /// An observation's title, a prompt's first line, what a summary says was asked.
    pub title: String,
    /// Bytes of the whole record, raw tool text included: what reading it costs.
    pub chars: u64,
    /// The text around the words that were looked for; empty where there were none.
    pub snippet: String,
    /// How well it answers, where words were looked for.
    pub score: Score,
    /// Whether it has little of what was looked for.
    pub is_weak: bool,
    /// Whether a newer record, which comes before it, answers the same.
    pub is_older: bool,
}

/// How well a record answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// What it is ordered by, in thousandths. It compares with others of the same search only.
    pub thousandths: u64,
    /// How much of the query's weight it has, in percent.
    pub covered: u8,
    /// How much of it stands close together, in percent.
    pub near: u8,
    /// How similar its meaning is to the query's, in percent, where it is among the most similar.
    pub similarity: Option<u8>,
    /// What the score is made of.
    pub parts: ScoreParts,
}

/// What a score is made of, in thousandths: `(words × kind + neighbours + calls + meaning) × age × date`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoreParts {
    /// For the words that it has, how rare they are, and how close together.
    pub words: u64,
    /// What a record of its kind counts: a decision more than a passage, a tool call less.
    pub kind: u64,
    /// From the passages before and after it.
    pub neighbours: u64,
    /// From what was done for a prompt.
    pub calls: u64,
    /// From the similarity of its meaning.
    pub meaning: u64,
    /// What its age leaves, compared with the newest result.
    pub age: u64,
    /// What a day, month or year that the query names adds.
    pub date: u64,
}

impl Hit {
    /// Returns the tokens that reading the whole record costs.
    pub fn tokens(&self) -> u64 {
        tokens_of_chars(self.chars)
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.record.to_string(),
            "type": self.record.what.as_str(),
            "session_id": self.session,
            "project": self.project,
            "prompt_number": self.prompt_number,
            "created_at": self.at.0,
            "kind": self.kind.map(Kind::as_str),
            "title": self.title,
            "tokens": self.tokens(),
            "snippet": self.snippet,
            "score": self.score.thousandths as f64 / 1_000.0,
            "covered": f64::from(self.score.covered) / 100.0,
            "near": f64::from(self.score.near) / 100.0,
            "similarity": self.score.similarity.map(|percent| f64::from(percent) / 100.0),
            "weak": self.is_weak,
            "older": self.is_older,
        })
    }
}

/// Reads a time.
pub(crate) fn millis(ms: i64) -> Millis {
    Millis(ms.unsigned_abs())
}
