//! A tool call as the spool keeps it: without what is private or secret, capped, one line.

use std::borrow::Cow;

use longhaul_core::Millis;
use longhaul_core::cut_text::cut_middle;
use longhaul_core::hash::fnv1a;
use serde::{Deserialize, Serialize};

use crate::kept_chars::{INPUT_CHARS, RESPONSE_CHARS};
use crate::redact::redact;
use crate::redacted_ends::redacted_ends;
use crate::strip::strip_json;

/// A text of up to this many bytes could be tried out against its hash.
const GUESSABLE: usize = 64 * 1024;

/// Whether well-known shapes of secrets are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// They become `[redacted]`.
    #[default]
    Redact,
    /// They stay: the user has switched redaction off.
    Keep,
}

/// A tool call as the hook gets it.
#[derive(Debug, Clone, Copy, Default)]
pub struct RawCall<'a> {
    /// The call's own id.
    pub tool_use_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The prompt it belongs to; empty where the client does not say.
    pub prompt_id: &'a str,
    /// `tool_input`, as JSON text.
    pub input: &'a str,
    /// `tool_response`, or the `error` of a call that failed, as JSON text; empty where there is none.
    pub response: &'a str,
    /// Whether it failed or was refused.
    pub is_error: bool,
    /// The directory it ran in.
    pub cwd: &'a str,
    /// When.
    pub at: Millis,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// What becomes of secrets.
    pub secrets: Secrets,
}

impl<'a> RawCall<'a> {
    /// Returns a successful call of `tool` without input and response, whose secrets are redacted.
    pub fn new(tool_use_id: &'a str, tool: &'a str) -> Self {
        Self { tool_use_id, tool, ..Self::default() }
    }
}

/// A tool call that may be written down.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The call's own id, by which it is stored once.
    pub tool_use_id: String,
    /// The tool.
    pub tool: String,
    /// The prompt it belongs to; empty where the client did not say.
    pub prompt_id: String,
    /// The input: JSON text, but for a note where it was cut.
    pub input: String,
    /// The response: JSON text, but for a note where it was cut.
    pub response: String,
    /// Whether it failed or was refused.
    pub is_error: bool,
    /// The directory it ran in.
    pub cwd: String,
    /// When.
    #[serde(with = "millis")]
    pub at: Millis,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The same for calls that do the same; see [`fold_key`].
    pub fold_key: u64,
}

impl Call {
    /// Takes from a call what is private, then what is secret, and cuts the rest to what is kept.
    ///
    /// In this order: a secret or a passage that reaches over a cut would lose the half by which it is known.
    pub fn new(raw: &RawCall<'_>) -> Self {
        let (input, response) = (strip_json(raw.input), strip_json(raw.response));
        // From the whole input: two long files may differ only in what is cut. What is long cannot be guessed from a hash.
        let (folded, kept_input) = match raw.secrets {
            Secrets::Redact if input.len() <= GUESSABLE => {
                let redacted = redact(&input);
                let kept = cut_middle(&redacted, INPUT_CHARS);
                (redacted, kept)
            }
            Secrets::Redact => (Cow::Borrowed(&*input), redacted_ends(&input, INPUT_CHARS)),
            Secrets::Keep => (Cow::Borrowed(&*input), cut_middle(&input, INPUT_CHARS)),
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
        }
    }

    /// Returns it as one line of JSON, without a line break.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line; `None` for one that was torn, or is no call.
    ///
    /// Fields that are not known are ignored, missing ones are empty: an older or newer version may have written it.
    pub fn from_line(line: &str) -> Option<Self> {
        let call: Self = serde_json::from_str(line.trim()).ok()?;
        (!call.tool_use_id.is_empty() && !call.tool.is_empty()).then_some(call)
    }
}

/// Returns what is the same for calls that do the same: same tool, same input, both failed or both did not.
///
/// The first of them is stored, the others are counted. The same in every version, on every machine.
pub fn fold_key(call: &Call) -> u64 {
    match call.fold_key {
        0 => hash(&[&call.tool, &call.input, if call.is_error { "failed" } else { "" }]),
        key => key,
    }
}

/// FNV-1a, with a byte that no text has between the parts. 63 bits, so that SQLite holds it as a positive number.
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
