//! The tables of the agents: events, time limits of hooks, names of fields and tools, configuration.

use longhaul_core::event::EventName;

use crate::agent::{
    Agent, Condition, ConfigFile, ConfigShape, Dialog, EventRule, Feature, Folder, FolderVariable, Support, UsageSource,
};

/// Every agent other than Claude Code.
pub const ALL: [&Agent; 4] = [&CODEX, &GEMINI, &QWEN, &OPENCODE];

/// Returns the agent of that name.
pub fn find(name: &str) -> Option<&'static Agent> {
    ALL.into_iter().find(|agent| agent.name == name)
}

const NO_REWIND: Support = Support::No("a bookmark is a message that `/rewind` of Claude Code lists");

const CODEX: Agent = Agent {
    name: "codex",
    title: "Codex",
    package: "@openai/codex",
    program: "codex",
    // Codex asks its user to trust the command of a hook, and asks again when it changes: neither this option nor the
    // arguments of the events may ever change.
    option: "--codex",
    events: &[
        EventRule {
            argument: "session-start",
            about: "Records the session; shows what it continues, and the project's memory; after a compaction, what its summary lacks",
            ..EventRule::new("SessionStart", EventName::SessionStart, 5)
        },
        EventRule {
            argument: "user-prompt-submit",
            about: "A turn begins: working; records the prompt, writes a baton for `$longhaul handoff`, and adds what other sessions said about it",
            ..EventRule::new("UserPromptSubmit", EventName::UserPromptSubmit, 3)
        },
        EventRule {
            argument: "permission-request",
            about: "The session waits for an answer: blocked",
            ..EventRule::new("PermissionRequest", EventName::PermissionRequest, 3)
        },
        EventRule {
            argument: "post-tool-use",
            about: "The answer was given: working",
            ..EventRule::new("PostToolUse", EventName::PostToolUse, 3)
        },
        EventRule {
            argument: "pre-compact",
            about: "Stores the conversation before it is compacted, and what will be needed of it",
            ..EventRule::new("PreCompact", EventName::PreCompact, 10)
        },
        EventRule {
            argument: "stop",
            about: "The turn is over: completed; stores and summarizes it from the rollout; writes a baton near the limit of the context",
            ..EventRule::new("Stop", EventName::Stop, 5)
        },
        EventRule {
            argument: "session-end",
            about: "Removes the session from the counts in tmux",
            ..EventRule::new("SessionEnd", EventName::SessionEnd, 3)
        },
    ],
    fields: &[],
    tools: &[("exec_command", "Bash"), ("view_image", "Read"), ("update_plan", "TodoWrite")],
    inputs: &[],
    dialogs: &[],
    sends_prompt_ids: true,
    usage: UsageSource::Rollout,
    deaf_at_start: None,
    timeout_units: 1,
    config: ConfigFile { folder: Folder::Codex, variable: None, file: "hooks.json", shape: ConfigShape::CodexHooks },
    resume: &["resume"],
    limits: &[
        (
            Feature::Status,
            Support::Partly("if two windows in one folder are new and show the same prompt, the pane is not known"),
        ),
        (Feature::Bookmarks, NO_REWIND),
        (Feature::Continuation, Support::Partly("only in tmux; elsewhere a message says that the baton is written")),
    ],
};

