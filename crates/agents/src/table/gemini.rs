//! Gemini CLI, as version 0.61.0 behaves.

use longhaul_core::catalog::AGENT_EXECUTABLE;
use longhaul_core::event::EventName;

use crate::agent::{
    Agent, Alias, Condition, ConfigFile, ConfigShape, Dialog, EventRule, Feature, Folder, FolderVariable, PromptIds,
    SessionsAtOnce, Support, TimeoutUnit, UsageSource, aliases,
};

pub(super) const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    package: "@google/gemini-cli",
    program: "gemini",
    executable: AGENT_EXECUTABLE,
    option: "--agent gemini",
    // Not registered: BeforeTool, which comes before the permission dialog, and PreCompress, which Gemini CLI sends before
    // every request, also when nothing is compressed.
    events: &[
        EventRule::new("SessionStart", EventName::SessionStart, 5),
        EventRule::new("BeforeAgent", EventName::UserPromptSubmit, 3).only_if(Condition::Filled("prompt")),
        EventRule::new("Notification", EventName::PermissionRequest, 3)
            .only_if(Condition::Equals("notification_type", "ToolPermission")),
        EventRule::new("AfterTool", EventName::PostToolUse, 3),
        EventRule::new("AfterAgent", EventName::Stop, 5),
        EventRule::new("SessionEnd", EventName::SessionEnd, 3),
    ],
    fields: aliases!("prompt_response" => "last_assistant_message"),
    tools: aliases!(
        "run_shell_command" => "Bash",
        "read_file" => "Read",
        "write_file" => "Write",
        "replace" => "Edit",
        "list_directory" => "LS",
        "glob" => "Glob",
        "grep_search" => "Grep",
        "search_file_content" => "Grep",
        "web_fetch" => "WebFetch",
        "google_web_search" => "WebSearch",
        "write_todos" => "TodoWrite",
    ),
    inputs: aliases!("dir_path" => "path"),
    dialogs: &[
        Dialog { kind: "edit", tool: "Edit", shown: Alias { theirs: "filePath", ours: "file_path" } },
        Dialog { kind: "exec", tool: "Bash", shown: Alias { theirs: "command", ours: "command" } },
        Dialog { kind: "info", tool: "WebFetch", shown: Alias { theirs: "prompt", ours: "url" } },
    ],
    prompt_ids: PromptIds::TimeOfPrompt,
    usage: UsageSource::Transcript { window: 1_048_576 },
    // The answer is only added to the history when the program starts.
    deaf_at_start: Some("clear"),
    sessions: SessionsAtOnce::One,
    transcripts: Some("/.gemini/tmp/"),
    timeout: TimeoutUnit::Milliseconds,
    config: ConfigFile {
        folder: Folder::Home(".gemini"),
        variable: Some(FolderVariable::Home("GEMINI_CLI_HOME")),
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
        (Feature::Memory, Support::Partly("a call whose arguments Gemini CLI rejects is reported by no hook")),
        (Feature::Recall, Support::Works),
        (Feature::Handoff, Support::Works),
        (
            Feature::Compaction,
            Support::No(
                "no hook reports a compression: PreCompress runs before every request, and nothing runs afterwards",
            ),
        ),
        (Feature::Mcp, Support::Works),
        (Feature::Monitor, Support::Works),
        (Feature::Resume, Support::Works),
        (Feature::Bookmarks, Support::No("a bookmark is a message that `/rewind` of Claude Code lists")),
        (Feature::Continuation, Support::No("nothing is typed into Gemini CLI")),
    ],
};
