//! The table of what is measured.

use longhaul_core::event::EventName;

/// One measurement.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The event whose executable is started.
    pub(crate) event: EventName,
    /// Characters in the tool's response, the prompt or the model's last message. A prompt of 0 is the marker of a bookmark.
    pub(crate) chars: usize,
    pub(crate) log: Log,
    /// Content of the config file; no file if empty.
    pub(crate) config: &'static str,
    pub(crate) pane: Pane,
    pub(crate) program: Program,
    pub(crate) limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// The event's executable.
    Ours,
    /// The event's executable, after a prompt that is not measured: the session is working, and the event changes that.
    OursAfterPrompt,
    /// The same work in bash, with sqlite3 and tmux commands.
    Bash,
    /// The event's executable, for a session whose transcript has this many bytes and has grown by one turn.
    OursAfterGrowth(u64),
    /// The same after a prompt that is not measured: the event also changes the state that tmux shows.
    OursAfterPromptAndGrowth(u64),
    /// The event's executable, after PreCompact of a session whose transcript has this many bytes.
    OursAfterCompaction(u64),
    /// The event's executable, with a thousand earlier sessions and a baton of the last.
    OursWithBaton,
    /// The event's executable, with this many observations of the project in the memory.
    OursWithMemory(usize),
    /// The event's executable, on a machine with a circle in a folder, in a project that is shared.
    OursWithSync,
    /// The same, with the last exchange so long ago that the event starts one.
    OursThatExchanges,
    /// The same work in node: it reads the payload and writes a line.
    Node,
}

/// Content of the activity log before each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// Empty: the session has just started.
    None,
    /// A prompt and some tool calls, below every threshold.
    Short,
    /// The same at the end of this many lines.
    Long(u64),
    /// Enough activity for a bookmark.
    Due,
    /// What the previous runs have left.
    AsItIs,
}

/// Content of the pane that the hook finds in its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    /// Anything; the hook does not inspect it.
    Any,
    /// The stand-in, in the middle of a turn: the hook types.
    Busy,
    /// The stand-in, idle: the detached injector types, after the hook has returned.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    None,
    /// This multiple of the empty program.
    Empty(f64),
    /// This multiple of the row with that name.
    Other(&'static str, f64),
}

/// No bookmark is due, whatever a tool returns.
const NEVER_DUE: &str = r#"{ "bookmarks": { "thresholds": { "min_tokens": 1000000000 } } }"#;
/// A bookmark may follow the previous one at once.
const NO_COOLDOWN: &str = r#"{ "bookmarks": { "thresholds": { "cooldown_seconds": 0 } } }"#;

/// Limits that are never reached.
const LIMITED: &str = r#"{ "limits": { "session": 1000000, "day": 1000000 } }"#;

const NO_SNAPSHOTS: &str = r#"{ "snapshots": { "enabled": false } }"#;

const STEADY: &str = "PostToolUse, steady (8 KB response)";

const GROWN: &str = "Stop, a turn more than 100 KB";
const WITHOUT_SNAPSHOTS: &str = "UserPromptSubmit, without snapshots";
const BOOKMARK_ONLY: &str = "UserPromptSubmit of a bookmark, without snapshots";
const PROMPT: &str = "UserPromptSubmit";
const STOP: &str = "Stop, below threshold";
const BLOCKS: &str = "PermissionRequest: blocked, shown in tmux";

const fn row(name: &'static str, event: EventName, chars: usize) -> Row {
    let (log, config, pane) = (Log::Short, "", Pane::Any);
    Row { name, event, chars, log, config, pane, program: Program::Ours, limit: Limit::None }
}

/// A tool call with a response of 8 KB.
const fn call(name: &'static str) -> Row {
    row(name, EventName::PostToolUse, 8 * 1024)
}

const fn prompt(name: &'static str) -> Row {
    row(name, EventName::UserPromptSubmit, 200)
}

const fn stop(name: &'static str) -> Row {
    row(name, EventName::Stop, 2000)
}

const fn stop_after_growth(name: &'static str, bytes: u64, limit: Limit) -> Row {
    Row { program: Program::OursAfterGrowth(bytes), limit, ..row(name, EventName::Stop, 200) }
}

const fn start(name: &'static str, program: Program, limit: Limit) -> Row {
    Row { program, limit, ..row(name, EventName::SessionStart, 0) }
}

const fn blocked(name: &'static str, program: Program, limit: Limit) -> Row {
    Row { program, limit, ..row(name, EventName::PermissionRequest, 0) }
}

