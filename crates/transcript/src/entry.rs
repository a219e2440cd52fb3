//! An entry: one parsed line of the transcript, and who said it.

use std::borrow::Cow;

use longhaul_core::event::predicates::{INTERRUPTED, is_task_notification};
use longhaul_core::private_tags::strip;
use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rollout;

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

// The fields of the transcript's lines. Every field is optional; a line of another shape is not an entry.

/// A line. Large fields stay raw text until they are needed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryWire<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    logical_parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) timestamp: Option<&'a RawValue>,
    pub(crate) is_sidechain: Option<bool>,
    #[serde(borrow)]
    pub(crate) prompt_id: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_id: Option<Cow<'a, str>>,
    is_meta: Option<bool>,
    is_compact_summary: Option<bool>,
    is_visible_in_transcript_only: Option<bool>,
    is_api_error_message: Option<bool>,
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
    command_mode: Option<Cow<'a, str>>,
    #[serde(default)]
    is_meta: Option<bool>,
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

// The author of a user entry: the user, or Claude Code in the user's name.

/// The beginnings of texts that Claude Code adds to the conversation itself.
const NOTES: [&str; 8] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-prompt-submit-hook>",
    "Stop hook feedback:",
    "Caveat: The messages below were generated by the user while running local commands",
];

/// The beginning of a compaction's summary, in versions that do not flag it.
const SUMMARY: &str = "This session is being continued from a previous conversation";

/// The origin of the prompt that began a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PromptOrigin {
    /// The user's prompt.
    #[default]
    Person,
    /// The user's prompt, typed while a turn was running.
    Queued,
    /// A slash command; the prompt's text is the command as it was typed.
    Command,
    /// A shell command; the prompt's text is `!command`, as it was typed.
    Shell,
    /// A subagent that finished in the background.
    Task,
    /// Another origin: another session, a schedule, or one that this version does not know.
    Other,
}

impl PromptOrigin {
    /// Returns whether the user wrote the prompt.
    pub fn is_person(self) -> bool {
        match self {
            Self::Person | Self::Queued | Self::Command | Self::Shell => true,
            Self::Task | Self::Other => false,
        }
    }

    /// Returns the role under which the prompt is stored.
    pub fn role(self) -> &'static str {
        match self {
            Self::Person | Self::Queued => "user",
            Self::Command => "command",
            Self::Shell => "shell",
            Self::Task => "task",
            Self::Other => "other",
        }
    }
}

/// What the text of a user entry is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UserText {
    Prompt { origin: PromptOrigin, text: String },
    Interrupt,
    Summary,
    Note,
}

/// Returns what the text of a user entry is; `kind` is the sender that the entry names.
fn classify(text: &str, kind: Option<&str>) -> UserText {
    let start = text.trim_start();
    if is_interrupt(start) {
        return UserText::Interrupt;
    }
    if start.starts_with(SUMMARY) {
        return UserText::Summary;
    }
    if NOTES.iter().any(|note| start.starts_with(note)) || is_reminder(start) {
        return UserText::Note;
    }
    if is_task_notification(start) || kind == Some("task-notification") {
        return UserText::Prompt { origin: PromptOrigin::Task, text: text.to_owned() };
    }
    if kind.is_some_and(|kind| kind != "human") {
        return UserText::Prompt { origin: PromptOrigin::Other, text: text.to_owned() };
    }
    if start.starts_with("<command-name>") || start.starts_with("<command-message>") {
        return UserText::Prompt { origin: PromptOrigin::Command, text: command(start) };
    }
    if let Some(input) = between(start, "<bash-input>", "</bash-input>") {
        return UserText::Prompt { origin: PromptOrigin::Shell, text: format!("!{}", input.trim()) };
    }
    UserText::Prompt { origin: PromptOrigin::Person, text: text.to_owned() }
}

pub(crate) fn is_interrupt(text: &str) -> bool {
    text.trim_start().starts_with(INTERRUPTED)
}

/// Returns whether a text consists of system reminders only.
fn is_reminder(text: &str) -> bool {
    let mut rest = text.trim();
    let any = rest.starts_with("<system-reminder>");
    while let Some(inside) = rest.strip_prefix("<system-reminder>") {
        rest = inside.split_once("</system-reminder>").map_or("", |(_, after)| after.trim_start());
    }
    any && rest.is_empty()
}

/// Returns a slash command as it was typed.
fn command(text: &str) -> String {
    let part = |tag: &str| between(text, &format!("<{tag}>"), &format!("</{tag}>")).map_or("", str::trim);
    let name = match part("command-name") {
        "" => part("command-message"),
        name => name,
    };
    format!("/{} {}", name.trim_start_matches('/'), part("command-args")).trim_end().to_owned()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).map_or(rest, |(inside, _)| inside))
}

// The content of a message: a text, or a list of blocks.

