//! The content of a record. The engine sees nothing of it.

use serde::{Deserialize, Serialize};

use crate::{EntityId, ProjectId};

/// How many kinds of records this version knows. A record of another kind is kept until a version knows it.
pub const RECORD_KINDS: u32 = 1;

/// A record, decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Something of the memory, or a change of it.
    Entry(Box<Entry>),
    /// Entities that were forgotten: the tombstone of each.
    Forgetting(Vec<EntityId>),
}

/// Something of the memory, at one version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// What it is a version of.
    pub entity: EntityId,
    /// 1 for the first. Of two records with the same entity the higher version counts.
    pub version: u32,
    /// The project.
    pub project: ProjectId,
    /// The name of the project where it was written.
    pub project_name: String,
    /// The session; `None` for a note that was made outside of any.
    pub session: Option<String>,
    /// When it was made, in milliseconds.
    pub at_ms: u64,
    /// The content.
    pub body: Body,
}

/// The content of an [`Entry`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "body", rename_all = "snake_case")]
pub enum Body {
    /// A prompt with its reply.
    Prompt(PromptBody),
    /// What a tool call did.
    Observation(ObservationBody),
    /// A note of a person.
    Note(ObservationBody),
    /// The summary of a session.
    Summary(SummaryBody),
    /// A bookmark.
    Bookmark(BookmarkBody),
}

/// A prompt with its reply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptBody {
    /// Its number in the session.
    pub number: i64,
    /// The id that the client gave it.
    pub prompt_id: Option<String>,
    /// What was asked.
    pub prompt: String,
    /// The replies; empty if there are none yet.
    pub reply: String,
}

/// What a tool call did, or a note.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ObservationBody {
    /// The number of the prompt in the session.
    pub prompt_number: i64,
    /// The id of the call; `None` for a note.
    pub tool_use_id: Option<String>,
    /// The kind of the observation.
    pub observed: String,
    /// The name of the tool.
    pub tool: String,
    /// It in one line.
    pub title: String,
    /// It in a few sentences.
    pub narrative: String,
    /// Facts.
    pub facts: Vec<String>,
    /// Files that were read.
    pub files_read: Vec<String>,
    /// Files that were changed.
    pub files_modified: Vec<String>,
    /// What makes two runs of a command the same.
    pub command_key: Option<String>,
    /// How often the call was repeated.
    pub repeats: i64,
    /// Who wrote it: `rule`, `model` or `person`.
    pub made_by: String,
    /// The raw input, if raw text is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The raw output, if raw text is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// The summary of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SummaryBody {
    /// The number of the last prompt that it covers.
    pub prompt_number: i64,
    /// What was asked for.
    pub request: String,
    /// What was looked at.
    pub investigated: String,
    /// What was learned.
    pub learned: String,
    /// What was done.
    pub completed: String,
    /// What is left to do.
    pub next_steps: String,
    /// Requests with their outcomes, as JSON.
    pub exchanges: Option<String>,
    /// Who wrote it: `rule`, `model` or `person`.
    pub made_by: String,
}

/// A bookmark. The folder in which it was set is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BookmarkBody {
    /// The id of the prompt in whose turn it was set.
    pub prompt_id: Option<String>,
    /// What the user wrote behind the marker.
    pub note: Option<String>,
    /// The commit that was checked out.
    pub git_commit: Option<String>,
    /// Whether there were uncommitted changes.
    pub git_dirty: Option<bool>,
    /// Tokens in the context at that time.
    pub context_tokens: Option<i64>,
}

/// Why a decrypted payload is not applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is of a kind that this version does not know.
    #[error("the record is of a kind that this version does not know: update longhaul")]
    UnknownKind,
    /// It is not a record.
    #[error("the record is not in the expected form")]
    Malformed,
}

impl Entry {
    /// Returns the first version of an entity.
    pub fn new(entity: EntityId, project: ProjectId, body: Body) -> Self {
        Self { entity, version: 1, project, project_name: String::new(), session: None, at_ms: 0, body }
    }
}
