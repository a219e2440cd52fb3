//! The content of a record, and its encoding. The engine sees nothing of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ids::bytes_of;
use crate::{EntityId, ProjectId};

/// How many kinds of records this version knows. A record of another kind is kept until a version knows it.
pub const RECORD_KINDS: u32 = 1;

/// The longest session id.
const MAX_SESSION: usize = 200;

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

    /// Returns a hash of everything but the version: if it is the same, nothing has changed.
    pub fn digest(&self) -> [u8; 16] {
        let plain = Self { version: 0, ..self.clone() };
        bytes_of(&Sha256::digest(Record::Entry(Box::new(plain)).encode()))
    }
}

#[derive(Serialize, Deserialize)]
struct EntryWire {
    entity: EntityId,
    version: u32,
    project: EntityId,
    project_name: String,
    session: Option<String>,
    at_ms: u64,
    #[serde(flatten)]
    body: Body,
}

impl Record {
    /// Returns it as JSON, to be encrypted.
    pub fn encode(&self) -> Vec<u8> {
        let value = match self {
            Self::Forgetting(entities) => {
                serde_json::to_vec(&serde_json::json!({"kind": "forgetting", "body": entities}))
            }
            Self::Entry(entry) => serde_json::to_vec(&EntryWire {
                entity: entry.entity,
                version: entry.version,
                project: EntityId::from_bytes(*entry.project.as_bytes()),
                project_name: entry.project_name.clone(),
                session: entry.session.clone(),
                at_ms: entry.at_ms,
                body: entry.body.clone(),
            }),
        };
        value.expect("a record has string keys only")
    }

    /// Reads what [`Self::encode`] has written, on this or another host. Unknown fields are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| DecodeError::Malformed)?;
        match value["kind"].as_str() {
            Some("forgetting") => {
                let entities = serde_json::from_value(value["body"].clone()).map_err(|_| DecodeError::Malformed)?;
                Ok(Self::Forgetting(entities))
            }
            Some("prompt" | "observation" | "note" | "summary" | "bookmark") => {
                let wire: EntryWire = serde_json::from_value(value).map_err(|_| DecodeError::Malformed)?;
                wire.into_entry().map(|entry| Self::Entry(Box::new(entry)))
            }
            Some(_) => Err(DecodeError::UnknownKind),
            None => Err(DecodeError::Malformed),
        }
    }
}

impl EntryWire {
    fn into_entry(self) -> Result<Entry, DecodeError> {
        let has_session = match &self.body {
            // A note may be made outside of any session.
            Body::Note(_) => self.session.as_deref().is_none_or(is_session_id),
            _ => self.session.as_deref().is_some_and(is_session_id),
        };
        if !has_session || self.version == 0 || i64::try_from(self.at_ms).is_err() {
            return Err(DecodeError::Malformed);
        }
        Ok(Entry {
            entity: self.entity,
            version: self.version,
            project: ProjectId::from_bytes(*self.project.as_bytes()),
            project_name: self.project_name,
            session: self.session,
            at_ms: self.at_ms,
            body: self.body,
        })
    }
}

/// Returns whether a text is a session's id: another one could name a file elsewhere.
///
/// Before a colon is the name of an agent, which may be one that this version does not know.
fn is_session_id(text: &str) -> bool {
    let is_safe = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let (agent, own) = text.split_once(':').map_or((None, text), |(agent, own)| (Some(agent), own));
    text.len() <= MAX_SESSION && is_safe(own) && agent.is_none_or(is_safe)
}
