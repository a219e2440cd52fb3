//! What each tool takes. The comments become the descriptions that an agent reads. A name that is not here is refused: an
//! agent that mistypes one would take the answer for that to its question.

use std::fmt;

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crate::cli::memory::find::{Ordering, Type};

/// What `recall` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// The question, in a sentence, or an error message. "A phrase" in quotes and +word must occur, -word must not.
    pub(super) question: String,
    /// How long the answer may be in tokens, 1500 unless said otherwise, from 100 to 20000.
    pub(super) tokens: Option<usize>,
    /// Nothing from before this day, YYYY-MM-DD.
    pub(super) since: Option<String>,
    /// Only what is from before this day, YYYY-MM-DD.
    pub(super) before: Option<String>,
    /// Another project than this session's: its name, or a folder in it.
    pub(super) project: Option<String>,
    /// Ask every project.
    pub(super) all_projects: Option<bool>,
}

/// What `search` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// A question, an error message or words: the more of them a record has, the better it ranks. "A phrase" in quotes and
    /// +word must occur, -word must not. Any text is valid. Leave it out to list the newest records that pass the filters.
    pub(super) query: Option<String>,
    /// Only observations of these kinds: change, discovery, command, problem, fix, decision, delegation, note.
    pub(super) kinds: Option<Vec<String>>,
    /// Only observations of a file whose path contains this.
    pub(super) file: Option<String>,
    /// Nothing from before this day, YYYY-MM-DD.
    pub(super) since: Option<String>,
    /// Only what is from before this day, YYYY-MM-DD.
    pub(super) before: Option<String>,
    /// Only these types of records.
    pub(super) types: Option<Vec<Type>>,
    /// What comes first; relevance unless said otherwise.
    pub(super) order: Option<Ordering>,
    /// How many lines at most, 20 unless said otherwise, 200 at most.
    pub(super) limit: Option<usize>,
    /// How many lines to leave out first.
    pub(super) offset: Option<usize>,
    /// Another project than this session's: its name, or a folder in it.
    pub(super) project: Option<String>,
    /// Search every project.
    pub(super) all_projects: Option<bool>,
}

/// What `timeline` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    /// The record, such as O345, P12 or S6.
    pub(super) id: Id,
    /// How many records before it, 3 unless said otherwise.
    pub(super) depth_before: Option<usize>,
    /// How many records after it, 3 unless said otherwise.
    pub(super) depth_after: Option<usize>,
}

/// What `get_observations` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Records {
    /// The records, such as ["O345", "P12", "S6"].
    pub(super) ids: Vec<Id>,
}

/// What `save_memory` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// What to remember, whole sentences that make sense on their own.
    pub(super) text: String,
    /// It in one line; the text's first line unless given.
    pub(super) title: Option<String>,
    /// Another project than this session's: its name, or a folder in it.
    pub(super) project: Option<String>,
}

/// A record's name. A number alone is an observation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Id {
    /// Such as O345.
    Name(String),
    /// Such as 345.
    Number(i64),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}
