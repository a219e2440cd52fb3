//! Codex's transcripts, called rollouts: one JSON object per line, `{"timestamp": …, "type": …, "payload": {…}}`.
//!
//! The conversation consists of `response_item`s. The events beside them mostly repeat it; only the others are read. Tool
//! calls are translated into the names of Claude Code's tools, so that readers of turns need not distinguish the two.

mod call;
mod file_name;
mod usage;
mod wire;

use longhaul_core::hash::fnv1a;
use longhaul_core::parse_timestamp;

use crate::classify::PromptOrigin;
use crate::entry::{Block, Entry, EntryKind, trim};
use crate::wire::read;

pub use self::file_name::RolloutName;
pub(crate) use self::usage::{model, token_count};
use self::wire::{BaseWire, CompactedWire, ContentWire, LineWire, MetaWire, PayloadWire};

/// The beginnings of texts that Codex adds to the conversation in the user's name.
const BOILERPLATE: [&str; 9] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skill>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<subagent_notification>",
    "<hook_prompt",
    "# AGENTS.md instructions",
];

/// The beginning of the text that records an interrupt.
const ABORTED: &str = "<turn_aborted>";

/// The beginning of a shell command that the user ran in the input.
const SHELL: &str = "<user_shell_command>";

/// The minimum length of a random id, in characters. Shorter ids are counters, which repeat in other sessions.
const UNIQUE_CHARS: usize = 16;

/// The type of the line that records a compaction, and the number of bytes of a line in which it is looked for.
const COMPACTED: &[u8] = b"\"compacted\"";
const LINE_START: usize = 200;

/// A line of a rollout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RolloutLine {
    /// An entry of the conversation. It follows the entry before it in the file.
    Entry(Box<Entry>),
    /// The last turns of the conversation, this many, are taken back.
    RolledBack(usize),
    /// Any other line.
    Other,
}

/// The description of the session in the first line of a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionMeta {
    /// Codex's id of the session.
    pub id: String,
    /// The folder in which the session was started.
    pub cwd: Option<String>,
    /// The time at which the session was started.
    pub at: Option<longhaul_core::Millis>,
    /// Whether a subagent runs in it, not the user.
    pub is_subagent: bool,
    /// Where the conversation continues an earlier rollout; `None` where it begins in this one.
    pub base: Option<HistoryBase>,
}

/// The part of an earlier rollout that a rollout continues. Codex writes one when the user goes back to an earlier prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryBase {
    /// The id of the earlier rollout; that of the session, if it is the first one.
    pub rollout: String,
    /// The number of the first line of the earlier rollout that is no longer part of the conversation.
    pub end: u64,
}

/// Returns the number of a line of a rollout, which later rollouts of the session continue; `None` in older versions.
pub fn line_number(line: &[u8]) -> Option<u64> {
    let wire: LineWire<'_> = serde_json::from_slice(trim(line)).ok()?;
    read(wire.ordinal)
}

impl SessionMeta {
    /// Parses a line of a rollout; returns `None` where it does not describe the session.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(trim(line));
        let wire: LineWire<'_> = serde_json::from_str(&text).ok()?;
        if wire.kind.as_deref() != Some("session_meta") {
            return None;
        }
        let meta: MetaWire<'_> = read(wire.payload)?;
        let named = |raw: Option<&serde_json::value::RawValue>| raw.is_some_and(|raw| raw.get().contains("subagent"));
        Some(Self {
            id: meta.id?.into_owned(),
            cwd: meta.cwd.map(|cwd| cwd.into_owned()).filter(|cwd| !cwd.is_empty()),
            at: read::<std::borrow::Cow<'_, str>>(wire.timestamp).as_deref().and_then(parse_timestamp),
            is_subagent: named(meta.source) || named(meta.thread_source),
            base: read::<BaseWire<'_>>(meta.history_base)
                .and_then(|base| Some(HistoryBase { rollout: base.thread_id?.into_owned(), end: base.end? })),
        })
    }
}

/// What the model is shown of a conversation after a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compacted {
    /// The summary; empty where only the model can read it.
    pub summary: String,
    /// The user's prompts that are kept beside it.
    pub prompts: Vec<String>,
}

