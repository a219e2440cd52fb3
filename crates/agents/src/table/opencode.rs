//! opencode, as version 1.18.33 behaves, and what each of its events means. They come from Longhaul's module
//! (`setup/src/agents/opencode.js`), under the names that opencode gives them.

use longhaul_core::catalog::AGENT_EXECUTABLE;
use longhaul_core::event::EventName;

use crate::agent::{
    Agent, Alias, Condition, ConfigFile, ConfigShape, Dialog, EventRule, Feature, Folder, PromptIds, SessionsAtOnce,
    Support, TimeoutUnit, UsageSource, aliases,
};

pub(super) const AGENT: Agent = Agent {
    name: "opencode",
    title: "opencode",
    package: "opencode-ai",
    program: "opencode",
    executable: AGENT_EXECUTABLE,
    option: "--agent opencode",
    events: &[
        EventRule::new("session.start", EventName::SessionStart, 5),
        EventRule::new("chat.message", EventName::UserPromptSubmit, 3).only_if(Condition::Filled("prompt")),
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
    tools: aliases!(
        "bash" => "Bash",
        "read" => "Read",
        "write" => "Write",
        "edit" => "Edit",
        "list" => "LS",
        "glob" => "Glob",
        "grep" => "Grep",
        "webfetch" => "WebFetch",
        "websearch" => "WebSearch",
        "todowrite" => "TodoWrite",
        "todoread" => "TodoRead",
        "task" => "Task",
    ),
    inputs: aliases!("filePath" => "file_path", "oldString" => "old_string", "newString" => "new_string"),
    dialogs: &[
        Dialog { kind: "edit", tool: "Edit", shown: Alias { theirs: "filepath", ours: "file_path" } },
        Dialog { kind: "bash", tool: "Bash", shown: Alias { theirs: "pattern", ours: "command" } },
        Dialog { kind: "webfetch", tool: "WebFetch", shown: Alias { theirs: "url", ours: "url" } },
        Dialog { kind: "read", tool: "Read", shown: Alias { theirs: "filepath", ours: "file_path" } },
    ],
    prompt_ids: PromptIds::Sent,
    usage: UsageSource::StopPayload,
    deaf_at_start: None,
    sessions: SessionsAtOnce::Several,
    transcripts: None,
    timeout: TimeoutUnit::Milliseconds,
    config: ConfigFile {
        folder: Folder::Config("opencode"),
        // `OPENCODE_CONFIG_DIR` names a further folder: modules in this one are still loaded.
        variable: None,
        file: "plugin/longhaul.js",
        shape: ConfigShape::Module,
    },
    resume: &["--session"],
    features: &[
        (Feature::Status, Support::Works),
        (Feature::Permission, Support::Works),
        (Feature::Memory, Support::Works),
        (Feature::Recall, Support::Works),
        (Feature::Handoff, Support::Works),
        (
            Feature::Compaction,
            Support::Partly("without open tasks, which no hook stores; not after opencode is started again"),
        ),
        (Feature::Mcp, Support::Works),
        (Feature::Monitor, Support::Works),
        (Feature::Resume, Support::Works),
        (Feature::Bookmarks, Support::No("a bookmark is a message that `/rewind` of Claude Code lists")),
        (Feature::Continuation, Support::No("nothing is typed into opencode")),
    ],
};
