//! Codex's transcripts, called rollouts: one JSON object per line, `{"timestamp": …, "type": …, "payload": {…}}`.
//!
//! The conversation consists of `response_item`s. The events beside them mostly repeat it; only the others are read. Tool
//! calls are translated into the names of Claude Code's tools, so that readers of turns need not distinguish the two.

use std::borrow::Cow;
use std::path::Path;

use longhaul_core::hash::fnv1a;
use longhaul_core::{Millis, parse_timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::entry::{Block, Entry, EntryKind, PromptOrigin, read, trim};

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
            let (text, is_error) = output(payload.output);
            Some((EntryKind::Results, vec![Block::Output { id, text, is_error }]))
        }
        kind if kind.ends_with("_call") => {
            let (name, input) = input(kind, payload)?;
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

// The fields of a rollout's lines. Every field is optional.

#[derive(Deserialize)]
struct LineWire<'a> {
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ordinal: Option<&'a RawValue>,
}

/// The payload of an item or event: the fields of all types.
#[derive(Deserialize)]
struct PayloadWire<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    action: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    num_turns: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "internal_chat_message_metadata_passthrough")]
    passthrough: Option<PassthroughWire<'a>>,
}

impl PayloadWire<'_> {
    /// Returns the id of the turn that it belongs to.
    fn turn(&self) -> Option<&str> {
        let passed = self.passthrough.as_ref().and_then(|meta| meta.turn_id.as_deref());
        passed.or(self.turn_id.as_deref()).filter(|turn| !turn.is_empty())
    }
}

#[derive(Deserialize)]
struct PassthroughWire<'a> {
    #[serde(borrow, default)]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "content_item_kinds")]
    kinds: Option<Vec<Cow<'a, str>>>,
}

/// The payload of a compaction.
#[derive(Deserialize)]
struct CompactedWire<'a> {
    #[serde(borrow, default)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    replacement_history: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ContentWire<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct MetaWire<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thread_source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    history_base: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BaseWire<'a> {
    #[serde(borrow, default)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(default, rename = "end_ordinal_exclusive")]
    end: Option<u64>,
}

// Translating Codex's tool calls into Claude Code's names.

/// The maximum length of the header lines above a command's output, in characters.
const HEADER_CHARS: usize = 600;

/// Returns the tool's name and the input of a call as JSON text; `None` where the payload is not a call.
fn input(kind: &str, payload: &PayloadWire<'_>) -> Option<(String, String)> {
    let (name, input) = match kind {
        "function_call" | "custom_tool_call" | "tool_search_call" => {
            let name = payload.name.as_deref().unwrap_or(kind);
            let raw = payload.arguments.or(payload.input);
            (named(name, payload.namespace.as_deref()), arguments(raw))
        }
        "local_shell_call" => ("shell".to_owned(), payload.action.map_or(Value::Null, value)),
        "web_search_call" => ("WebSearch".to_owned(), payload.action.map_or(Value::Null, value)),
        other => (other.trim_end_matches("_call").to_owned(), Value::Null),
    };
    let (name, input) = translate(name, input);
    Some((name, input.to_string()))
}

/// Returns the name of a tool; for a tool of an MCP server, `mcp__server__tool`.
fn named(name: &str, namespace: Option<&str>) -> String {
    match namespace.and_then(|namespace| namespace.strip_prefix("mcp__")) {
        Some(server) => format!("mcp__{}__{name}", server.trim_end_matches('_')),
        None => name.to_owned(),
    }
}

/// Returns the arguments that the model wrote; usually they are JSON in a string.
fn arguments(raw: Option<&RawValue>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    match read::<Cow<'_, str>>(Some(raw)) {
        Some(text) => serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.into_owned())),
        None => value(raw),
    }
}

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn translate(name: String, input: Value) -> (String, Value) {
    match name.as_str() {
        "exec_command" | "shell" | "shell_command" | "container.exec" | "local_shell" => {
            let input = shell(&input);
            match patch_in(input["command"].as_str().unwrap_or_default()) {
                Some(patch) => ("apply_patch".to_owned(), json!({ "patch": patch })),
                None => ("Bash".to_owned(), input),
            }
        }
        "write_stdin" => ("BashOutput".to_owned(), json!({ "bash_id": text_of(&input["session_id"]) })),
        "apply_patch" => (name, json!({ "patch": patch(&input) })),
        "view_image" => ("Read".to_owned(), json!({ "file_path": input["path"] })),
        "update_plan" => ("TodoWrite".to_owned(), input),
        "request_user_input" => ("AskUserQuestion".to_owned(), input),
        _ => (name, input),
    }
}

fn shell(input: &Value) -> Value {
    let command = match input.get("cmd").or_else(|| input.get("command")) {
        Some(Value::Array(words)) => words_of(words),
        Some(command) => text_of(command),
        None => text_of(input),
    };
    let mut translated = Map::from_iter([("command".to_owned(), Value::from(command))]);
    let folder = input.get("workdir").or_else(|| input.get("working_directory"));
    translated.extend(folder.filter(|folder| folder.is_string()).map(|folder| ("workdir".to_owned(), folder.clone())));
    translated.into()
}

/// Returns the script that a shell is given to run, or else the command's words joined by spaces.
fn words_of(words: &[Value]) -> String {
    let words: Vec<String> = words.iter().map(text_of).collect();
    match words.as_slice() {
        [shell, flag, script] if shell.ends_with("sh") && matches!(flag.as_str(), "-c" | "-lc" | "-ic") => {
            script.clone()
        }
        words => words.join(" "),
    }
}

