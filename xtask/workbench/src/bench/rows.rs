//! The table of what is measured.

use longhaul_core::event::EventName;

/// One measurement.
pub(crate) struct Row {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The event whose executable is started.
    pub(crate) event: EventName,
    /// Characters in the tool's response, the prompt or the model's last message. A prompt of 0 is the marker of a bookmark.
    pub(crate) chars: usize,
    /// Content of the activity log before each run.
    pub(crate) log: Log,
    /// Content of the config file; no file if empty.
    pub(crate) config: &'static str,
    /// Content of the pane.
    pub(crate) pane: Pane,
    /// The program that is measured.
    pub(crate) program: Program,
    /// Its limit.
    pub(crate) limit: Limit,
}

/// The program that a row measures.
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

/// The limit of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    /// No limit.
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

/// No snapshots of files.
const NO_SNAPSHOTS: &str = r#"{ "snapshots": { "enabled": false } }"#;

const STEADY: &str = "PostToolUse, steady (8 KB response)";

const GROWN: &str = "Stop, a turn more than 100 KB";
const WITHOUT_SNAPSHOTS: &str = "UserPromptSubmit, without snapshots";
const BOOKMARK_ONLY: &str = "UserPromptSubmit of a bookmark, without snapshots";
const PROMPT: &str = "UserPromptSubmit";
const STOP: &str = "Stop, below threshold";
const BLOCKS: &str = "PermissionRequest: blocked, shown in tmux";

const ROW: Row = Row {
    name: STEADY,
    event: EventName::PostToolUse,
    chars: 8 * 1024,
    log: Log::Short,
    config: "",
    pane: Pane::Any,
    program: Program::Ours,
    limit: Limit::None,
};

/// Every row, in the order of the table.
pub(crate) const ROWS: &[Row] = &[
    Row { limit: Limit::Empty(1.15), ..ROW },
    Row { name: "PostToolUse, 1 MB response", chars: 1024 * 1024, config: NEVER_DUE, limit: Limit::Empty(5.0), ..ROW },
    Row { name: "PostToolUse, 100,000-line log", log: Log::Long(100_000), limit: Limit::Other(STEADY, 1.1), ..ROW },
    Row {
        name: "PostToolUse with limits, a turn more",
        config: LIMITED,
        program: Program::OursAfterGrowth(100 << 10),
        limit: Limit::Empty(1.6),
        ..ROW
    },
    Row { name: "  the same in node", program: Program::Node, ..ROW },
    Row { name: "PostToolUse that types a bookmark", log: Log::Due, config: NO_COOLDOWN, pane: Pane::Busy, ..ROW },
    Row { name: WITHOUT_SNAPSHOTS, event: EventName::UserPromptSubmit, chars: 200, config: NO_SNAPSHOTS, ..ROW },
    // It starts one more process, and waits for nothing of it.
    Row {
        name: PROMPT,
        event: EventName::UserPromptSubmit,
        chars: 200,
        limit: Limit::Other(WITHOUT_SNAPSHOTS, 1.5),
        ..ROW
    },
    Row { name: BOOKMARK_ONLY, event: EventName::UserPromptSubmit, chars: 0, config: NO_SNAPSHOTS, ..ROW },
    Row {
        name: "UserPromptSubmit of a bookmark",
        event: EventName::UserPromptSubmit,
        chars: 0,
        limit: Limit::Other(BOOKMARK_ONLY, 1.5),
        ..ROW
    },
    Row { name: "SubagentStop, below threshold", event: EventName::SubagentStop, chars: 2000, ..ROW },
    Row { name: STOP, event: EventName::Stop, chars: 2000, limit: Limit::Empty(3.2), ..ROW },
    Row {
        name: "UserPromptSubmit, sync on",
        event: EventName::UserPromptSubmit,
        chars: 200,
        program: Program::OursWithSync,
        limit: Limit::Other(PROMPT, 1.2),
        ..ROW
    },
    Row {
        name: "Stop, sync on",
        event: EventName::Stop,
        chars: 2000,
        program: Program::OursWithSync,
        limit: Limit::Other(STOP, 1.2),
        ..ROW
    },
    // It starts one more process, and waits for nothing of it.
    Row {
        name: "Stop that starts an exchange",
        event: EventName::Stop,
        chars: 2000,
        program: Program::OursThatExchanges,
        limit: Limit::Other(STOP, 1.5),
        ..ROW
    },
    Row {
        name: "Stop that injects",
        event: EventName::Stop,
        chars: 2000,
        log: Log::Due,
        config: NO_COOLDOWN,
        pane: Pane::Idle,
        ..ROW
    },
    Row { name: "SessionStart", event: EventName::SessionStart, log: Log::None, ..ROW },
    Row {
        name: BLOCKS,
        event: EventName::PermissionRequest,
        program: Program::OursAfterPrompt,
        limit: Limit::Empty(8.0),
        ..ROW
    },
    Row {
        name: "  the same in bash, with sqlite3",
        event: EventName::PermissionRequest,
        program: Program::Bash,
        ..ROW
    },
    Row { name: GROWN, event: EventName::Stop, chars: 200, program: Program::OursAfterGrowth(100 << 10), ..ROW },
    Row {
        name: "Stop with a turn, shown in tmux",
        event: EventName::Stop,
        chars: 200,
        program: Program::OursAfterPromptAndGrowth(100 << 10),
        limit: Limit::Empty(8.0),
        ..ROW
    },
    Row {
        name: "Stop, a turn more than 10 MB",
        event: EventName::Stop,
        chars: 200,
        program: Program::OursAfterGrowth(10 << 20),
        limit: Limit::Other(GROWN, 1.2),
        ..ROW
    },
    Row {
        name: "Stop, a turn more than 100 MB",
        event: EventName::Stop,
        chars: 200,
        program: Program::OursAfterGrowth(100 << 20),
        limit: Limit::Other(GROWN, 1.2),
        ..ROW
    },
    Row {
        name: "SessionStart that hands over, of 1,000",
        event: EventName::SessionStart,
        program: Program::OursWithBaton,
        limit: Limit::Empty(10.0),
        ..ROW
    },
    Row {
        name: "SessionStart after a compaction of 100 KB",
        event: EventName::SessionStart,
        program: Program::OursAfterCompaction(100 << 10),
        limit: Limit::Empty(6.0),
        ..ROW
    },
    Row {
        name: "SessionStart after a compaction of 10 MB",
        event: EventName::SessionStart,
        program: Program::OursAfterCompaction(10 << 20),
        limit: Limit::Empty(6.0),
        ..ROW
    },
];

