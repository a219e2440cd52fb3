//! Turns: a prompt and everything up to the next prompt.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use longhaul_core::Millis;

use crate::entry::{Block, Entry, EntryKind, PromptOrigin, is_interrupt};

/// The name of the attachment with a compaction's summary of the conversation before it.
pub const COMPACTED: &str = "compact_summary";

/// A turn, or the part of a turn that one read returned.
///
/// A prompt that is typed while the model works begins a turn of its own. So a rewind, which always goes to a prompt,
/// takes back whole turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Turn {
    /// The uuid of the entry that began the turn.
    pub id: String,
    /// Whether the turn began in this read; otherwise it continues a turn of an earlier read.
    pub begins: bool,
    /// The time at which the turn began, or of its first entry in this read.
    pub at: Option<Millis>,
    /// The origin of the prompt; `Person` where the prompt is in an earlier read.
    pub origin: PromptOrigin,
    /// The client's id of the prompt.
    pub prompt_id: Option<String>,
    /// The prompt.
    pub prompt: Option<SourcedText>,
    /// The model's replies, in their order.
    pub replies: Vec<SourcedText>,
    /// The model's thoughts, in their order.
    pub thinking: Vec<SourcedText>,
    /// The tool calls, in their order.
    pub calls: Vec<ToolCall>,
    /// The attachments: files, hook feedback, images (without data), compaction summaries.
    pub attachments: Vec<Attachment>,
    /// Whether the user interrupted the turn.
    pub interrupted: bool,
    /// The error message of the failed request that ended the turn.
    pub failure: Option<SourcedText>,
}

/// A text with the entry that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourcedText {
    /// An id that is unique in the turn: the entry's uuid, followed by `:n` for the entry's block `n` after the first.
    pub source: String,
    /// The time of the entry.
    pub at: Option<Millis>,
    /// The complete text.
    pub text: String,
}

/// A tool call. Its input and its output may be in different reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's `tool_use_id`.
    pub id: String,
    /// The time of the call, or else of its output.
    pub at: Option<Millis>,
    /// The tool's name.
    pub name: Option<String>,
    /// The input, as JSON text.
    pub input: Option<String>,
    /// The output, as text.
    pub output: Option<String>,
    /// The structured result, as JSON text; `None` where it is very long.
    pub result: Option<String>,
    /// Whether the call failed or was denied.
    pub is_error: bool,
}

/// An attachment to a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attachment {
    /// An id that is unique in the turn, like [`SourcedText::source`].
    pub source: String,
    /// The time of the entry.
    pub at: Option<Millis>,
    /// The name: `image`, `note`, `compact_summary`, or the client's name for it.
    pub name: String,
    /// The text; for an image its media type.
    pub text: String,
}

impl SourcedText {
    /// Returns `text` of the entry `source`.
    pub fn new(source: impl Into<String>, at: Option<Millis>, text: impl Into<String>) -> Self {
        Self { source: source.into(), at, text: text.into() }
    }
}

impl ToolCall {
    /// Returns the call with the `tool_use_id` `id`, of which nothing else is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

impl Attachment {
    /// Returns the attachment `name` of the entry `source`, without text and time.
    pub fn new(source: impl Into<String>, name: impl Into<String>) -> Self {
        Self { source: source.into(), at: None, name: name.into(), text: String::new() }
    }
}

impl Turn {
    /// Returns a turn that begins with the entry `id`, without a prompt and replies.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), begins: true, ..Self::default() }
    }

    pub(crate) fn begin(entry: &Entry) -> Self {
        Self { id: entry.uuid.clone(), begins: true, prompt_id: entry.prompt_id.clone(), ..Self::default() }
    }

