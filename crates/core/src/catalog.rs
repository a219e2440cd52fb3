//! The table of hook events that the plugin registers, each with its executable, matcher and time limits.
//!
//! `cargo xtask codegen` writes hooks.json, the bundles and the hook table of the documentation from it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::event::EventName;
use crate::named;

/// The name of the marketplace: what follows the `@` in `claude plugin install`.
pub const MARKETPLACE: &str = "longhaul";

named! {
    /// A job of the plugin. Users can switch each one off, or install it as a bundle of its own.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Job {
        /// Sets `·` rewind points, and compacts before the context is full.
        Bookmarks = "bookmarks",
        /// Shows the state of every session in the tmux status line.
        Tracker = "tracker",
        /// Shows a new session what the session before it said and did.
        Handoff = "handoff",
        /// Continues in a new session when the context is nearly full, without user input.
        Continuation = "continuation",
        /// Records what every session did, and finds it again.
        Memory = "memory",
    }
}

impl Job {
    /// Returns the description of the job's bundle.
    pub fn about(self) -> &'static str {
        match self {
            Self::Bookmarks => "Bookmarks in the middle of long turns, set automatically, to which /rewind can go back",
            Self::Tracker => {
                "The states of all sessions in the tmux status line, and a menu to switch to the one that waits"
            }
            Self::Handoff => "After /clear the next session continues the work, with about a tenth of the tokens",
            Self::Continuation => {
                "Near the context limit a session writes a handoff, is cleared, and continues automatically"
            }
            Self::Memory => "A searchable memory of what every session did, with a summary for each new session",
        }
    }
}

/// A hook event that the plugin registers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Registration {
    /// The event.
    pub event: EventName,
    /// The executable in the bundle's `bin/`.
    pub executable: &'static str,
    /// Its first arguments, which name the event.
    pub arguments: &'static [&'static str],
    /// The matcher: the tools for which the hook runs; `None` for every tool, and for events without a matcher.
    pub matcher: Option<&'static str>,
    /// The time limit that hooks.json sets, in seconds.
    pub timeout_seconds: u64,
    /// How long the executable waits for its payload; at least 500 ms less than [`time_allowed`].
    pub stdin_deadline: Duration,
    /// The jobs that need the event.
    pub jobs: &'static [Job],
    /// What the hook does, for the documentation.
    pub about: &'static str,
}

/// The executable of every hook but that of PostToolUse. Its first argument is the event, or the name of another agent, which
/// is followed by the event.
pub const HOOK_EXECUTABLE: &str = "longhaul-hook";

/// The executable of PostToolUse, which runs far more often than all others: it is small, so that it starts faster.
pub const POST_TOOL_USE_EXECUTABLE: &str = "longhaul-post-tool-use";

/// The command line. Its hidden commands are the processes that hooks start in the background.
pub const COMMAND_LINE: &str = "longhaul";

const fn register(
    event: EventName,
    arguments: &'static [&'static str],
    jobs: &'static [Job],
    about: &'static str,
) -> Registration {
    Registration {
        event,
        executable: HOOK_EXECUTABLE,
        arguments,
        matcher: None,
        timeout_seconds: 3,
        stdin_deadline: Duration::from_millis(2500),
        jobs,
        about,
    }
}

const ALL: &[Job] = &Job::ALL;
const TRACKER: &[Job] = &[Job::Tracker];

