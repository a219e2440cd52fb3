//! Qwen Code, as version 0.24.4 behaves.

use longhaul_core::catalog::AGENT_EXECUTABLE;
use longhaul_core::event::EventName;

use crate::agent::{
    Agent, Condition, ConfigFile, ConfigShape, EventRule, Feature, Folder, FolderVariable, PromptIds, SessionsAtOnce,
    Support, TimeoutUnit, UsageSource, aliases,
};

pub(super) const AGENT: Agent = Agent {
    name: "qwen",
    title: "Qwen Code",
    package: "@qwen-code/qwen-code",
    program: "qwen",
    executable: AGENT_EXECUTABLE,
    option: "--agent qwen",
    events: &[
        EventRule::new("SessionStart", EventName::SessionStart, 5),
        // It is also sent with every result of a tool, without a text.
        EventRule::new("UserPromptSubmit", EventName::UserPromptSubmit, 3).only_if(Condition::Filled("prompt")),
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
    tools: aliases!(
        "run_shell_command" => "Bash",
        "read_file" => "Read",
        "write_file" => "Write",
        "edit" => "Edit",
        "notebook_edit" => "NotebookEdit",
        "list_directory" => "LS",
        "glob" => "Glob",
        "grep_search" => "Grep",
        "web_fetch" => "WebFetch",
        "web_search" => "WebSearch",
        "todo_write" => "TodoWrite",
        "task" => "Task",
        "agent" => "Agent",
    ),
    inputs: &[],
    dialogs: &[],
    prompt_ids: PromptIds::Sent,
    usage: UsageSource::StopPayload,
    deaf_at_start: None,
    sessions: SessionsAtOnce::One,
    transcripts: Some("/.qwen/projects/"),
    // A timeout of 1000 or more is read as milliseconds, as before version 0.24.
    timeout: TimeoutUnit::Milliseconds,
    config: ConfigFile {
        folder: Folder::Home(".qwen"),
        variable: Some(FolderVariable::Folder("QWEN_HOME")),
        file: "settings.json",
        shape: ConfigShape::HookGroups,
    },
    resume: &["--resume"],
    features: &[
        (
            Feature::Status,
            Support::Partly("no hook reports a turn that Esc interrupts: it counts as working until the next prompt"),
        ),
        (Feature::Permission, Support::Partly("no hook reports a refusal: it counts as blocked until the next prompt")),
        (Feature::Memory, Support::Works),
        (Feature::Recall, Support::Works),
        (Feature::Handoff, Support::Works),
        (
            Feature::Compaction,
            Support::Partly("without open tasks, which no hook stores; within a turn, from the second request on"),
        ),
        (Feature::Mcp, Support::Works),
        (Feature::Monitor, Support::Works),
        (Feature::Resume, Support::Works),
        (Feature::Bookmarks, Support::No("a bookmark is a message that `/rewind` of Claude Code lists")),
        (Feature::Continuation, Support::No("nothing is typed into Qwen Code")),
    ],
};
