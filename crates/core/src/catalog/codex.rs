//! Which hook events of Codex the plugin listens to.

use crate::event::EventName;

/// The executable that Codex starts, with the event as its argument.
pub const CODEX_EXECUTABLE: &str = "longhaul-codex";

/// One hook event of Codex.
#[derive(Debug, Clone, Copy)]
pub struct CodexRegistration {
    /// The event.
    pub event: EventName,
    /// The executable's argument.
    ///
    /// Codex asks its user to trust a hook by its command, and again when the command changes: it never does.
    pub argument: &'static str,
    /// Codex ends the hook after this many seconds.
    pub timeout_seconds: u64,
    /// What happens on it, for the documentation.
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

/// Every event of Codex that is registered, in the order of a session's life.
pub const CODEX_REGISTRATIONS: &[CodexRegistration] = &[
    register(EventName::SessionStart, "session-start", 5, "Adds the session; shows what its project came to"),
    register(
        EventName::UserPromptSubmit,
        "user-prompt-submit",
        3,
        "A turn begins: working; remembers the prompt, and adds what other sessions said about it",
    ),
    register(EventName::PermissionRequest, "permission-request", 3, "The session waits for an answer: blocked"),
    register(EventName::PostToolUse, "post-tool-use", 3, "It has its answer: working"),
    register(
        EventName::Stop,
        "stop",
        5,
        "Takes the turn in from the rollout, remembers prompts and calls, and sums it up: completed",
    ),
    register(EventName::SessionEnd, "session-end", 3, "The session is gone"),
];
