//! The memory: storing and searching prompts, observations and summaries. Here is what every other part names: kinds
//! and ids of records, and what a search returns.
//!
//! A record belongs to a project, and to a session unless it is a note that was made outside of any. The raw text of
//! tool calls is stored once, in the `details` of the handoff, under the id of the call.

pub(crate) mod forget;
mod page_queries;
pub(crate) mod records;
pub(crate) mod session_row;
pub(crate) mod summaries;
pub(crate) mod upkeep;

use std::fmt;

use longhaul_core::Millis;
use longhaul_core::text::tokens_of_chars;
use longhaul_memory::Kind;
use serde_json::{Value, json};

pub use self::page_queries::PageSession;
pub use self::records::{Content, Record};
pub(crate) use self::records::{read_observation, read_summary};
pub use self::session_row::KnownProject;
pub use self::upkeep::{Pruned, Stats};

longhaul_core::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum What {
        /// A prompt, with the replies to it.
        Prompt = "prompt",
        /// What a tool call did, or a note.
        Observation = "observation",
        /// The summary of a session up to one of its prompts.
        Summary = "summary",
    }
}

impl What {
    /// Returns the table, or the view, that the records of this kind are in.
    pub(crate) fn table(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Observation => "observations",
            Self::Summary => "session_summaries",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Observation => "observations",
            Self::Summary => "summaries",
        }
    }

    /// Returns the kind of that name, singular or plural.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.as_str() == name || what.plural() == name)
    }
}

/// A record in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub record: RecordId,
    /// The session; `None` for a note that was made outside of any.
    pub session: Option<String>,
    /// The other host that it comes from; `None` if it was made here.
    pub host: Option<String>,
    pub project: String,
    pub prompt_number: i64,
    pub at: Millis,
    /// The kind of an observation.
    pub kind: Option<Kind>,
    /// The title of an observation, the first line of a prompt, the request of a summary.
    pub title: String,
    /// Bytes of the whole record, including raw tool text.
    pub chars: u64,
    /// The text around the words that were found; empty if the query had none.
    pub snippet: String,
    pub score: Score,
    /// Whether it has little of the query.
    pub is_weak: bool,
    /// Whether it is not about the question, though it has a word of it.
    pub is_unrelated: bool,
    /// Whether a newer record that comes before it answers the same.
    pub is_older: bool,
}

/// How well a record answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Score {
    /// The value that results are ordered by, in thousandths. It compares only within one search.
    pub thousandths: u64,
    /// How much of the query's weight it covers, in percent.
    pub covered: u8,
    /// How much of that stands close together, in percent.
    pub near: u8,
    /// How similar its meaning is to the query's, in percent, if it is among the most similar.
    pub similarity: Option<u8>,
    pub parts: ScoreParts,
}

/// What a score is made of, in thousandths: `(words × kind + neighbours + calls) × age × date`, with `meaning` instead of `words`
/// if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoreParts {
    /// For the words that it has, how rare they are, and how close together.
    pub words: u64,
    /// What a record of its kind counts: a decision more than a passage, a tool call less.
    pub kind: u64,
    pub neighbours: u64,
    /// From what was done for a prompt.
    pub calls: u64,
    /// For how similar its meaning is, with the words that it has; 0 if only words were compared.
    pub meaning: u64,
    /// What its age leaves, compared with the newest result.
    pub age: u64,
    /// What a day, month or year that the query names adds.
    pub date: u64,
}

impl Hit {
    pub fn tokens(&self) -> u64 {
        tokens_of_chars(self.chars)
    }

    pub fn to_json(&self) -> Value {
        json!({
            "id": self.record.to_string(),
            "type": self.record.what.as_str(),
            "session_id": self.session,
            "host": self.host,
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
            "unrelated": self.is_unrelated,
            "older": self.is_older,
        })
    }
}

pub(crate) fn millis(ms: i64) -> Millis {
    Millis(ms.unsigned_abs())
}

/// The name of a record. In each table a number is given once, and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    pub what: What,
    /// Its number in the table of that kind.
    pub id: i64,
}

impl RecordId {
    /// How a name is written, for error messages.
    pub const EXAMPLES: &str = "write O345 or 345 (observation), P12 (prompt) or S6 (summary)";

    /// Reads a name; a number alone is of the kind `what`. Returns `None` if the text is no name.
    pub fn parse(text: &str, what: What) -> Option<Self> {
        let name = text.trim().trim_start_matches('#');
        let (what, number) = match name.as_bytes().first() {
            Some(b'P' | b'p') => (What::Prompt, &name[1..]),
            Some(b'O' | b'o') => (What::Observation, &name[1..]),
            Some(b'S' | b's') => (What::Summary, &name[1..]),
            _ => (what, name),
        };
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|id| *id > 0 && is_plain).map(|id| Self { what, id })
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.what {
            What::Prompt => 'P',
            What::Observation => 'O',
            What::Summary => 'S',
        };
        write!(f, "{letter}{}", self.id)
    }
}

longhaul_core::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Order {
        /// The best match first; the newest first if the query has no words.
        #[default]
        Relevance = "relevance",
        Newest = "newest",
        Oldest = "oldest",
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordId, What};

    fn name(text: &str, what: What) -> Option<String> {
        RecordId::parse(text, what).map(|record| record.to_string())
    }

    #[test]
    fn a_name_says_what_a_record_is() {
        for (text, expected) in [("345", "O345"), ("O345", "O345"), ("p12", "P12"), (" #S6 ", "S6"), ("#7", "O7")] {
            assert_eq!(name(text, What::Observation).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(name("7", What::Prompt).as_deref(), Some("P7"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "O", "x1", "-3", "+3", "0", "O1x", "1.5", "99999999999999999999", "P", "é1", "O٣"] {
            assert_eq!(name(text, What::Observation), None, "{text}");
        }
    }
}
