//! The table of Codex's hook events that the plugin registers.

use crate::event::EventName;

/// The executable that Codex starts for every event, with the event as its argument.
pub const CODEX_EXECUTABLE: &str = "longhaul-codex";

/// A hook event of Codex that the plugin registers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CodexRegistration {
    /// The event.
    pub event: EventName,
    /// The executable's argument.
    ///
    /// It must never change: Codex asks its user to trust a hook's command, and asks again when the command changes.
    pub argument: &'static str,
    /// The time limit that Codex is given, in seconds.
    pub timeout_seconds: u64,
    /// What the hook does, for the documentation.
    pub about: &'static str,
}

const fn register(
    event: EventName,
    argument: &'static str,
    timeout_seconds: u64,
    about: &'static str,
) -> CodexRegistration {
    CodexRegistration { event, argument, timeout_seconds, about }
}

/// Every registered event of Codex, in the order in which a session usually sends them.
pub const CODEX_REGISTRATIONS: &[CodexRegistration] = &[
    register(
        EventName::SessionStart,
        "session-start",
        5,
        "Records the session; shows what it continues, and the project's memory",
    ),
    register(
        EventName::UserPromptSubmit,
        "user-prompt-submit",
        3,
        "A turn begins: working; records the prompt, writes a baton for `$longhaul handoff`, and adds what other sessions said about it",
    ),
    register(EventName::PermissionRequest, "permission-request", 3, "The session waits for an answer: blocked"),
    register(EventName::PostToolUse, "post-tool-use", 3, "The answer was given: working"),
    register(
        EventName::Stop,
        "stop",
        5,
        "The turn is over: completed; stores and summarizes it from the rollout; writes a baton near the limit of the context",
    ),
    register(EventName::SessionEnd, "session-end", 3, "Removes the session from the counts in tmux"),
];
