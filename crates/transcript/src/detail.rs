//! The details of a turn, which are stored and shown on demand: tool calls, attachments, thoughts.

use std::borrow::Cow;

use longhaul_core::Millis;

use crate::turn::{Attachment, SourcedText, ToolCall, Turn};

/// The kind of a detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DetailKind {
    /// The input of a tool call.
    ToolInput,
    /// The output of a tool call.
    ToolOutput,
    /// An attachment, hook feedback, a compaction's summary, a failed request.
    System,
    /// An image; only its media type is kept.
    Image,
    /// A thought of the model.
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