/// How the cost of a hook grows with an amount.
pub(crate) struct Series {
    /// The plot's file name without its extension.
    pub(crate) file: &'static str,
    /// Title of the plot.
    pub(crate) title: &'static str,
    /// Label of the x axis.
    pub(crate) along: &'static str,
    /// An amount on the x axis, and the row measured there.
    pub(crate) points: &'static [(f64, Row)],
}

const KB: usize = 1024;

const fn response(chars: usize) -> Row {
    Row { name: "PostToolUse by response", chars, config: NEVER_DUE, ..ROW }
}

const fn logged(lines: u64) -> Row {
    Row { name: "PostToolUse by log", log: Log::Long(lines), ..ROW }
}

const fn grown(bytes: u64) -> Row {
    Row {
        name: "Stop by transcript",
        event: EventName::Stop,
        chars: 200,
        program: Program::OursAfterGrowth(bytes),
        ..ROW
    }
}

const fn remembered(observations: usize) -> Row {
    Row {
        name: "SessionStart by memory",
        event: EventName::SessionStart,
        program: Program::OursWithMemory(observations),
        ..ROW
    }
}

/// Every series.
pub(crate) const SERIES: &[Series] = &[
    Series {
        file: "response",
        title: "PostToolUse, by the size of the tool's response",
        along: "KB of response",
        points: &[
            (1.0, response(KB)),
            (8.0, response(8 * KB)),
            (64.0, response(64 * KB)),
            (256.0, response(256 * KB)),
            (1024.0, response(1024 * KB)),
        ],
    },
    Series {
        file: "log",
        title: "PostToolUse, by the session's activity log",
        along: "lines of log",
        points: &[
            (100.0, logged(100)),
            (1_000.0, logged(1_000)),
            (10_000.0, logged(10_000)),
            (100_000.0, logged(100_000)),
        ],
    },
    Series {
        file: "transcript",
        title: "Stop with one turn more, by the session's transcript",
        along: "KB of transcript",
        points: &[
            (100.0, grown(100 << 10)),
            (1_024.0, grown(1 << 20)),
            (10_240.0, grown(10 << 20)),
            (102_400.0, grown(100 << 20)),
        ],
    },
    Series {
        file: "memory",
        title: "SessionStart with its page, by what the project's memory holds",
        along: "observations",
        points: &[
            (100.0, remembered(100)),
            (1_000.0, remembered(1_000)),
            (10_000.0, remembered(10_000)),
            (50_000.0, remembered(50_000)),
        ],
    },
];
