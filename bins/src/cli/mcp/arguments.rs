//! The arguments of each tool, and how much one call may ask for, or shows of a reply. The comments of types and fields become the
//! descriptions that an agent reads.
//!
//! An unknown argument is refused: otherwise an agent that mistypes one would misread the answer.

use std::fmt;

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use crate::cli::memory::find::{Ordering, Type};

/// How many records one call may ask for. More would fill the context of the agent. The comment of `Records::ids` repeats the
/// number.
pub(super) const MOST_RECORDS: usize = 50;

/// How many lines one call may ask for. The comments of `Words::limit` and of the depths of
/// `Around` repeat the number.
pub(super) const MOST_LINES: usize = 200;

/// Maximum length of a reply, in characters. The middle of a longer one is left out.
pub(super) const SHOWN_REPLY_CHARS: usize = 16_384;

/// The arguments of `recall`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    /// The question, in a sentence, or an error message. "A phrase" in quotes and +word must occur, -word must not.
    pub(super) question: String,
    /// Maximum length of the answer in tokens, from 100 to 20000; default 1500.
    pub(super) tokens: Option<usize>,
    /// Only records since this day, YYYY-MM-DD.
    pub(super) since: Option<String>,
    /// Only records before this day, YYYY-MM-DD.
    pub(super) before: Option<String>,
    /// Only what was made on this host, by the name that results show behind @; `here` is this machine.
    pub(super) from_host: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    pub(super) project: Option<String>,
    /// Ask every project.
    pub(super) all_projects: Option<bool>,
}

/// The arguments of `search`.
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
    /// Only records since this day, YYYY-MM-DD.
    pub(super) since: Option<String>,
    /// Only records before this day, YYYY-MM-DD.
    pub(super) before: Option<String>,
    /// Only these types of records.
    pub(super) types: Option<Vec<Type>>,
    /// The order of the results; default relevance.
    pub(super) order: Option<Ordering>,
    /// Maximum number of lines, up to 200; default 20.
    pub(super) limit: Option<usize>,
    /// Number of lines to skip.
    pub(super) offset: Option<usize>,
    /// Only what was made on this host, by the name that results show behind @; `here` is this machine.
    pub(super) from_host: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    pub(super) project: Option<String>,
    /// Search every project.
    pub(super) all_projects: Option<bool>,
}

/// The arguments of `timeline`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    /// The record, such as O345, P12 or S6.
    pub(super) id: Option<Id>,
    /// The same as `id`.
    pub(super) anchor: Option<Id>,
    /// Number of records before it, up to 200; default 3.
    pub(super) depth_before: Option<usize>,
    /// Number of records after it, up to 200; default 3.
    pub(super) depth_after: Option<usize>,
    /// Around it, only records of this type.
    #[serde(rename = "type")]
    pub(super) only: Option<Type>,
}

/// The arguments of `get_observations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Records {
    /// The records, such as ["O345", "P12", "S6"]; at most 50.
    pub(super) ids: Vec<Id>,
}

/// The arguments of `save_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    /// The text to remember, in sentences that can be understood without this conversation.
    pub(super) text: String,
    /// A title of one line; default is the first line of the text.
    pub(super) title: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    pub(super) project: Option<String>,
}

/// The id of a record. A number alone is an observation.
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
