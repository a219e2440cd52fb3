//! The fields of the transcript's lines. Every field is optional; a line of another shape is not an entry.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A line. Large fields stay raw text until they are needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryWire<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) timestamp: Option<&'a RawValue>,
    pub(crate) is_sidechain: Option<bool>,
    #[serde(borrow)]
    pub(crate) prompt_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) agent_id: Option<Cow<'a, str>>,
    pub(crate) is_meta: Option<bool>,
    pub(crate) is_compact_summary: Option<bool>,
    pub(crate) is_visible_in_transcript_only: Option<bool>,
    pub(crate) is_api_error_message: Option<bool>,
    #[serde(borrow)]
    pub(crate) origin: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) rendered: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(crate) struct OriginWire<'a> {
    #[serde(borrow, default)]
    pub(crate) kind: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct MessageWire<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
}

/// A block of a message: the fields of all types.
#[derive(Deserialize)]
pub(crate) struct BlockWire<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) is_error: Option<bool>,
    #[serde(borrow, default)]
    pub(crate) source: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct SourceWire<'a> {
    #[serde(borrow, default)]
    pub(crate) media_type: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttachmentWire<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) prompt: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) command_mode: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) is_meta: Option<bool>,
    #[serde(borrow, default)]
    pub(crate) origin: Option<&'a RawValue>,
}

/// The form in which an attachment was shown to the model.
#[derive(Deserialize)]
pub(crate) struct RenderedWire<'a> {
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
}

/// Parses a raw value; returns `None` where it has another type.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}