    pub(crate) fn resume(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Returns the model's replies as one text, separated by empty lines.
    pub fn reply(&self) -> String {
        let texts: Vec<&str> =
            self.replies.iter().map(|said| said.text.trim()).filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }

    /// Adds the part of the turn that a later read returned. Parts that are already present are not added again.
    pub fn extend(&mut self, later: Self) {
        let mut seen: HashSet<String> = self.replies.iter().chain(&self.thinking).map(|s| s.source.clone()).collect();
        seen.extend(self.attachments.iter().map(|attachment| attachment.source.clone()));
        let mut new = |source: &str| seen.insert(source.to_owned());
        self.replies.extend(later.replies.into_iter().filter(|said| new(&said.source)));
        self.thinking.extend(later.thinking.into_iter().filter(|said| new(&said.source)));
        self.attachments.extend(later.attachments.into_iter().filter(|attachment| new(&attachment.source)));
        let mut known: HashMap<String, usize> =
            self.calls.iter().enumerate().map(|(index, call)| (call.id.clone(), index)).collect();
        for call in later.calls {
            self.add_call(&mut known, call);
        }
        if self.prompt.is_none() && later.prompt.is_some() {
            (self.prompt, self.origin) = (later.prompt, later.origin);
            self.prompt_id = later.prompt_id;
        }
        self.at = self.at.or(later.at);
        self.begins |= later.begins;
        self.interrupted |= later.interrupted;
        self.failure = later.failure.or(self.failure.take());
    }

    /// Adds a call, or completes the one with the same id. `known` has the index of each call by its id.
    fn add_call(&mut self, known: &mut HashMap<String, usize>, call: ToolCall) {
        let found = known.get(&call.id).and_then(|index| self.calls.get_mut(*index));
        let Some(earlier) = found else {
            known.insert(call.id.clone(), self.calls.len());
            self.calls.push(call);
            return;
        };
        earlier.at = earlier.at.or(call.at);
        earlier.name = earlier.name.take().or(call.name);
        earlier.input = earlier.input.take().or(call.input);
        earlier.output = earlier.output.take().or(call.output);
        earlier.result = earlier.result.take().or(call.result);
        earlier.is_error |= call.is_error;
    }

    /// Adds an entry of the main conversation.
    pub(crate) fn add(&mut self, entry: Entry, known: &mut HashMap<String, usize>) {
        let Entry { uuid, at, kind, blocks, mut result, .. } = entry;
        let is_reply = kind == EntryKind::Reply;
        self.at = self.at.or(at);
        let mut attach = |name: &str, text: String| {
            self.attachments.push(Attachment { source: uuid.clone(), at, name: name.to_owned(), text });
        };
        match kind {
            EntryKind::Prompt { origin, text } => {
                self.origin = origin;
                self.prompt = Some(SourcedText { source: uuid.clone(), at, text });
            }
            EntryKind::Failure(text) => self.failure = Some(SourcedText { source: uuid.clone(), at, text }),
            EntryKind::Interrupt => self.interrupted = true,
            EntryKind::Summary(text) => attach(COMPACTED, text),
            EntryKind::Note(text) => attach("note", text),
            EntryKind::Attachment { name, text } => attach(&name, text),
            EntryKind::Reply | EntryKind::Results | EntryKind::Other => {}
        }
        for (index, block) in blocks.into_iter().enumerate() {
            let source = if index == 0 { uuid.clone() } else { format!("{uuid}:{index}") };
            match block {
                Block::Text(text) if is_reply => self.replies.push(SourcedText { source, at, text }),
                Block::Text(text) if is_interrupt(&text) => self.interrupted = true,
                Block::Text(text) => self.attachments.push(Attachment { source, at, name: "note".to_owned(), text }),
                Block::Thinking(text) => self.thinking.push(SourcedText { source, at, text }),
                Block::Call { id, name, input } => {
                    let (name, input) = (Some(name), Some(input));
                    self.add_call(known, ToolCall { id, at, name, input, ..ToolCall::default() });
                }
                Block::Output { id, text, is_error } => {
                    let (output, result) = (Some(text), result.take());
                    self.add_call(known, ToolCall { id, at, output, result, is_error, ..ToolCall::default() });
                }
                Block::Image { media } => {
                    let source = format!("{source}:image");
                    self.attachments.push(Attachment { source, at, name: "image".to_owned(), text: media });
                }
            }
        }
    }
}

/// Adds the turns of a later read to `turns`, and joins a turn that continues with its earlier part.
pub fn merge_turns(turns: &mut Vec<Turn>, later: Vec<Turn>) {
    let mut known: HashMap<String, usize> =
        turns.iter().enumerate().map(|(index, turn)| (turn.id.clone(), index)).collect();
    for turn in later {
        match known.get(&turn.id).and_then(|index| turns.get_mut(*index)) {
            Some(earlier) => earlier.extend(turn),
            None => {
                known.insert(turn.id.clone(), turns.len());
                turns.push(turn);
            }
        }
    }
}

// The details of a turn, which are stored and shown on demand: tool calls, attachments, thoughts.

longhaul_core::named! {
    /// The kind of a detail.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum DetailKind {
        /// The input of a tool call.
        ToolInput = "tool_input",
        /// The output of a tool call.
        ToolOutput = "tool_output",
        /// An attachment, hook feedback, a compaction's summary, a failed request.
        System = "system",
        /// An image; only its media type is kept.
        Image = "image",
        /// A thought of the model.
        Thinking = "thinking",
    }
}

/// A detail of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detail<'a> {
    /// The kind.
    pub kind: DetailKind,
    /// An id that is unique in the session: the `tool_use_id` for an input, `<tool_use_id>:result` for an output, else
    /// the id of the source entry.
    pub source: Cow<'a, str>,
    /// The name of the tool or of the attachment; empty for the output of a call whose input an earlier read returned.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// The time of the entry.
    pub at: Option<Millis>,
    /// Whether the tool call failed or was denied.
    pub is_error: bool,
}

impl Turn {
    /// Returns the details of the turn: tool calls in their order, then attachments, the failure and thoughts.
    pub fn details(&self) -> impl Iterator<Item = Detail<'_>> {
        let attachments = self.attachments.iter().map(|Attachment { source, at, name, text }| {
            let kind = if name == "image" { DetailKind::Image } else { DetailKind::System };
            Detail { kind, source: source.into(), name, text, at: *at, is_error: false }
        });
        let failure = self.failure.iter().map(|failure| said(DetailKind::System, "failure", failure));
        let thinking = self.thinking.iter().map(|thought| said(DetailKind::Thinking, "thinking", thought));
        self.calls.iter().flat_map(call).chain(attachments).chain(failure).chain(thinking)
    }
}

fn call(call: &ToolCall) -> impl Iterator<Item = Detail<'_>> {
    let name = call.name.as_deref().unwrap_or_default();
    let (at, is_error) = (call.at, call.is_error);
    let input = call.input.as_deref().map(|text| {
        let source = Cow::Borrowed(call.id.as_str());
        Detail { kind: DetailKind::ToolInput, source, name, text, at, is_error }
    });
    let output = call.output.as_deref().map(|text| {
        let source = Cow::Owned(format!("{}:result", call.id));
        Detail { kind: DetailKind::ToolOutput, source, name, text, at, is_error }
    });
    input.into_iter().chain(output)
}

fn said<'a>(kind: DetailKind, name: &'a str, said: &'a SourcedText) -> Detail<'a> {
    Detail { kind, source: Cow::Borrowed(&said.source), name, text: &said.text, at: said.at, is_error: false }
}
