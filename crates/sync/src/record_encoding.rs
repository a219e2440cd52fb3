//! A record as JSON, and which JSON of another host is a record.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::bytes_of;
use crate::{Body, DecodeError, EntityId, Entry, ObservationBody, ProjectId, Record};

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