/// Every registered event, in the order in which a session usually sends them.
pub const REGISTRATIONS: &[Registration] = &[
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(3000),
        ..register(
            EventName::SessionStart,
            &["session-start"],
            ALL,
            "Records the session and its terminal; shows what the previous session passed on, and the project's memory; removes old logs",
        )
    },
    register(
        EventName::UserPromptSubmit,
        &["user-prompt-submit"],
        ALL,
        "Confirms a bookmark, writes a baton (`/longhaul:tl`), or records that a turn begins: working; records the prompt, and adds what other sessions said about it",
    ),
    Registration {
        matcher: Some("Agent|Task"),
        ..register(
            EventName::PreToolUse,
            &["pre-tool-use"],
            &[Job::Bookmarks, Job::Tracker],
            "Denies new subagents when the context is nearly full (context guard), or at a limit",
        )
    },
    Registration {
        executable: POST_TOOL_USE_EXECUTABLE,
        ..register(
            EventName::PostToolUse,
            &[],
            &[Job::Bookmarks, Job::Tracker, Job::Memory],
            "Counts and records the call; after enough work, types a bookmark into the running turn; stops the turn at a limit",
        )
    },
    register(
        EventName::PostToolUseFailure,
        &["post-tool-use-failure"],
        &[Job::Tracker, Job::Memory],
        "Records the failed call: working",
    ),
    register(
        EventName::PermissionRequest,
        &["permission-request"],
        TRACKER,
        "The session waits for an answer: blocked",
    ),
    register(
        EventName::Notification,
        &["notification"],
        &[Job::Tracker, Job::Continuation],
        "Blocked, if no other event has reported it; tries an overdue step of a continuation again",
    ),
    register(EventName::SubagentStart, &["subagent-start"], ALL, "Records that a subagent runs"),
    Registration {
        timeout_seconds: 5,
        ..register(
            EventName::SubagentStop,
            &["subagent-stop"],
            &[Job::Bookmarks, Job::Tracker, Job::Handoff],
            "Counts the subagent's reply; may set a bookmark; compares the summary of a compaction with what the session needs",
        )
    },
    Registration {
        timeout_seconds: 5,
        stdin_deadline: Duration::from_millis(4000),
        ..register(
            EventName::Stop,
            &["stop"],
            ALL,
            "The turn is over: completed; stores and summarizes it; may ask for a handoff and clear; may set a bookmark, or compact",
        )
    },
    register(
        EventName::StopFailure,
        &["stop-failure"],
        &[Job::Tracker, Job::Continuation],
        "The turn ended in an error: blocked, with the kind of error; a rate limit pauses a continuation",
    ),
    Registration {
        // The compaction takes longer, and the transcript of a session that began without Longhaul is read whole.
        timeout_seconds: 10,
        ..register(
            EventName::PreCompact,
            &["pre-compact"],
            &[Job::Bookmarks, Job::Handoff, Job::Memory],
            "Stores the conversation before it is compacted, and what will be needed of it; takes a snapshot; resets the bookmark counters",
        )
    },
    register(EventName::TeammateIdle, &["teammate-idle"], TRACKER, "A teammate has nothing to do: idle"),
    register(EventName::TaskCompleted, &["task-completed"], TRACKER, "Counts the completed task"),
    Registration {
        stdin_deadline: Duration::from_millis(800),
        ..register(
            EventName::SessionEnd,
            &["session-end"],
            &[Job::Tracker, Job::Handoff, Job::Continuation, Job::Memory],
            "Removes the session from the counts in tmux; after `/clear`, writes a baton",
        )
    },
];

/// The time that Claude Code gives the SessionEnd hooks of all plugins together, whatever their own limits are.
const AT_SESSION_END: Duration = Duration::from_millis(1500);

/// Returns the registration of `event`.
pub fn registration(event: EventName) -> Option<&'static Registration> {
    REGISTRATIONS.iter().find(|registration| registration.event == event)
}

/// Returns how long Claude Code lets the executable of `event` run.
pub fn time_allowed(event: EventName) -> Duration {
    if event == EventName::SessionEnd {
        return AT_SESSION_END;
    }
    Duration::from_secs(registration(event).map_or(3, |registration| registration.timeout_seconds))
}

/// Returns the first arguments of the executable of `event`.
pub fn arguments(event: EventName) -> &'static [&'static str] {
    registration(event).map_or(&[], |registration| registration.arguments)
}

/// Returns whether the executable of `event` prints an answer.
///
/// Claude Code shows what a PreCompact hook prints, JSON too, to the user and to the model.
pub fn answers(event: EventName) -> bool {
    event != EventName::PreCompact
}

/// Returns how long the executable of `event` waits for its payload.
pub fn stdin_deadline(event: EventName) -> Duration {
    registration(event).map_or(Duration::from_millis(2500), |registration| registration.stdin_deadline)
}

// The contents of each bundle: of one job, or of all.

/// Returns the registrations that `job` needs; all of them for `None`.
pub fn registrations(job: Option<Job>) -> impl Iterator<Item = &'static Registration> {
    REGISTRATIONS.iter().filter(move |registration| job.is_none_or(|job| registration.jobs.contains(&job)))
}

/// Returns the names of the executables in the bundle of `job`, or of all jobs for `None`, sorted and without duplicates.
pub fn executables(job: Option<Job>) -> impl Iterator<Item = &'static str> {
    let hooks = registrations(job).map(|registration| registration.executable);
    hooks.chain([COMMAND_LINE]).collect::<BTreeSet<_>>().into_iter()
}
