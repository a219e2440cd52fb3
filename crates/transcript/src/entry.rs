//! One line of the transcript, understood.

use std::borrow::Cow;

use longhaul_core::Millis;
use serde_json::value::RawValue;

use crate::classify::{PromptOrigin, UserText, classify, is_interrupt, is_reminder};
use crate::content::{blocks, plain, text_of};
use crate::hook_record::is_hook_record;
use crate::timestamp::parse_timestamp;
use crate::wire::{AttachmentWire, EntryWire, MessageWire, OriginWire, RenderedWire, read};

/// How long a tool's own result may be to be kept, in bytes. A longer one is a file or an image.
const RESULT_BYTES: usize = 256 * 1024;

/// The model that the client names when it wrote a reply itself.
const SYNTHETIC: &str = "<synthetic>";

/// Attachments that describe the client and not the work: the same in every session, and up to 20 KB each.
const FURNITURE: [&str; 11] = [
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

/// An entry: a line that has a uuid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's own id.
    pub uuid: String,
    /// The entry that it follows; after a compaction the one that it follows in the story.
    pub parent: Option<String>,
    /// When it was written.
    pub at: Option<Millis>,
    /// Whether it belongs to a subagent's conversation.
    pub sidechain: bool,
    /// The subagent whose entry it is.
    pub agent: Option<String>,
    /// The prompt for which it was written, by the client's own id.
    pub prompt_id: Option<String>,
    /// What a tool returned, in the tool's own shape, as JSON text; only where the entry holds one output.
    pub result: Option<String>,
    /// What it is.
    pub kind: EntryKind,
    /// What it holds; for a prompt the text is in `kind`, and only images are here.
    pub blocks: Vec<Block>,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A prompt: a turn begins.
    Prompt {
        /// Who asked.
        origin: PromptOrigin,
        /// What was asked.
        text: String,
    },
    /// The model's reply, or a part of it.
    Reply,
    /// A failed request, told by the client in the model's name.
    Failure(String),
    /// What tools returned.
    Results,
    /// The user stopped the turn.
    Interrupt,
    /// A compaction's summary.
    Summary(String),
    /// The client's own words in a user's or the model's name: hook feedback, a command's output, an expanded skill.
    Note(String),
    /// Something put beside the conversation: its name and its text.
    Attachment {
        /// Its type, such as `file` or `hook_additional_context`.
        name: String,
        /// What the model was shown of it, or else its JSON.
        text: String,
    },
    /// Anything else: only a link between others.
    Other,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(String),
    /// What the model thought.
    Thinking(String),
    /// A tool call, with its input as JSON text.
    Call {
        /// The call's `tool_use_id`.
        id: String,
        /// The tool.
        name: String,
        /// The input.
        input: String,
    },
    /// What a call returned, as text.
    Output {
        /// The call's `tool_use_id`.
        id: String,
        /// The output.
        text: String,
        /// Whether the call failed or was refused.
        is_error: bool,
    },
    /// An image or a document; only what it is, never the data.
    Image {
        /// The media type, such as `image/png`.
        media: String,
    },
}

impl Entry {
    /// Reads a line; `None` where it is no JSON object with a uuid.
    ///
    /// Bytes that are not UTF-8 become U+FFFD; NUL bytes around the object, as a crash leaves them, are passed over.
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

/// Returns a tool's own result where it is clear whose it is.
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
        // An interrupt is the user's act even where the client marks its trace as its own.
        return if is_interrupt(&text) { (EntryKind::Interrupt, Vec::new()) } else { note(text) };
    }
    blocks.retain(|block| matches!(block, Block::Image { .. }));
    if text.trim().is_empty() && blocks.is_empty() {
        return (EntryKind::Other, blocks);
    }
    (written(classify(&text, sender(wire.origin).as_deref()), text), blocks)
}

fn written(written: UserText, text: String) -> EntryKind {
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
    if FURNITURE.contains(&name.as_ref()) {
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

/// Reads what was typed, or came in, while a turn was running: the client writes no user entry for it.
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
        other => written(other, text),
    };
    (kind, blocks)
}
