//! A tool call in the form of the spool: one line, with limited length, without private or secret text. Also which
//! tools' calls are not remembered, and the maximum lengths of all that is stored: longer texts are cut in the middle
//! (`core/src/text.rs`).

use std::borrow::Cow;

use longhaul_core::Millis;
use longhaul_core::hash::fnv1a;
use longhaul_core::text::cut_middle;
use serde::{Deserialize, Serialize};

use crate::redact::{redact, redact_input_commands, redacted_ends};
use crate::strip::strip_json;

/// The number of characters that are kept of a tool's input.
pub const INPUT_CHARS: usize = 4_096;

/// Returns the number of characters that are kept of the input of `tool`: of a task list all of it, unless it is endless.
pub fn input_chars(tool: &str) -> usize {
    if tool == "TodoWrite" { RESPONSE_CHARS } else { INPUT_CHARS }
}

/// The number of characters that are kept of a tool's response.
pub const RESPONSE_CHARS: usize = 16_384;

/// The number of characters that are kept of a prompt, wherever it is stored. Where a reply is shown to a model or
/// summarized, no more of it is used either.
pub const SAID_CHARS: usize = 16_384;

/// The number of characters that are kept of the replies of a turn. They are searched in full, so the limit is far above
/// the length of replies that are written to be read.
pub const REPLY_CHARS: usize = 262_144;

/// Maximum length of a text whose content could be guessed from its hash.
const GUESSABLE: usize = 64 * 1024;

/// Whether secrets of known shapes are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// They are replaced by `[redacted]`.
    #[default]
    Redact,
    /// They are kept, because the user has switched redaction off.
    Keep,
}

/// A tool call as the hook receives it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RawCall<'a> {
    /// The id of the call.
    pub tool_use_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The id of its prompt; empty if the client does not report it.
    pub prompt_id: &'a str,
    /// `tool_input`, as JSON text.
    pub input: &'a str,
    /// `tool_response`, or the `error` of a call that failed, as JSON text; empty if there is none.
    pub response: &'a str,
    /// Whether it failed or was refused.
    pub is_error: bool,
    /// The working directory.
    pub cwd: &'a str,
    /// The time of the call.
    pub at: Millis,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// Whether a subagent made it.
    pub in_subagent: bool,
    /// Whether secrets are replaced.
    pub secrets: Secrets,
}

impl<'a> RawCall<'a> {
    /// Returns a successful call of `tool` without input and response, whose secrets are redacted.
    pub fn new(tool_use_id: &'a str, tool: &'a str) -> Self {
        Self { tool_use_id, tool, ..Self::default() }
    }
}

/// A tool call that may be stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Call {
    /// The id of the call, by which it is stored once.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// The id of its prompt; empty if the client did not report it.
    pub prompt_id: String,
    /// The input: JSON text, except for a note where it was cut.
    pub input: String,
    /// The response: JSON text, except for a note where it was cut.
    pub response: String,
    /// Whether it failed or was refused.
    pub is_error: bool,
    /// The working directory.
    pub cwd: String,
    /// The time of the call.
    #[serde(with = "millis")]
    pub at: Millis,
    /// The duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// Whether a subagent made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_subagent: bool,
    /// A key that is equal for calls that do the same; see [`fold_key`].
    pub fold_key: u64,
}

impl Call {
    /// Removes private text, then secrets, and cuts the rest.
    ///
    /// The order matters: a secret or a private passage that is cut in two could no longer be recognised.
    pub fn new(raw: &RawCall<'_>) -> Self {
        let (input, response) = (strip_json(raw.input), strip_json(raw.response));
        let most = input_chars(raw.tool);
        let input = match raw.secrets {
            Secrets::Redact => redact_input_commands(&input),
            Secrets::Keep => Cow::Borrowed(&*input),
        };
        // Computed from the whole input, because two long files may differ only in the part that is cut. A long text
        // cannot be guessed from its hash.
        let (folded, kept_input) = match raw.secrets {
            Secrets::Redact if input.len() <= GUESSABLE => {
                let redacted = redact(&input);
                let kept = cut_middle(&redacted, most);
                (redacted, kept)
            }
            Secrets::Redact => (Cow::Borrowed(&*input), redacted_ends(&input, most)),
            Secrets::Keep => (Cow::Borrowed(&*input), cut_middle(&input, most)),
        };
        let kept_response = match raw.secrets {
            Secrets::Redact => redacted_ends(&response, RESPONSE_CHARS),
            Secrets::Keep => cut_middle(&response, RESPONSE_CHARS),
        };
        Self {
            tool_use_id: raw.tool_use_id.to_owned(),
            tool: raw.tool.to_owned(),
            prompt_id: raw.prompt_id.to_owned(),
            fold_key: hash(&[raw.tool, &folded, if raw.is_error { "failed" } else { "" }]),
            input: kept_input,
            response: kept_response,
            is_error: raw.is_error,
            cwd: raw.cwd.to_owned(),
            at: raw.at,
            duration_ms: raw.duration_ms,
            in_subagent: raw.in_subagent,
        }
    }

    /// Returns the call as one line of JSON.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a line; `None` if it is incomplete or not a call.
    ///
    /// Unknown fields are ignored and missing ones are empty, because another version may have written the line.
    pub fn from_line(line: &str) -> Option<Self> {
        let call: Self = serde_json::from_str(line.trim()).ok()?;
        (!call.tool_use_id.is_empty() && !call.tool.is_empty()).then_some(call)
    }
}

/// Returns a key that is equal for calls that do the same: same tool, same input, both failed or both succeeded.
///
/// The first of them is stored, the others are counted. The key is the same in every version and on every machine.
pub fn fold_key(call: &Call) -> u64 {
    match call.fold_key {
        0 => hash(&[&call.tool, &call.input, if call.is_error { "failed" } else { "" }]),
        key => key,
    }
}

/// FNV-1a, with a separator between the parts that occurs in no text. It has 63 bits, so that it is positive in SQLite.
fn hash(parts: &[&str]) -> u64 {
    fnv1a(parts.iter().flat_map(|part| part.bytes().chain([0xff]))) >> 1
}

mod millis {
    use longhaul_core::Millis;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(super) fn serialize<S: Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        u64::deserialize(deserializer).map(Millis)
    }
}

/// Tools that are skipped by default: they keep lists, ask the user, or load something.
pub(crate) const DEFAULT_SKIPPED: [&str; 14] = [
    "AskUserQuestion",
    "EnterPlanMode",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "Skill",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WaitForMcpServers",
];

/// Longhaul's own tools, under any name of the server: reading the memory must not be remembered.
const OWN: &str = "mcp__*longhaul*";

/// Returns whether calls of `tool` are skipped.
///
/// These are the `configured` tools, or the default ones if none are configured. A `*` in an entry matches any
/// characters. Longhaul's own tools, and calls without a tool name, are always skipped.
pub fn is_skipped(tool: &str, configured: &[String]) -> bool {
    let listed = match configured {
        [] => DEFAULT_SKIPPED.contains(&tool),
        patterns => patterns.iter().any(|pattern| matches(pattern, tool)),
    };
    tool.is_empty() || listed || matches(OWN, tool)
}

/// Returns whether `name` matches `pattern`, in which a `*` matches any characters.
///
/// Each part between two stars is matched at its first occurrence.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = others.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
