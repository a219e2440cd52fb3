//! The attachments that Claude Code writes for every hook that ran. They describe tools, not work, and most are about the
//! plugin's own hooks.

use longhaul_core::private_tags::strip;

/// The names of attachments that only record that a hook ran and how it ended. Text that a hook gave to the model, and
/// blocked calls, are not among them.
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

/// The name of the attachment with the text that a hook gave to the model.
const GIVEN: &str = "hook_additional_context";

/// Returns whether an attachment only records that a hook ran. Such attachments are neither stored nor shown.
///
/// An attachment whose text comes from the plugin's own hooks alone counts as such a record, too.
pub fn is_hook_record(name: &str, text: &str) -> bool {
    HOOK_RECORDS.contains(&name) || (name == GIVEN && given(text).trim().is_empty())
}

/// Returns the text that hooks gave to the model, without the text of the plugin's own hooks.
///
/// `text` is the text as the model saw it, or the attachment's JSON.
fn given(text: &str) -> String {
    let text = strip(text);
    let Ok(serde_json::Value::Object(attachment)) = serde_json::from_str(&text) else { return text };
    match attachment.get("content") {
        Some(serde_json::Value::Array(parts)) => parts.iter().filter_map(|part| part.as_str()).collect(),
        Some(serde_json::Value::String(part)) => part.clone(),
        Some(_) | None => text,
    }
}
