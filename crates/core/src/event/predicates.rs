//! Checks on events that keep jobs from acting on the wrong ones.

use crate::event::{Common, Stop};

/// The beginning of the text that Claude Code writes for a turn, or a call, that the user has interrupted.
pub const INTERRUPTED: &str = "[Request interrupted by user";

/// Substrings of a stop reason that mean that the context was full.
const CONTEXT_LIMIT: [&str; 9] = [
    "context_limit",
    "context_window",
    "context_exceeded",
    "context_full",
    "max_context",
    "token_limit",
    "max_tokens",
    "conversation_too_long",
    "input_too_long",
];

/// Complete stop reasons that mean that the user interrupted the turn.
const ABORTS: [&str; 4] = ["aborted", "abort", "cancel", "interrupt"];

/// Substrings of a stop reason that mean that the user interrupted the turn.
const ABORT_PARTS: [&str; 4] = ["user_cancel", "user_interrupt", "ctrl_c", "manual_stop"];

/// Returns whether the event happened inside a subagent.
pub fn in_subagent(common: &Common) -> bool {
    common.agent_id.is_some()
}

/// Returns whether a SubagentStop belongs to Claude Code's own compaction, which neither user nor model started.
pub fn is_compaction(common: &Common) -> bool {
    common.agent_type.as_deref() == Some("")
}

/// Returns whether Claude Code wrote the prompt itself, to report a subagent that finished in the background.
pub fn is_task_notification(prompt: &str) -> bool {
    prompt.trim_start().starts_with("<task-notification>")
}

/// Returns whether no permission dialog can open in this permission mode.
pub fn asks_nothing(permission_mode: Option<&str>) -> bool {
    matches!(permission_mode, Some("bypassPermissions" | "dontAsk"))
}

/// Returns whether the turn stopped because the context was full. A text typed then would fail in the same way.
pub fn stopped_at_context_limit(stop: &Stop) -> bool {
    let mut reasons = stop.reasons.iter().chain(&stop.end_turn_reasons);
    reasons.any(|reason| contains_any(&reason.to_ascii_lowercase(), &CONTEXT_LIMIT))
}

/// Returns whether the user stopped the turn.
pub fn stopped_by_user(stop: &Stop) -> bool {
    let aborted = |reason: &String| {
        let reason = reason.to_ascii_lowercase();
        ABORTS.contains(&reason.as_str()) || contains_any(&reason, &ABORT_PARTS)
    };
    stop.user_requested || stop.reasons.iter().any(aborted)
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}
