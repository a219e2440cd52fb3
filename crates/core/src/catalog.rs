//! Which hook events the plugin registers, with what executable, matcher and time limits.
//!
//! The one table behind hooks.json, the bundles and the README's hook table: `cargo xtask codegen` writes them from here.

use std::time::Duration;

use crate::event::EventName;

/// A job that users can switch off, or install as a bundle of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// `·` rewind points, and the guard that compacts before the context is full.
    Bookmarks,
}

impl Job {
    /// Every job, in the order in which they are documented.
    pub const ALL: [Self; 1] = [Self::Bookmarks];

    /// Returns the job's name in the config and in its bundle's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookmarks => "bookmarks",
        }
    }

    /// Returns what the job's bundle says of itself.
    pub fn about(self) -> &'static str {
        match self {
            Self::Bookmarks => "Rewind points that appear by themselves in the middle of long turns",
        }
    }
}

/// One hook event that the plugin listens to.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    /// The event.
    pub event: EventName,
    /// The executable in the bundle's `bin/`.
    pub executable: &'static str,
    /// The tool names that it fires for, where the event has a matcher and not every tool matters.
    pub matcher: Option<&'static str>,
    /// The client ends the hook after this many seconds.
    pub timeout_seconds: u64,
    /// The executable stops waiting for its payload after this long; at least 500 ms below the timeout.
    pub stdin_deadline: Duration,
    /// The jobs that need the event.
    pub jobs: &'static [Job],
    /// What happens on it, for the README.
    pub about: &'static str,
}

const fn register(event: EventName, executable: &'static str, about: &'static str) -> Registration {
    Registration {
        event,
        executable,
        matcher: None,
        timeout_seconds: 3,
        stdin_deadline: Duration::from_millis(2500),
        jobs: &[Job::Bookmarks],
        about,
    }
}

/// Every registered event, in the order of a session's life.
pub const REGISTRATIONS: &[Registration] = &[
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(3000),
        ..register(
            EventName::SessionStart,
            "longhaul-session-start",
            "Remembers the session's terminal; removes logs untouched for a week",
        )
    },
    register(
        EventName::UserPromptSubmit,
        "longhaul-user-prompt-submit",
        "Confirms a bookmark, or notes that a turn begins",
    ),
    Registration {
        matcher: Some("Agent|Task"),
        ..register(
            EventName::PreToolUse,
            "longhaul-pre-tool-use",
            "Context guard: denies new subagents when the context is nearly full",
        )
    },
    register(
        EventName::PostToolUse,
        "longhaul-post-tool-use",
        "Counts the call; when enough work has passed, types a bookmark into the running turn",
    ),
    register(EventName::SubagentStart, "longhaul-subagent-start", "Notes that a subagent runs"),
    Registration {
        timeout_seconds: 5,
        ..register(
            EventName::SubagentStop,
            "longhaul-subagent-stop",
            "Counts what the subagent brought back; may bookmark",
        )
    },
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(4000),
        ..register(EventName::Stop, "longhaul-stop", "Notes that the turn is over; may bookmark, or compact")
    },
    register(EventName::PreCompact, "longhaul-pre-compact", "Starts the count afresh"),
];

/// Returns how long the executable of `event` waits for its payload.
pub fn stdin_deadline(event: EventName) -> Duration {
    REGISTRATIONS
        .iter()
        .find(|registration| registration.event == event)
        .map_or(Duration::from_millis(2500), |registration| registration.stdin_deadline)
}
