//! An entry: one parsed line of the transcript.

use std::borrow::Cow;

use longhaul_core::{Millis, parse_timestamp};
use serde_json::value::RawValue;

use crate::classify::{PromptOrigin, UserText, classify, is_interrupt, is_reminder};
use crate::content::{blocks, plain, text_of};
use crate::hook_record::is_hook_record;
use crate::wire::{AttachmentWire, EntryWire, MessageWire, OriginWire, RenderedWire, read};

/// The maximum size of a tool's structured result, in bytes. A larger one, which is a file or an image, is not kept.
const RESULT_BYTES: usize = 256 * 1024;

/// The model name of replies that Claude Code wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// The names of attachments that describe Claude Code itself. They are the same in every session, and up to 20 KB each.
const BOILERPLATE: [&str; 11] = [
    "agent_listing_delta",
    "auto_mode",
    "date",
    "deferred_tools_delta",
    "environment",
    "mcp_instructions_delta",
    "model",
    "prompt_snapshot",
    "remote_session_change",
    "session_context",
    "skill_listing",
];

/// An entry of the transcript: a line that has a uuid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The entry's id.
    pub uuid: String,
    /// The id of the entry that it follows; after a compaction, the one that it logically follows.
    pub parent: Option<String>,
    /// The time at which it was written.
    pub at: Option<Millis>,
    /// Whether it belongs to a subagent's conversation.
    pub sidechain: bool,
    /// The id of the subagent that it belongs to.
    pub agent: Option<String>,
    /// Claude Code's id of the prompt for which it was written.
    pub prompt_id: Option<String>,
    /// The structured result of a tool, as JSON text; only where the entry has exactly one output.
    pub result: Option<String>,
    /// The kind of entry.
    pub kind: EntryKind,
    /// The blocks of the message. For a prompt only its images: the text is in `kind`.
    pub blocks: Vec<Block>,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A prompt, which begins a turn.
    Prompt {
        /// Who wrote it.
        origin: PromptOrigin,
        /// The text of the prompt.
        text: String,
    },
    /// A reply of the model, or a part of one.
    Reply,
    /// The error message of a failed request, which Claude Code writes in the model's name.
    Failure(String),
    /// The outputs of tool calls.
    Results,
    /// The user stopped the turn.
    Interrupt,
    /// A compaction's summary.
    Summary(String),
    /// Text that Claude Code writes in the user's or the model's name: hook feedback, a command's output, a skill.
    Note(String),
    /// An attachment to the conversation.
    Attachment {
        /// Its type, such as `file` or `hook_additional_context`.
        name: String,
        /// The text that was shown to the model, or else the attachment's JSON.
        text: String,
    },
    /// Any other entry, which only links others.
    Other,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block {
    /// A text.
    Text(String),
    /// A thought of the model.
    Thinking(String),
    /// A tool call, with its input as JSON text.
    Call {
        /// The call's `tool_use_id`.
        id: String,
        /// The tool's name.
        name: String,
        /// The input.
        input: String,
    },
    /// The output of a tool call, as text.
    Output {
        /// The call's `tool_use_id`.
        id: String,
        /// The output.
        text: String,
        /// Whether the call failed or was denied.
        is_error: bool,
    },
    /// An image or a document, without its data.
    Image {
        /// The media type, such as `image/png`.
        media: String,
    },
}

impl Entry {
    /// Parses a line; returns `None` where it is not a JSON object with a uuid.
    ///
    /// Bytes that are not UTF-8 become U+FFFD. NUL bytes around the object, which a crash can leave, are skipped.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let line = trim(line);
        let text = String::from_utf8_lossy(line);
        let wire: EntryWire<'_> = serde_json::from_str(&text).ok()?;
        let uuid = wire.uuid.as_deref().filter(|uuid| !uuid.is_empty())?.to_owned();
        let timestamp: Option<Cow<'_, str>> = read(wire.timestamp);
        let (kind, blocks) = match wire.kind.as_deref() {
            Some("user") => user(&wire),
            Some("assistant") => assistant(&wire),
            Some("attachment") => attachment(&wire),
            _ => (EntryKind::Other, Vec::new()),
        };
        Some(Self {
            uuid,
            parent: wire.parent_uuid.or(wire.logical_parent_uuid).map(Cow::into_owned),
            at: timestamp.as_deref().and_then(parse_timestamp),
            sidechain: wire.is_sidechain.unwrap_or(false),
            agent: wire.agent_id.map(Cow::into_owned),
            prompt_id: read::<Cow<'_, str>>(wire.prompt_id).map(Cow::into_owned).filter(|id| !id.is_empty()),
            result: result(wire.tool_use_result, &blocks),
            kind,
            blocks,
        })
    }
}

