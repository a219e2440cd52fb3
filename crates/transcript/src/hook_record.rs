//! What the client notes of every hook that ran. It describes the tooling, not the work, and most of it is about our own
//! hooks.

use longhaul_core::private_tags::strip;

/// Attachments that only say that a hook ran and how it ended. What a hook told the model or blocked is not among them.
pub const HOOK_RECORDS: [&str; 8] = [
    "async_hook_response",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_stopped_continuation",
    "hook_success",
    "hook_system_message",
];

/// An attachment that holds what a hook gave the model to read.
const GIVEN: &str = "hook_additional_context";

/// Returns whether an attachment is only the client's note of a hook: it is not kept, and not shown where it was.
///
/// What our own hooks gave the model is removed with its tags; where nothing else is left, that is such a note, too.
pub fn is_hook_record(name: &str, text: &str) -> bool {
    HOOK_RECORDS.contains(&name) || (name == GIVEN && given(text).trim().is_empty())
}

/// Returns what is left of the text that a hook gave: as the model saw it, or the attachment's JSON.
fn given(text: &str) -> String {
    let text = strip(text);
    let Ok(serde_json::Value::Object(attachment)) = serde_json::from_str(&text) else { return text };
    match attachment.get("content") {
        Some(serde_json::Value::Array(parts)) => parts.iter().filter_map(|part| part.as_str()).collect(),
        Some(serde_json::Value::String(part)) => part.clone(),
        Some(_) | None => text,
    }
}