impl Compacted {
    /// Returns the newest compaction at the end of a rollout.
    pub fn newest(tail: &[u8]) -> Option<Self> {
        // The type is one of the first members. Most lines are no compaction, and long.
        let begins_so = |line: &&[u8]| {
            let start = &line[..line.len().min(LINE_START)];
            start.windows(COMPACTED.len()).any(|word| word == COMPACTED)
        };
        tail.rsplit(|byte| *byte == b'\n').filter(begins_so).find_map(Self::parse)
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let wire: LineWire<'_> = serde_json::from_slice(trim(line)).ok()?;
        let payload: CompactedWire<'_> = read(wire.payload.filter(|_| wire.kind.as_deref() == Some("compacted")))?;
        let kept = payload.replacement_history.unwrap_or_default();
        let kept = kept.into_iter().filter_map(|item| read::<PayloadWire<'_>>(Some(item)));
        let is_said = |item: &PayloadWire<'_>| item.role.as_deref() == Some("user");
        Some(Self {
            summary: payload.message.unwrap_or_default().into_owned(),
            prompts: kept.filter(is_said).map(|item| texts(item.content).join("\n")).collect(),
        })
    }
}

/// Parses a line; returns `None` where it is not a line of a rollout.
pub(crate) fn parse(line: &[u8]) -> Option<RolloutLine> {
    let text = String::from_utf8_lossy(trim(line));
    let wire: LineWire<'_> = serde_json::from_str(&text).ok()?;
    let (kind, raw) = (wire.kind.as_deref()?, wire.payload?);
    let Some(payload) = read::<PayloadWire<'_>>(Some(raw)) else { return Some(RolloutLine::Other) };
    if kind == "event_msg" && payload.kind.as_deref() == Some("thread_rolled_back") {
        return Some(read(payload.num_turns).map_or(RolloutLine::Other, RolloutLine::RolledBack));
    }
    let (kind, blocks) = match kind {
        "response_item" => item(&payload),
        "event_msg" => event(&payload),
        "compacted" => summary(&payload),
        _ => None,
    }
    .unwrap_or((EntryKind::Other, Vec::new()));
    if kind == EntryKind::Other {
        return Some(RolloutLine::Other);
    }
    let timestamp = read::<std::borrow::Cow<'_, str>>(wire.timestamp);
    let id = payload.id.as_deref().filter(|id| id.len() >= UNIQUE_CHARS);
    // A line without an id of its own is identified by its time and content.
    let uuid = id.map_or_else(
        || format!("{}#{:016x}", timestamp.as_deref().unwrap_or_default(), fnv1a(raw.get().bytes())),
        str::to_owned,
    );
    Some(RolloutLine::Entry(Box::new(Entry {
        uuid,
        parent: None,
        at: timestamp.as_deref().and_then(parse_timestamp),
        sidechain: false,
        agent: None,
        prompt_id: payload.turn().map(str::to_owned),
        result: None,
        kind,
        blocks,
    })))
}

/// How a turn of Codex goes, by the newest event about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEvent {
    Started,
    Completed,
    Aborted,
}

/// Returns whether the newest turn at the end of a rollout was aborted.
pub(crate) fn ends_aborted(tail: &[u8]) -> bool {
    newest_turn_event(tail) == Some(TurnEvent::Aborted)
}

/// Returns whether the newest turn at the end of a rollout is over. The Stop hook runs before that.
pub fn is_turn_over(tail: &[u8]) -> bool {
    matches!(newest_turn_event(tail), Some(TurnEvent::Completed | TurnEvent::Aborted))
}