/// Returns the patch in a command that only applies it: Codex carries that out itself, without a shell.
fn patch_in(command: &str) -> Option<&str> {
    let rest = command.trim_start().strip_prefix("apply_patch")?;
    let patch = &rest[rest.find("*** Begin Patch")?..];
    let end = "*** End Patch";
    Some(patch.find(end).map_or(patch, |at| &patch[..at + end.len()]))
}

fn patch(input: &Value) -> String {
    let inside = ["input", "patch", "command"].iter().find_map(|key| input.get(key)).unwrap_or(input);
    match inside {
        Value::Array(words) => words.last().map(text_of).unwrap_or_default(),
        other => text_of(other),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}

/// Returns the output of a call, and whether the call failed.
fn output(raw: Option<&RawValue>) -> (String, bool) {
    let Some(raw) = raw else { return (String::new(), false) };
    if let Some(text) = read::<Cow<'_, str>>(Some(raw)) {
        return without_header(&text);
    }
    match value(raw) {
        Value::Array(parts) => (parts.iter().map(part).collect::<Vec<_>>().join("\n"), false),
        Value::Object(object) => {
            let is_error = object.get("success") == Some(&Value::Bool(false));
            let content = object.get("content").or_else(|| object.get("output"));
            (content.map_or_else(|| raw.get().to_owned(), text_of), is_error)
        }
        _ => (raw.get().to_owned(), false),
    }
}

fn part(part: &Value) -> String {
    match part.get("type").and_then(Value::as_str) {
        Some("input_image") => "[image]".to_owned(),
        _ => part.get("text").map_or_else(|| part.to_string(), text_of),
    }
}

/// Returns a command's output without the header that Codex writes above it, and whether the command failed.
///
/// A failed command's output begins with `Exit code N`, as in Claude Code.
fn without_header(text: &str) -> (String, bool) {
    if let Some((output, status)) = in_json(text) {
        return with_exit_code(&output, status);
    }
    let head: String = text.chars().take(HEADER_CHARS).collect();
    let is_header = ["Chunk ID: ", "Exit code: ", "Wall time: ", "Command: "].iter().any(|line| head.starts_with(line));
    let Some((header, _)) = head.split_once("Output:\n").filter(|_| is_header) else {
        return (text.to_owned(), false);
    };
    let status = header.lines().find_map(|line| {
        let status = line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))?;
        status.trim().parse().ok()
    });
    with_exit_code(&text[header.len() + "Output:\n".len()..], status.unwrap_or_default())
}

/// Parses the format of older versions, `{"output": …, "metadata": {"exit_code": …}}`.
fn in_json(text: &str) -> Option<(String, i64)> {
    let value: Value = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    let status = value.get("metadata")?.get("exit_code")?.as_i64()?;
    Some((value.get("output")?.as_str()?.to_owned(), status))
}

fn with_exit_code(output: &str, status: i64) -> (String, bool) {
    if status == 0 { (output.to_owned(), false) } else { (format!("Exit code {status}\n{output}"), true) }
}

// The context usage of a Codex session, from its `token_count` events.

#[derive(Deserialize)]
struct CountWire {
    #[serde(default)]
    timestamp: Option<String>,
    payload: CountPayloadWire,
}

#[derive(Deserialize)]
struct CountPayloadWire {
    #[serde(rename = "type")]
    kind: String,
    info: Option<InfoWire>,
}

#[derive(Deserialize)]
struct InfoWire {
    last_token_usage: TokensWire,
    #[serde(default)]
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct TokensWire {
    #[serde(default)]
    total_tokens: u64,
}

#[derive(Deserialize)]
struct ContextWire {
    #[serde(rename = "type")]
    kind: String,
    payload: ModelWire,
}

#[derive(Deserialize)]
struct ModelWire {
    model: String,
}

/// Returns the tokens in the context, the size of the window and the time in a `token_count` event.
///
/// Returns `None` for other lines, for an event without `info`, which only reports the account's limits, and for an event
/// with no tokens, which is written before the first reply.
pub(crate) fn token_count(line: &[u8]) -> Option<(u64, Option<u64>, Option<Millis>)> {
    let count: CountWire = serde_json::from_slice(line).ok()?;
    let info = count.payload.info.filter(|_| count.payload.kind == "token_count")?;
    let tokens = info.last_token_usage.total_tokens;
    let at = count.timestamp.as_deref().and_then(parse_timestamp);
    (tokens > 0).then_some((tokens, info.model_context_window, at))
}

/// Returns the model in a `turn_context` line.
pub(crate) fn model(line: &[u8]) -> Option<String> {
    let context: ContextWire = serde_json::from_slice(line).ok()?;
    (context.kind == "turn_context").then_some(context.payload.model)
}

// The ids in the name of a rollout's file.

/// The beginning of the name of a rollout's file.
const PREFIX: &str = "rollout-";

/// The length of a UUID.
const UUID_CHARS: usize = 36;

/// The ids in the name of a rollout's file: `rollout-TIME-SESSION.jsonl`, and after a rewind
/// `rollout-TIME-SESSION_ROLLOUT.jsonl`. A compressed file also has the extension `zst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RolloutName<'a> {
    /// Codex's id of the session.
    pub session: &'a str,
    /// The id of the rollout; for the first rollout of a session, that of the session.
    ///
    /// These ids begin with the time, so that their order is that in which the rollouts of a session were begun.
    pub rollout: &'a str,
}

impl<'a> RolloutName<'a> {
    /// Parses the name of the file at `path`; returns `None` where it is not that of a rollout.
    pub fn of(path: &'a Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix(PREFIX)?;
        let (first, later) = stem.split_once('_').map_or((stem, None), |(first, later)| (first, Some(later)));
        let session = first.get(first.len().checked_sub(UUID_CHARS)?..)?;
        Some(Self { session, rollout: later.unwrap_or(session) })
    }
}
