//! Payloads as they are sent: one flat JSON object in which every field is optional and unknown fields are ignored.
//! Payloads of other programs that start Claude Code's hooks, such as Cursor, are recognised here.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Every payload field that a job reads, of any event. Each has the name that it has in the payload.
///
/// A field of the wrong type counts as absent: Claude Code changes often, and one changed field must not make the others
/// unusable. Names that older versions used, such as camel case ones, are separate fields, because both may be present.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct EventWire<'a> {
    /// The session's id, in which any character may be.
    #[serde(deserialize_with = "lenient")]
    pub session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) transcript_path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    /// The event's name.
    #[serde(deserialize_with = "lenient")]
    pub hook_event_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) prompt_id: Option<String>,
    /// Codex's id of a turn, which also identifies the prompt that began it.
    #[serde(deserialize_with = "lenient")]
    pub(super) turn_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) permission_mode: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) agent_type: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) source: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) prompt: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) user_prompt: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow)]
    pub(super) tool_input: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "json_text")]
    pub(super) tool_response: Option<&'a str>,
    #[serde(borrow, deserialize_with = "json_text", rename = "toolResponse")]
    pub(super) tool_response_camel: Option<&'a str>,
    #[serde(deserialize_with = "lenient")]
    pub(super) notification_type: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) message: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) duration_ms: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) error: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) teammate_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) trigger: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) compact_summary: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) stop_hook_active: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) last_assistant_message: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) background_tasks: Option<Vec<BackgroundTaskWire>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) stop_reason: Option<String>,
    #[serde(deserialize_with = "lenient", rename = "stopReason")]
    pub(super) stop_reason_camel: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) end_turn_reason: Option<String>,
    #[serde(deserialize_with = "lenient", rename = "endTurnReason")]
    pub(super) end_turn_reason_camel: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) user_requested: Option<bool>,
    #[serde(deserialize_with = "lenient", rename = "userRequested")]
    pub(super) user_requested_camel: Option<bool>,
    /// Cursor's version, which only Cursor sends.
    #[serde(borrow)]
    cursor_version: Option<&'a RawValue>,
    /// The session's id, as Copilot and Grok name it.
    #[serde(borrow, rename = "sessionId")]
    session_id_camel: Option<&'a RawValue>,
    /// The time of the event, which Copilot, Gemini CLI and Qwen Code send.
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    /// The program that runs the hook, where a plugin of another agent does that.
    #[serde(borrow)]
    pub(super) hook_source: Option<&'a RawValue>,
}

impl EventWire<'_> {
    /// Returns whether an agent sent it that runs Claude Code's hooks as its own: Cursor, Copilot and Grok read
    /// `.claude/settings.json`, as do plugins of opencode, and Gemini CLI and Qwen Code copy hooks from there.
    ///
    /// Its sessions are not Claude Code's, and its screens and files are others.
    pub fn is_of_another_agent(&self) -> bool {
        let transcript = self.transcript_path.as_deref().unwrap_or_default();
        self.cursor_version.is_some()
            || self.hook_source.is_some()
            || (self.session_id_camel.is_some() && self.session_id.is_none())
            || ["/.gemini/tmp/", "/.qwen/projects/"].iter().any(|folder| transcript.contains(folder))
            || (self.timestamp.is_some() && !self.has_claude_codes_transcript())
    }

    /// Returns whether the transcript is `…/projects/FOLDER/SESSION.jsonl`. Claude Code sends no time, but if a later version
    /// does, its own hooks still run.
    fn has_claude_codes_transcript(&self) -> bool {
        let mut parts = self.transcript_path.as_deref().unwrap_or_default().rsplit('/');
        let file = parts.next().and_then(|name| name.strip_suffix(".jsonl"));
        file.is_some() && file == self.session_id.as_deref() && parts.nth(1) == Some("projects")
    }
}

/// An entry of `background_tasks`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BackgroundTaskWire {
    #[serde(deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "lenient", rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) command: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) description: Option<String>,
}

fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de str>, D::Error> {
    Ok(Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get))
}

/// Why a payload could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// Standard input is empty.
    #[error("no payload on standard input")]
    Empty,
    /// The payload is JSON, but not an object.
    #[error("payload is not a JSON object")]
    NotAnObject,
    /// The payload is not JSON, or is cut off.
    #[error("payload is not JSON: {0}")]
    Json(serde_json::Error),
    /// The payload has no usable `session_id`.
    #[error("payload has no session_id")]
    NoSession,
}

/// Parses a payload; `text` is the result of [`utf8`].
pub fn parse(text: &str) -> Result<EventWire<'_>, EventError> {
    match text.trim_ascii_start().as_bytes().first() {
        None => Err(EventError::Empty),
        Some(b'{') => serde_json::from_str(text).map_err(EventError::Json),
        Some(_) => Err(EventError::NotAnObject),
    }
}

/// Parses a payload whose `tool_response` was taken out by [`split_response`].
pub fn parse_with_response<'a>(rest: &'a str, response: &'a str) -> Result<EventWire<'a>, EventError> {
    let mut wire = parse(rest)?;
    wire.tool_response = Some(response).filter(|json| *json != "null");
    Ok(wire)
}

/// Splits a payload into one without its `tool_response`, and the JSON text of that; `None` if it has none, or is no JSON object.
///
/// The response may have megabytes, and to check every byte of it takes longer than all else in a hook. Only its end is looked for
/// here, from one quote to the next, so that it need not be valid JSON.
pub fn split_response(text: &str) -> Option<(String, &str)> {
    let bytes = text.as_bytes();
    let mut at = after_blanks(bytes, 0);
    let mut separator = b'{';
    while bytes.get(at) == Some(&separator) {
        let key = after_blanks(bytes, at + 1);
        let key_end = string_end(bytes, key)?;
        let colon = after_blanks(bytes, key_end);
        let value = after_blanks(bytes, colon + 1);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        let value_end = value_end(bytes, value)?;
        if &text[key..key_end] == "\"tool_response\"" {
            let rest = [&text[..value], "null", &text[value_end..]].concat();
            return Some((rest, &text[value..value_end]));
        }
        (at, separator) = (after_blanks(bytes, value_end), b',');
    }
    None
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes.iter().skip(at).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the end of the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let text = bytes.get(at..)?.strip_prefix(b"\"")?;
    let is_escaped = |quote: usize| text[..quote].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
    memchr::memchr_iter(b'"', text).find(|quote| !is_escaped(*quote)).map(|quote| at + 1 + quote + 1)
}

/// Returns the end of the value that begins at `at`, of which only strings and brackets are looked at.
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                return bytes[at..].iter().position(is_end).filter(|length| *length > 0).map(|length| at + length);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns `bytes` as text. Bytes that are not UTF-8 are replaced, so that the rest of the payload stays usable.
pub fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
