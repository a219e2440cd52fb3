//! Turns: what was asked, and everything up to the next prompt.

use std::collections::{HashMap, HashSet};

use longhaul_core::Millis;

use crate::classify::{PromptOrigin, is_interrupt};
use crate::entry::{Block, Entry, EntryKind};

/// The name of the attachment in which a compaction sums up all that came before.
pub const COMPACTED: &str = "compact_summary";

/// A prompt and what followed it, or as much of it as one read brought.
///
/// A prompt typed in the middle of the model's work begins a turn of its own, so that a rewind, which always goes to a
/// prompt, takes back whole turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The uuid of the entry that began it.
    pub id: String,
    /// Whether it began in this read; otherwise it continues one that an earlier read began.
    pub begins: bool,
    /// When it began, or its first entry in this read.
    pub at: Option<Millis>,
    /// Who asked; `Person` where that is in an earlier read.
    pub origin: PromptOrigin,
    /// The client's own id of the prompt.
    pub prompt_id: Option<String>,
    /// What was asked.
    pub prompt: Option<SourcedText>,
    /// What the model said, in order.
    pub replies: Vec<SourcedText>,
    /// What the model thought.
    pub thinking: Vec<SourcedText>,
    /// What it did.
    pub calls: Vec<ToolCall>,
    /// What was put beside it: files, hook feedback, images (as a mark), compaction summaries.
    pub attachments: Vec<Attachment>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// The failed request that ended it.
    pub failure: Option<SourcedText>,
}

/// A text, and the entry that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedText {
    /// Unique in its turn: the entry's uuid, with `:n` behind it for the entry's further blocks.
    pub source: String,
    /// When.
    pub at: Option<Millis>,
    /// The text, whole.
    pub text: String,
}

/// A tool call: what went in and what came out, either of which may be in another read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The client's `tool_use_id`.
    pub id: String,
    /// When it was made, or else when it returned.
    pub at: Option<Millis>,
    /// The tool.
    pub name: Option<String>,
    /// The input, as JSON text.
    pub input: Option<String>,
    /// The output, as text.
    pub output: Option<String>,
    /// The output in the tool's own shape, as JSON text; not where that is very long.
    pub result: Option<String>,
    /// Whether it failed or was refused.
    pub is_error: bool,
}

/// Something beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Unique in its turn, like [`Said::source`].
    pub source: String,
    /// When.
    pub at: Option<Millis>,
    /// What it is: `image`, `note`, `compact_summary`, or the client's name for it.
    pub name: String,
    /// Its text; for an image only its media type.
    pub text: String,
}

impl Turn {
    pub(crate) fn begin(entry: &Entry) -> Self {
        Self {
            id: entry.uuid.clone(),
            begins: true,
            at: entry.at,
            prompt_id: entry.prompt_id.clone(),
            ..Self::default()
        }
    }

    pub(crate) fn resume(id: String, at: Option<Millis>) -> Self {
        Self { id, at, ..Self::default() }
    }

    /// Returns everything that the model said, paragraphs between.
    pub fn reply(&self) -> String {
        let texts: Vec<&str> =
            self.replies.iter().map(|said| said.text.trim()).filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }

    /// Adds what a later read brought; what is already there stays once.
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

    /// Adds a call, or completes the one of the same id; `known` says where in this turn calls are.
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

    /// Takes in an entry of the main conversation.
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

/// Adds the turns of a later read to those of earlier ones, joining what continues.
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
