//! A record: its content, of which the engine sees nothing, as JSON; which JSON of another host is a record; and a
//! record as the engine stores it.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::bytes_of;
use crate::{EntityId, HostId, ProjectId, RecordId};

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
    /// What was observed, in one line.
    pub title: String,
    /// What was observed, in a few sentences.
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

/// The longest session id, in bytes.
const MAX_SESSION: usize = 200;

/// The longest id of a prompt or a tool call, in bytes.
const MAX_ID: usize = 500;

/// The highest version. The next one is computed from it, and must be a version too.
const MAX_VERSION: u32 = i32::MAX as u32;

/// The latest time: the end of the year 9999, in milliseconds.
const MAX_TIME_MS: u64 = 253_402_300_799_999;

/// The highest number of a prompt, and the highest count.
const MAX_NUMBER: i64 = u32::MAX as i64;

/// How many entities one tombstone names at most. A host writes far fewer at once.
const MAX_FORGOTTEN: usize = 1_000;

#[derive(Serialize)]
struct EntryOut<'a> {
    entity: EntityId,
    version: u32,
    project: EntityId,
    project_name: &'a str,
    session: Option<&'a str>,
    at_ms: u64,
    #[serde(flatten)]
    body: &'a Body,
}

#[derive(Serialize)]
struct ForgettingOut<'a> {
    kind: &'static str,
    body: &'a [EntityId],
}

/// The part that says what the rest is.
#[derive(Deserialize)]
struct KindIn<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

#[derive(Deserialize)]
struct ForgettingIn {
    body: Vec<EntityId>,
}

#[derive(Deserialize)]
struct EntryIn<B> {
    entity: EntityId,
    version: u32,
    project: EntityId,
    project_name: String,
    session: Option<String>,
    at_ms: u64,
    body: B,
}

impl Entry {
    /// Returns a hash of everything but the version: if it is the same, nothing has changed.
    pub fn digest(&self) -> [u8; 16] {
        bytes_of(&Sha256::digest(self.encode(0)))
    }

    fn encode(&self, version: u32) -> Vec<u8> {
        let out = EntryOut {
            entity: self.entity,
            version,
            project: EntityId::from_bytes(*self.project.as_bytes()),
            project_name: &self.project_name,
            session: self.session.as_deref(),
            at_ms: self.at_ms,
            body: &self.body,
        };
        serde_json::to_vec(&out).expect("a record has string keys only")
    }

    /// Returns whether every number, time and id is one that a host can have written.
    ///
    /// Others would overflow in a computation, or be refused by the database of each host that fetches them.
    fn is_within_limits(&self) -> bool {
        let has_session = match &self.body {
            // A note may be made outside of any session.
            Body::Note(_) => self.session.as_deref().is_none_or(is_session_id),
            _ => self.session.as_deref().is_some_and(is_session_id),
        };
        let is_number = |number: &i64| (0..=MAX_NUMBER).contains(number);
        let is_call = |body: &ObservationBody| {
            is_number(&body.prompt_number) && is_number(&body.repeats) && is_id(body.tool_use_id.as_deref())
        };
        let has_numbers = match &self.body {
            Body::Prompt(body) => is_number(&body.number) && is_id(body.prompt_id.as_deref()),
            Body::Observation(body) | Body::Note(body) => is_call(body),
            Body::Summary(body) => is_number(&body.prompt_number),
            Body::Bookmark(body) => {
                body.context_tokens.as_ref().is_none_or(is_number) && is_id(body.prompt_id.as_deref())
            }
        };
        has_session && has_numbers && (1..=MAX_VERSION).contains(&self.version) && self.at_ms <= MAX_TIME_MS
    }
}

impl Record {
    /// Returns it as JSON, to be encrypted.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Forgetting(entities) => {
                let out = ForgettingOut { kind: "forgetting", body: entities };
                serde_json::to_vec(&out).expect("a record has string keys only")
            }
            Self::Entry(entry) => entry.encode(entry.version),
        }
    }

    /// Reads what [`Self::encode`] has written, on this or another host. Unknown fields are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let KindIn { kind } = read(bytes)?;
        match &*kind {
            "forgetting" => {
                let ForgettingIn { body } = read(bytes)?;
                if body.len() > MAX_FORGOTTEN { Err(DecodeError::Malformed) } else { Ok(Self::Forgetting(body)) }
            }
            "prompt" => entry(bytes, Body::Prompt),
            "observation" => entry(bytes, Body::Observation),
            "note" => entry(bytes, Body::Note),
            "summary" => entry(bytes, Body::Summary),
            "bookmark" => entry(bytes, Body::Bookmark),
            _ => Err(DecodeError::UnknownKind),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map_err(|_| DecodeError::Malformed)
}

fn entry<B: DeserializeOwned>(bytes: &[u8], body: impl FnOnce(B) -> Body) -> Result<Record, DecodeError> {
    let read: EntryIn<B> = read(bytes)?;
    let entry = Entry {
        entity: read.entity,
        version: read.version,
        project: ProjectId::from_bytes(*read.project.as_bytes()),
        project_name: read.project_name,
        session: read.session,
        at_ms: read.at_ms,
        body: body(read.body),
    };
    if entry.is_within_limits() { Ok(Record::Entry(Box::new(entry))) } else { Err(DecodeError::Malformed) }
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

/// Returns whether a text may be the id of a prompt or a tool call. There may be none.
fn is_id(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.len() <= MAX_ID && !text.chars().any(char::is_control))
}

/// A record as the engine stores it: a header in clear text, and the encrypted payload.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedRecord {
    /// Its id.
    pub id: RecordId,
    /// The host that wrote it.
    pub host: HostId,
    /// Its number among the records of its host: 1 for the first, without gaps.
    pub idx: u64,
    /// When it was written, in milliseconds.
    pub time_ms: u64,
    /// The encrypted content. `None` if it was forgotten: the row stays, so that the numbers have no gap.
    pub payload: Option<Vec<u8>>,
}

impl SealedRecord {
    /// Returns a record without a payload.
    pub fn new(id: RecordId, host: HostId, idx: u64, time_ms: u64) -> Self {
        Self { id, host, idx, time_ms, payload: None }
    }

    /// Returns it with an encrypted payload.
    #[must_use]
    pub fn with_payload(self, payload: Option<Vec<u8>>) -> Self {
        Self { payload, ..self }
    }
}