const GEMINI: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    package: "@google/gemini-cli",
    program: "gemini",
    option: "--agent gemini",
    // Not registered: BeforeTool, which comes before the permission dialog, and PreCompress, which Gemini CLI sends before
    // every request, also when nothing is compressed.
    events: &[
        EventRule::new("SessionStart", EventName::SessionStart, 5),
        EventRule {
            condition: Condition::Filled("prompt"),
            ..EventRule::new("BeforeAgent", EventName::UserPromptSubmit, 3)
        },
        EventRule {
            condition: Condition::Equals("notification_type", "ToolPermission"),
            ..EventRule::new("Notification", EventName::PermissionRequest, 3)
        },
        EventRule::new("AfterTool", EventName::PostToolUse, 3),
        EventRule::new("AfterAgent", EventName::Stop, 5),
        EventRule::new("SessionEnd", EventName::SessionEnd, 3),
    ],
    fields: &[("prompt_response", "last_assistant_message")],
    tools: &[
        ("run_shell_command", "Bash"),
        ("read_file", "Read"),
        ("write_file", "Write"),
        ("replace", "Edit"),
        ("list_directory", "LS"),
        ("glob", "Glob"),
        ("grep_search", "Grep"),
        ("search_file_content", "Grep"),
        ("web_fetch", "WebFetch"),
        ("google_web_search", "WebSearch"),
        ("write_todos", "TodoWrite"),
    ],
    inputs: &[("dir_path", "path")],
    dialogs: &[
        Dialog { kind: "edit", tool: "Edit", shown: ("filePath", "file_path") },
        Dialog { kind: "exec", tool: "Bash", shown: ("command", "command") },
        Dialog { kind: "info", tool: "WebFetch", shown: ("prompt", "url") },
    ],
    sends_prompt_ids: false,
    usage: UsageSource::Transcript { window: 1_048_576 },
    // The answer is only added to the history when the program starts.
    deaf_at_start: Some("clear"),
    timeout_units: 1_000,
    config: ConfigFile {
        folder: Folder::Home(".gemini"),
        variable: Some(FolderVariable::Home("GEMINI_CLI_HOME")),
        file: "settings.json",
        shape: ConfigShape::HookGroups,
    },
    resume: &["--resume"],
    limits: &[
        (
            Feature::Status,
            Support::Partly("no hook reports a turn that Esc interrupts: it counts as working until the next prompt"),
        ),
        (Feature::Permission, Support::Partly("no hook reports a refusal: it counts as blocked until the next prompt")),
        (Feature::Memory, Support::Partly("a call whose arguments Gemini CLI rejects is reported by no hook")),
        (
            Feature::Compaction,
            Support::No(
                "no hook reports a compression: PreCompress runs before every request, and nothing runs afterwards",
            ),
        ),
        (Feature::Bookmarks, NO_REWIND),
        (Feature::Continuation, Support::No("nothing is typed into Gemini CLI")),
    ],
};

const QWEN: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    package: "@qwen-code/qwen-code",
    program: "qwen",
    option: "--agent qwen",
    events: &[
        EventRule::new("SessionStart", EventName::SessionStart, 5),
        // It is also sent with every result of a tool, without a text.
        EventRule {
            condition: Condition::Filled("prompt"),
            ..EventRule::new("UserPromptSubmit", EventName::UserPromptSubmit, 3)
        },
        EventRule::new("PermissionRequest", EventName::PermissionRequest, 3),
        EventRule::new("PostToolUse", EventName::PostToolUse, 3),
        EventRule::new("PostToolUseFailure", EventName::PostToolUseFailure, 3),
        EventRule::new("SubagentStart", EventName::SubagentStart, 3),
        EventRule::new("SubagentStop", EventName::SubagentStop, 3),
        EventRule::new("PreCompact", EventName::PreCompact, 10),
        EventRule::new("PostCompact", EventName::PostCompact, 3),
        EventRule::new("Stop", EventName::Stop, 5),
        EventRule::new("StopFailure", EventName::StopFailure, 3),
        EventRule::new("SessionEnd", EventName::SessionEnd, 3),
    ],
    fields: &[],
    tools: &[
        ("run_shell_command", "Bash"),
        ("read_file", "Read"),
        ("write_file", "Write"),
        ("edit", "Edit"),
        ("notebook_edit", "NotebookEdit"),
        ("list_directory", "LS"),
        ("glob", "Glob"),
        ("grep_search", "Grep"),
        ("web_fetch", "WebFetch"),
        ("web_search", "WebSearch"),
        ("todo_write", "TodoWrite"),
        ("task", "Task"),
        ("agent", "Agent"),
    ],
    inputs: &[],
    dialogs: &[],
    sends_prompt_ids: true,
    usage: UsageSource::StopPayload,
    deaf_at_start: None,
    // A timeout of 1000 or more is read as milliseconds, as before version 0.24.
    timeout_units: 1_000,
    config: ConfigFile {
        folder: Folder::Home(".qwen"),
        variable: Some(FolderVariable::Folder("QWEN_HOME")),
        file: "settings.json",
        shape: ConfigShape::HookGroups,
    },
    resume: &["--resume"],
    limits: &[
        (
            Feature::Status,
            Support::Partly("no hook reports a turn that Esc interrupts: it counts as working until the next prompt"),
        ),
        (Feature::Permission, Support::Partly("no hook reports a refusal: it counts as blocked until the next prompt")),
        (
            Feature::Compaction,
            Support::Partly("without open tasks, which no hook stores; within a turn, from the second request on"),
        ),
        (Feature::Bookmarks, NO_REWIND),
        (Feature::Continuation, Support::No("nothing is typed into Qwen Code")),
    ],
};