/// Returns the structured result where it is clear which output it belongs to.
fn result(raw: Option<&RawValue>, blocks: &[Block]) -> Option<String> {
    let outputs = blocks.iter().filter(|block| matches!(block, Block::Output { .. })).count();
    let raw = raw.map(RawValue::get).filter(|raw| outputs == 1 && raw.len() <= RESULT_BYTES && *raw != "null");
    raw.map(str::to_owned)
}

pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let start = line.iter().position(|byte| !blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &line[start..end]
}

fn user(wire: &EntryWire<'_>) -> (EntryKind, Vec<Block>) {
    let Some(message) = read::<MessageWire<'_>>(wire.message) else { return (EntryKind::Other, Vec::new()) };
    let mut blocks = blocks(message.content);
    blocks.retain(|block| !matches!(block, Block::Text(text) if is_reminder(text)));
    if blocks.iter().any(|block| matches!(block, Block::Output { .. })) {
        return (EntryKind::Results, blocks);
    }
    let text = text_of(&blocks);
    if wire.is_compact_summary == Some(true) {
        return (EntryKind::Summary(text), Vec::new());
    }
    if wire.is_meta == Some(true) || wire.is_visible_in_transcript_only == Some(true) {
        // The user caused the interrupt, even where Claude Code marks the entry as its own.
        return if is_interrupt(&text) { (EntryKind::Interrupt, Vec::new()) } else { note(text) };
    }
    blocks.retain(|block| matches!(block, Block::Image { .. }));
    if text.trim().is_empty() && blocks.is_empty() {
        return (EntryKind::Other, blocks);
    }
    (kind_of(classify(&text, sender(wire.origin).as_deref()), text), blocks)
}

fn kind_of(written: UserText, text: String) -> EntryKind {
    match written {
        UserText::Prompt { origin, text } => EntryKind::Prompt { origin, text },
        UserText::Interrupt => EntryKind::Interrupt,
        UserText::Summary => EntryKind::Summary(text),
        UserText::Note => EntryKind::Note(text),
    }
}

fn note(text: String) -> (EntryKind, Vec<Block>) {
    let kind = if text.trim().is_empty() { EntryKind::Other } else { EntryKind::Note(text) };
    (kind, Vec::new())
}

fn sender<'a>(origin: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    read::<OriginWire<'_>>(origin).and_then(|origin| origin.kind)
}

fn assistant(wire: &EntryWire<'_>) -> (EntryKind, Vec<Block>) {
    let Some(message) = read::<MessageWire<'_>>(wire.message) else { return (EntryKind::Other, Vec::new()) };
    let blocks = blocks(message.content);
    if wire.is_api_error_message == Some(true) {
        return (EntryKind::Failure(text_of(&blocks)), Vec::new());
    }
    if message.model.as_deref() == Some(SYNTHETIC) {
        return note(text_of(&blocks));
    }
    (EntryKind::Reply, blocks)
}

fn attachment(wire: &EntryWire<'_>) -> (EntryKind, Vec<Block>) {
    let other = (EntryKind::Other, Vec::new());
    let Some(attachment) = read::<AttachmentWire<'_>>(wire.attachment) else { return other };
    let name = attachment.kind.clone().unwrap_or_default();
    if name == "queued_command" {
        return queued(&attachment);
    }
    if BOILERPLATE.contains(&name.as_ref()) {
        return other;
    }
    let rendered: Vec<RenderedWire<'_>> = read(wire.rendered).unwrap_or_default();
    let shown: Vec<String> = rendered.iter().map(|part| plain(part.content)).collect();
    let text = match shown.join("\n") {
        text if text.is_empty() => wire.attachment.map_or_else(String::new, |raw| raw.get().to_owned()),
        text => text,
    };
    if is_hook_record(&name, &text) {
        return other;
    }
    (EntryKind::Attachment { name: name.into_owned(), text }, Vec::new())
}

/// Returns a prompt that arrived while a turn was running. Claude Code writes no user entry for it.
fn queued(attachment: &AttachmentWire<'_>) -> (EntryKind, Vec<Block>) {
    let mut blocks = blocks(attachment.prompt);
    let text = text_of(&blocks);
    if attachment.is_meta == Some(true) {
        return note(text);
    }
    blocks.retain(|block| matches!(block, Block::Image { .. }));
    let mode = attachment.command_mode.as_deref().filter(|mode| *mode != "prompt");
    let kind = match classify(&text, sender(attachment.origin).as_deref().or(mode)) {
        UserText::Prompt { origin: PromptOrigin::Person, text } => {
            EntryKind::Prompt { origin: PromptOrigin::Queued, text }
        }
        other => kind_of(other, text),
    };
    (kind, blocks)
}
