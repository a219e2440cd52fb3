//! Which hook events the plugin registers, with what executable, matcher and time limits.
//!
//! The one table behind hooks.json, the bundles and the hook table of docs/: `cargo xtask codegen` writes them from here.

mod bundles;
mod codex;

use std::time::Duration;

pub use self::bundles::{COMPANIONS, Companion, executables, registrations};
pub use self::codex::{CODEX_EXECUTABLE, CODEX_REGISTRATIONS, CodexRegistration};
use crate::event::EventName;

/// A job that users can switch off, or install as a bundle of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// `·` rewind points, and the guard that compacts before the context is full.
    Bookmarks,
    /// The state of every session, in the tmux status line.
    Tracker,
    /// What a session hands over to the next.
    Handoff,
    /// Over the context limit without a person.
    Continuation,
    /// What every session did, kept and found again.
    Memory,
}

impl Job {
    /// Every job, in the order in which they are documented.
    pub const ALL: [Self; 5] = [Self::Bookmarks, Self::Tracker, Self::Handoff, Self::Continuation, Self::Memory];

    /// Returns the job's name in the config and in its bundle's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bookmarks => "bookmarks",
            Self::Tracker => "tracker",
            Self::Handoff => "handoff",
            Self::Continuation => "continuation",
            Self::Memory => "memory",
        }
    }

    /// Returns what the job's bundle says of itself.
    pub fn about(self) -> &'static str {
        match self {
            Self::Bookmarks => "Rewind points that appear by themselves in the middle of long turns",
            Self::Tracker => {
                "The state of every session in the tmux status line, and a menu to jump to the one that waits"
            }
            Self::Handoff => "After /clear the next session goes on mid-thought, in a tenth of the tokens",
            Self::Continuation => "Near the context limit a session writes a handoff, clears and goes on by itself",
            Self::Memory => "What every session did, searchable for ever, and shown to the next one",
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
    /// What happens on it, for the documentation.
    pub about: &'static str,
}

const fn register(
    event: EventName,
    executable: &'static str,
    jobs: &'static [Job],
    about: &'static str,
) -> Registration {
    Registration {
        event,
        executable,
        matcher: None,
        timeout_seconds: 3,
        stdin_deadline: Duration::from_millis(2500),
        jobs,
        about,
    }
}

const ALL: &[Job] = &Job::ALL;
const BOOKMARKS: &[Job] = &[Job::Bookmarks];
const TRACKER: &[Job] = &[Job::Tracker];

/// Every registered event, in the order of a session's life.
pub const REGISTRATIONS: &[Registration] = &[
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(3000),
        ..register(
            EventName::SessionStart,
            "longhaul-session-start",
            ALL,
            "Remembers the session and its terminal; shows what the one before handed over and what the project came to; removes old logs",
        )
    },
    register(
        EventName::UserPromptSubmit,
        "longhaul-user-prompt-submit",
        ALL,
        "Confirms a bookmark, writes a baton (`/tl`), or notes that a turn begins: working; remembers the prompt, and adds what other sessions said about it",
    ),
    Registration {
        matcher: Some("Agent|Task"),
        ..register(
            EventName::PreToolUse,
            "longhaul-pre-tool-use",
            BOOKMARKS,
            "Context guard: denies new subagents when the context is nearly full",
        )
    },
    register(
        EventName::PostToolUse,
        "longhaul-post-tool-use",
        &[Job::Bookmarks, Job::Tracker, Job::Memory],
        "Counts the call and notes it; when enough work has passed, types a bookmark into the running turn",
    ),
    register(
        EventName::PostToolUseFailure,
        "longhaul-post-tool-use-failure",
        &[Job::Tracker, Job::Memory],
        "A failed call is work too: working; notes it",
    ),
    register(
        EventName::PermissionRequest,
        "longhaul-permission-request",
        TRACKER,
        "The session waits for an answer: blocked",
    ),
    register(
        EventName::Notification,
        "longhaul-notification",
        &[Job::Tracker, Job::Continuation],
        "The same, where no other event told; carries on a continuation that got stuck",
    ),
    register(EventName::SubagentStart, "longhaul-subagent-start", ALL, "Notes that a subagent runs"),
    Registration {
        timeout_seconds: 5,
        ..register(
            EventName::SubagentStop,
            "longhaul-subagent-stop",
            &[Job::Bookmarks, Job::Tracker],
            "Counts what the subagent brought back; may bookmark",
        )
    },
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(4000),
        ..register(
            EventName::Stop,
            "longhaul-stop",
            ALL,
            "Takes the turn in and sums it up; may ask for a handoff and clear; it is over: completed; may bookmark, or compact",
        )
    },
    register(
        EventName::StopFailure,
        "longhaul-stop-failure",
        &[Job::Tracker, Job::Continuation],
        "The turn ended in an error: blocked, with its kind; a used-up limit holds a continuation up",
    ),
    register(
        EventName::PreCompact,
        "longhaul-pre-compact",
        &[Job::Bookmarks, Job::Handoff, Job::Memory],
        "Takes the conversation in before it is compacted; starts the count afresh",
    ),
    register(EventName::TeammateIdle, "longhaul-teammate-idle", TRACKER, "A teammate has nothing to do: idle"),
    register(EventName::TaskCompleted, "longhaul-task-completed", TRACKER, "Counts the task"),
    register(
        EventName::SessionEnd,
        "longhaul-session-end",
        &[Job::Tracker, Job::Handoff, Job::Continuation, Job::Memory],
        "The session is gone; after `/clear` it leaves a baton",
    ),
];

/// What the client gives all SessionEnd hooks of all plugins together, whatever their own limits say.
const AT_SESSION_END: Duration = Duration::from_millis(1500);

/// Returns after how long the client ends the executable of `event`.
pub fn time_allowed(event: EventName) -> Duration {
    if event == EventName::SessionEnd {
        return AT_SESSION_END;
    }
    let registration = REGISTRATIONS.iter().find(|registration| registration.event == event);
    Duration::from_secs(registration.map_or(3, |registration| registration.timeout_seconds))
}

/// Returns how long the executable of `event` waits for its payload.
pub fn stdin_deadline(event: EventName) -> Duration {
    REGISTRATIONS
        .iter()
        .find(|registration| registration.event == event)
        .map_or(Duration::from_millis(2500), |registration| registration.stdin_deadline)
}