const OPENCODE: Agent = Agent {
    name: "opencode",
    title: "opencode",
    package: "opencode-ai",
    program: "opencode",
    option: "--agent opencode",
    events: &[
        EventRule::new("session.start", EventName::SessionStart, 5),
        EventRule {
            condition: Condition::Filled("prompt"),
            ..EventRule::new("chat.message", EventName::UserPromptSubmit, 3)
        },
        EventRule::new("permission.asked", EventName::PermissionRequest, 3),
        // The answer to a dialog: the session works again.
        EventRule::new("permission.replied", EventName::PostToolUse, 3),
        EventRule::new("tool.execute.after", EventName::PostToolUse, 3),
        EventRule::new("session.compacting", EventName::PreCompact, 10),
        EventRule::new("session.compacted", EventName::PostCompact, 3),
        EventRule::new("session.idle", EventName::Stop, 5),
        EventRule::new("session.error", EventName::StopFailure, 3),
        EventRule::new("session.end", EventName::SessionEnd, 3),
    ],
    fields: &[],
    tools: &[
        ("bash", "Bash"),
        ("read", "Read"),
        ("write", "Write"),
        ("edit", "Edit"),
        ("list", "LS"),
        ("glob", "Glob"),
        ("grep", "Grep"),
        ("webfetch", "WebFetch"),
        ("websearch", "WebSearch"),
        ("todowrite", "TodoWrite"),
        ("todoread", "TodoRead"),
        ("task", "Task"),
    ],
    inputs: &[("filePath", "file_path"), ("oldString", "old_string"), ("newString", "new_string")],
    dialogs: &[
        Dialog { kind: "edit", tool: "Edit", shown: ("filepath", "file_path") },
        Dialog { kind: "bash", tool: "Bash", shown: ("pattern", "command") },
        Dialog { kind: "webfetch", tool: "WebFetch", shown: ("url", "url") },
        Dialog { kind: "read", tool: "Read", shown: ("filepath", "file_path") },
    ],
    sends_prompt_ids: true,
    usage: UsageSource::StopPayload,
    deaf_at_start: None,
    timeout_units: 1_000,
    config: ConfigFile {
        folder: Folder::Config("opencode"),
        // `OPENCODE_CONFIG_DIR` names a further folder: modules in this one are still loaded.
        variable: None,
        file: "plugin/longhaul.js",
        shape: ConfigShape::Module,
    },
    resume: &["--session"],
    limits: &[
        (
            Feature::Compaction,
            Support::Partly("without open tasks, which no hook stores; not after opencode is started again"),
        ),
        (Feature::Bookmarks, NO_REWIND),
        (Feature::Continuation, Support::No("nothing is typed into opencode")),
    ],
};
