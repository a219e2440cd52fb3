//! The fields of a rollout's lines. Every field is optional.
//!
//! `rollout.rs` decides which kinds become entries of the conversation: `parse` by the type of a line, `item` and `event`
//! by the type of its payload.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct LineWire<'a> {
    #[serde(borrow, default)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) ordinal: Option<&'a RawValue>,
}

/// The payload of an item or event: the fields of all types.
#[derive(Deserialize)]
pub(super) struct PayloadWire<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) num_turns: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "internal_chat_message_metadata_passthrough")]
    pub(super) passthrough: Option<PassthroughWire<'a>>,
}

impl PayloadWire<'_> {
    /// Returns the id of the turn that it belongs to.
    pub(super) fn turn(&self) -> Option<&str> {
        let passed = self.passthrough.as_ref().and_then(|meta| meta.turn_id.as_deref());
        passed.or(self.turn_id.as_deref()).filter(|turn| !turn.is_empty())
    }
}

#[derive(Deserialize)]
pub(super) struct PassthroughWire<'a> {
    #[serde(borrow, default)]
    pub(super) turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "content_item_kinds")]
    pub(super) kinds: Option<Vec<Cow<'a, str>>>,
}

/// The payload of a compaction.
#[derive(Deserialize)]
pub(super) struct CompactedWire<'a> {
    #[serde(borrow, default)]
    pub(super) message: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) replacement_history: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct ContentWire<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct MetaWire<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) thread_source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) history_base: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct BaseWire<'a> {
    #[serde(borrow, default)]
    pub(super) thread_id: Option<Cow<'a, str>>,
    #[serde(default, rename = "end_ordinal_exclusive")]
    pub(super) end: Option<u64>,
}
