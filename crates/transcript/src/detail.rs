//! A turn's third layer, flat: what is kept and fetched on demand.

use std::borrow::Cow;

use longhaul_core::Millis;

use crate::turn::{Attachment, SourcedText, ToolCall, Turn};

/// What a detail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DetailKind {
    /// What went into a tool.
    ToolInput,
    /// What came out of it.
    ToolOutput,
    /// An attachment, hook feedback, a compaction's summary, a failed request.
    System,
    /// An image, as a mark.
    Image,
    /// What the model thought.
    Thinking,
}

impl DetailKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::ToolInput, Self::ToolOutput, Self::System, Self::Image, Self::Thinking];

    /// Returns the name under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolInput => "tool_input",
            Self::ToolOutput => "tool_output",
            Self::System => "system",
            Self::Image => "image",
            Self::Thinking => "thinking",
        }
    }
}

/// One piece of detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail<'a> {
    /// What it is.
    pub kind: DetailKind,
    /// Unique in the session: a `tool_use_id` for what went in, `<tool_use_id>:result` for what came out, else the
    /// source of the text.
    pub source: Cow<'a, str>,
    /// The tool, or the attachment's name. Empty for the output of a call that an earlier read brought.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// When.
    pub at: Option<Millis>,
    /// Whether a tool failed or was refused.
    pub is_error: bool,
}

impl Turn {
    /// Returns the turn's details: calls in order, then what was put beside it, then what the model thought.
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