fn newest_turn_event(tail: &[u8]) -> Option<TurnEvent> {
    let turn_event = |line: &[u8]| {
        let wire: LineWire<'_> =
            serde_json::from_slice(line).ok().filter(|wire: &LineWire<'_>| wire.payload.is_some())?;
        let payload: PayloadWire<'_> = read(wire.payload.filter(|_| wire.kind.as_deref() == Some("event_msg")))?;
        match payload.kind.as_deref()? {
            "turn_aborted" => Some(TurnEvent::Aborted),
            "task_started" | "turn_started" => Some(TurnEvent::Started),
            "task_complete" | "turn_complete" => Some(TurnEvent::Completed),
            _ => None,
        }
    };
    tail.rsplit(|byte| *byte == b'\n').find_map(turn_event)
}

type Parsed = Option<(EntryKind, Vec<Block>)>;

fn item(payload: &PayloadWire<'_>) -> Parsed {
    match payload.kind.as_deref()? {
        "message" => message(payload),
        "reasoning" => {
            let parts = [payload.summary, payload.content].into_iter().flat_map(|raw| texts(raw));
            let thoughts: Vec<Block> = parts.filter(|text| !text.trim().is_empty()).map(Block::Thinking).collect();
            (!thoughts.is_empty()).then_some((EntryKind::Reply, thoughts))
        }
        kind if kind.ends_with("_call_output") || kind == "tool_search_output" => {
            let id = call_id(payload)?;
            let (text, is_error) = call::output(payload.output);
            Some((EntryKind::Results, vec![Block::Output { id, text, is_error }]))
        }
        kind if kind.ends_with("_call") => {
            let (name, input) = call::input(kind, payload)?;
            let id = call_id(payload)?;
            Some((EntryKind::Reply, vec![Block::Call { id, name, input }]))
        }
        _ => None,
    }
}

/// Returns the id of a tool call; where it is a counter, with the id of the turn before it.
fn call_id(payload: &PayloadWire<'_>) -> Option<String> {
    let id = payload.call_id.as_deref().or(payload.id.as_deref()).filter(|id| !id.is_empty())?;
    match payload.turn().filter(|_| id.len() < UNIQUE_CHARS) {
        Some(turn) => Some(format!("{turn}/{id}")),
        None => Some(id.to_owned()),
    }
}

fn message(payload: &PayloadWire<'_>) -> Parsed {
    let parts: Vec<ContentWire<'_>> = read(payload.content).unwrap_or_default();
    let text = texts(payload.content).join("\n");
    match payload.role.as_deref()? {
        "assistant" => (!text.trim().is_empty()).then(|| (EntryKind::Reply, vec![Block::Text(text)])),
        "user" => {
            let is_image = |part: &&ContentWire<'_>| part.kind.as_deref() == Some("input_image");
            let image = || Block::Image { media: "image".to_owned() };
            let images: Vec<Block> = parts.iter().filter(is_image).map(|_| image()).collect();
            let kind = written(&text, payload, images.is_empty())?;
            Some((kind, images))
        }
        _ => None,
    }
}

/// Returns what a text in the user's name is; `None` for text that is not part of the conversation.
fn written(text: &str, payload: &PayloadWire<'_>, is_alone: bool) -> Option<EntryKind> {
    let start = text.trim_start();
    if start.starts_with(ABORTED) {
        return Some(EntryKind::Interrupt);
    }
    if let Some(command) = start.strip_prefix(SHELL) {
        let command = between(command, "<command>", "</command>").unwrap_or(command);
        return Some(EntryKind::Prompt { origin: PromptOrigin::Shell, text: format!("!{}", command.trim()) });
    }
    // Newer versions name the kind of each part.
    let kinds = payload.passthrough.as_ref().and_then(|meta| meta.kinds.as_deref()).unwrap_or_default();
    let is_from_user = kinds.iter().any(|kind| kind.starts_with("user."));
    let is_boilerplate = if kinds.is_empty() || kinds.iter().all(|kind| kind == "unknown") {
        BOILERPLATE.iter().any(|beginning| start.starts_with(beginning))
    } else {
        !is_from_user
    };
    if is_boilerplate || (start.is_empty() && is_alone) {
        return None;
    }
    Some(EntryKind::Prompt { origin: PromptOrigin::Person, text: text.to_owned() })
}

fn event(payload: &PayloadWire<'_>) -> Parsed {
    let kind = match payload.kind.as_deref()? {
        "turn_aborted" => EntryKind::Interrupt,
        "error" => EntryKind::Failure(read::<String>(payload.message)?),
        _ => return None,
    };
    Some((kind, Vec::new()))
}

fn summary(payload: &PayloadWire<'_>) -> Parsed {
    let text = read::<String>(payload.message).filter(|text| !text.trim().is_empty())?;
    Some((EntryKind::Summary(text), Vec::new()))
}

/// Returns the texts in a list of parts; none where `raw` is not such a list.
fn texts(raw: Option<&serde_json::value::RawValue>) -> Vec<String> {
    let parts: Vec<ContentWire<'_>> = read(raw).unwrap_or_default();
    parts.into_iter().filter_map(|part| Some(part.text?.into_owned())).collect()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside)
}
