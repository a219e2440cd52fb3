//! Checks on events that keep jobs from acting on the wrong ones, and which prompts set a bookmark.

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

// A prompt that sets a bookmark: the marker or the slash command, with or without a note.

/// The slash command that sets a bookmark, in the complete bundle and in the bundle of the one job.
const BOOKMARK_COMMANDS: [&str; 2] = ["/longhaul:bookmark", "/longhaul-bookmarks:bookmark"];

/// The slash command that lists the bookmarks, in the same bundles.
const LIST_COMMANDS: [&str; 2] = ["/longhaul:bookmarks", "/longhaul-bookmarks:bookmarks"];

/// Returns the note of a prompt that sets a bookmark: `Some(None)` for a bookmark without a note, `None` for any other
/// prompt.
pub fn bookmark_note<'a>(prompt: &'a str, marker: &str) -> Option<Option<&'a str>> {
    let prompt = prompt.trim();
    let command = BOOKMARK_COMMANDS.iter().find_map(|command| prompt.strip_prefix(command));
    let rest = prompt.strip_prefix(marker).or(command)?;
    let note = rest.trim();
    // `·x` only begins with the marker, `/longhaul:bookmarks` is another command, and several lines are a list of tasks.
    let is_note = rest.is_empty() || (rest.starts_with(' ') && !rest.contains(['\n', '\r']));
    is_note.then_some((!note.is_empty()).then_some(note))
}

/// Returns whether the prompt is the slash command that lists the bookmarks.
pub fn is_list_command(prompt: &str) -> bool {
    LIST_COMMANDS.contains(&prompt.trim())
}

/// Returns whether the prompt sets a bookmark by the slash command, not by the marker.
pub fn is_bookmark_command(prompt: &str) -> bool {
    BOOKMARK_COMMANDS.iter().any(|command| prompt.trim_start().starts_with(command))
}