/// Parses the content of a message. Blocks that are malformed or of an unknown type are left out.
pub(crate) fn blocks(content: Option<&RawValue>) -> Vec<Block> {
    let Some(content) = content else { return Vec::new() };
    if let Some(text) = read::<Cow<'_, str>>(Some(content)) {
        return vec![Block::Text(text.into_owned())];
    }
    let list: Vec<&RawValue> = read(Some(content)).unwrap_or_default();
    list.into_iter().filter_map(|raw| block(read(Some(raw))?)).collect()
}

fn block(wire: BlockWire<'_>) -> Option<Block> {
    Some(match wire.kind.as_deref()? {
        "text" => Block::Text(wire.text?.into_owned()),
        "thinking" => Block::Thinking(wire.thinking?.into_owned()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Block::Call {
            id: wire.id?.into_owned(),
            name: wire.name.unwrap_or_default().into_owned(),
            input: wire.input.map_or_else(String::new, |input| input.get().to_owned()),
        },
        // `tool_result`, and the results of tools that run on the server, such as `web_search_tool_result`.
        kind if kind.ends_with("tool_result") => Block::Output {
            id: wire.tool_use_id?.into_owned(),
            text: plain(wire.content),
            is_error: wire.is_error.unwrap_or(false),
        },
        "image" | "document" => {
            let media: Option<SourceWire<'_>> = read(wire.source);
            let media = media.and_then(|source| source.media_type).unwrap_or(wire.kind?);
            Block::Image { media: media.into_owned() }
        }
        _ => return None,
    })
}

/// Returns content as one text: blocks are joined by newlines, an image becomes `[image]`, anything else stays JSON.
pub(crate) fn plain(content: Option<&RawValue>) -> String {
    let Some(raw) = content else { return String::new() };
    if let Some(text) = read::<Cow<'_, str>>(Some(raw)) {
        return text.into_owned();
    }
    let list: Vec<&RawValue> = read(Some(raw)).unwrap_or_default();
    let parts: Vec<String> = list.into_iter().map(plain_part).collect();
    if parts.is_empty() && raw.get() != "[]" && raw.get() != "null" {
        return raw.get().to_owned();
    }
    parts.join("\n")
}

fn plain_part(raw: &RawValue) -> String {
    match read(Some(raw)).and_then(block) {
        Some(Block::Text(text) | Block::Thinking(text)) => text,
        // A block without a media type has its block type here.
        Some(Block::Image { media }) if media.contains('/') => format!("[image {media}]"),
        Some(Block::Image { media }) => format!("[{media}]"),
        Some(Block::Call { .. } | Block::Output { .. }) | None => raw.get().to_owned(),
    }
}

/// Returns the text blocks among `blocks`, joined by newlines.
pub(crate) fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking(_) | Block::Call { .. } | Block::Output { .. } | Block::Image { .. } => None,
        })
        .collect();
    texts.join("\n")
}

// The attachments that Claude Code writes for every hook that ran. They describe tools, not work, and most are about the
// plugin's own hooks.

/// The names of attachments that only record that a hook ran and how it ended. Text that a hook gave to the model, and
/// blocked calls, are not among them.
pub const HOOK_RECORDS: [&str; 8] = [
    "async_hook_response",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_stopped_continuation",
    "hook_success",
    "hook_system_message",
];

/// The name of the attachment with the text that a hook gave to the model.
const GIVEN: &str = "hook_additional_context";

/// Returns whether an attachment only records that a hook ran. Such attachments are neither stored nor shown.
///
/// An attachment whose text comes from the plugin's own hooks alone counts as such a record, too.
pub fn is_hook_record(name: &str, text: &str) -> bool {
    HOOK_RECORDS.contains(&name) || (name == GIVEN && given(text).trim().is_empty())
}

/// Returns the text that hooks gave to the model, without the text of the plugin's own hooks.
///
/// `text` is the text as the model saw it, or the attachment's JSON.
fn given(text: &str) -> String {
    let text = strip(text);
    let Ok(serde_json::Value::Object(attachment)) = serde_json::from_str(&text) else { return text };
    match attachment.get("content") {
        Some(serde_json::Value::Array(parts)) => parts.iter().filter_map(|part| part.as_str()).collect(),
        Some(serde_json::Value::String(part)) => part.clone(),
        Some(_) | None => text,
    }
}

// Detecting that the user pressed Esc. No hook reports it, the transcript shows it.

#[derive(Deserialize)]
struct KindWire<'a> {
    #[serde(rename = "type", borrow)]
    kind: &'a str,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
}

/// Returns whether the newest message of the main conversation records an interrupt.
///
/// For a rollout, returns whether its last turn was aborted. Incomplete lines and lines of other kinds are skipped.
pub fn ends_in_interrupt(tail: &[u8]) -> bool {
    let newest = tail.rsplit(|byte| *byte == b'\n').find(|line| {
        let entry = serde_json::from_slice::<KindWire<'_>>(line);
        entry.is_ok_and(|entry| matches!(entry.kind, "user" | "assistant") && !entry.is_sidechain)
    });
    match newest {
        Some(line) => line.windows(INTERRUPTED.len()).any(|window| window == INTERRUPTED.as_bytes()),
        None => rollout::ends_aborted(tail),
    }
}
