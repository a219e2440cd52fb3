//! A tool call of a transcript, as a hook would have recorded it.

use longhaul_core::{Config, Millis};
use longhaul_memory::{Call, RawCall, is_skipped};
use longhaul_transcript::{self as transcript, Turn};

use crate::Sanitizer;

/// Returns a call of a transcript as a hook would have recorded it; `None` if it is skipped, or input or output is
/// missing.
pub fn recorded_call(
    call: transcript::ToolCall,
    turn: &Turn,
    root: &str,
    otherwise_at: Millis,
    config: &Config,
    sanitizer: Sanitizer,
) -> Option<Call> {
    let (tool, input, output) = (call.name?, call.input?, call.output?);
    if is_skipped(&tool, &config.memory.skip_tools.0) {
        return None;
    }
    // For a failed call, a hook gets only its error message.
    let result = call.result.filter(|_| !call.is_error);
    let response = result.unwrap_or_else(|| serde_json::Value::from(output).to_string());
    let mut raw = RawCall::new(&call.id, &tool);
    raw.prompt_id = turn.prompt_id.as_deref().unwrap_or_default();
    raw.input = &input;
    raw.response = &response;
    raw.is_error = call.is_error;
    raw.cwd = root;
    raw.at = call.at.or(turn.at).unwrap_or(otherwise_at);
    raw.secrets = sanitizer.secrets();
    Some(Call::new(&raw))
}