/// Every row, in the order of the table.
pub(crate) const ROWS: &[Row] = &[
    Row { limit: Limit::Empty(1.15), ..call(STEADY) },
    Row { chars: 1 << 20, config: NEVER_DUE, limit: Limit::Empty(5.0), ..call("PostToolUse, 1 MB response") },
    Row { log: Log::Long(100_000), limit: Limit::Other(STEADY, 1.1), ..call("PostToolUse, 100,000-line log") },
    Row {
        config: LIMITED,
        program: Program::OursAfterGrowth(100 << 10),
        limit: Limit::Empty(1.6),
        ..call("PostToolUse with limits, a turn more")
    },
    Row { program: Program::Node, ..call("  the same in node") },
    Row { log: Log::Due, config: NO_COOLDOWN, pane: Pane::Busy, ..call("PostToolUse that types a bookmark") },
    Row { config: NO_SNAPSHOTS, ..prompt(WITHOUT_SNAPSHOTS) },
    // It starts one more process, and waits for nothing of it.
    Row { limit: Limit::Other(WITHOUT_SNAPSHOTS, 1.5), ..prompt(PROMPT) },
    Row { chars: 0, config: NO_SNAPSHOTS, ..prompt(BOOKMARK_ONLY) },
    Row { chars: 0, limit: Limit::Other(BOOKMARK_ONLY, 1.5), ..prompt("UserPromptSubmit of a bookmark") },
    row("SubagentStop, below threshold", EventName::SubagentStop, 2000),
    Row { limit: Limit::Empty(3.2), ..stop(STOP) },
    Row { program: Program::OursWithSync, limit: Limit::Other(PROMPT, 1.2), ..prompt("UserPromptSubmit, sync on") },
    Row { program: Program::OursWithSync, limit: Limit::Other(STOP, 1.2), ..stop("Stop, sync on") },
    // It starts one more process, and waits for nothing of it.
    Row { program: Program::OursThatExchanges, limit: Limit::Other(STOP, 1.5), ..stop("Stop that starts an exchange") },
    Row { log: Log::Due, config: NO_COOLDOWN, pane: Pane::Idle, ..stop("Stop that injects") },
    Row { log: Log::None, ..start("SessionStart", Program::Ours, Limit::None) },
    blocked(BLOCKS, Program::OursAfterPrompt, Limit::Empty(8.0)),
    blocked("  the same in bash, with sqlite3", Program::Bash, Limit::None),
    stop_after_growth(GROWN, 100 << 10, Limit::None),
    Row {
        program: Program::OursAfterPromptAndGrowth(100 << 10),
        ..stop_after_growth("Stop with a turn, shown in tmux", 0, Limit::Empty(8.0))
    },
    stop_after_growth("Stop, a turn more than 10 MB", 10 << 20, Limit::Other(GROWN, 1.2)),
    stop_after_growth("Stop, a turn more than 100 MB", 100 << 20, Limit::Other(GROWN, 1.2)),
    start("SessionStart that hands over, of 1,000", Program::OursWithBaton, Limit::Empty(10.0)),
    start("SessionStart after a compaction of 100 KB", Program::OursAfterCompaction(100 << 10), Limit::Empty(6.0)),
    start("SessionStart after a compaction of 10 MB", Program::OursAfterCompaction(10 << 20), Limit::Empty(6.0)),
];

/// How the cost of a hook grows with an amount.
pub(crate) struct Series {
    /// The plot's file name without its extension.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    /// Label of the x axis.
    pub(crate) along: &'static str,
    pub(crate) amounts: &'static [u64],
    /// Returns the row that is measured at an amount.
    pub(crate) row: fn(u64) -> Row,
}

pub(crate) const SERIES: &[Series] = &[
    Series {
        file: "response",
        title: "PostToolUse, by the size of the tool's response",
        along: "KB of response",
        amounts: &[1, 8, 64, 256, 1024],
        row: |kb| Row { chars: kb as usize * 1024, config: NEVER_DUE, ..call("PostToolUse by response") },
    },
    Series {
        file: "log",
        title: "PostToolUse, by the session's activity log",
        along: "lines of log",
        amounts: &[100, 1_000, 10_000, 100_000],
        row: |lines| Row { log: Log::Long(lines), ..call("PostToolUse by log") },
    },
    Series {
        file: "transcript",
        title: "Stop with one turn more, by the session's transcript",
        along: "KB of transcript",
        amounts: &[100, 1_024, 10_240, 102_400],
        row: |kb| stop_after_growth("Stop by transcript", kb << 10, Limit::None),
    },
    Series {
        file: "memory",
        title: "SessionStart with its page, by what the project's memory holds",
        along: "observations",
        amounts: &[100, 1_000, 10_000, 50_000],
        row: |count| start("SessionStart by memory", Program::OursWithMemory(count as usize), Limit::None),
    },
];
