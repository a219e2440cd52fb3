//! Codex, as version 0.166 behaves. It has an executable of its own: its payloads are Claude Code's, its transcript is read, and
//! its windows share one process.

use longhaul_core::catalog::CODEX_EXECUTABLE;
use longhaul_core::event::EventName;

use crate::agent::{
    Agent, ConfigFile, ConfigShape, EventRule, Feature, Folder, PromptIds, SessionsAtOnce, Support, TimeoutUnit,
    UsageSource, aliases,
};

pub(super) const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    package: "@openai/codex",
    program: "codex",
    executable: CODEX_EXECUTABLE,
    // Codex asks its user to trust the command of a hook, and asks again when it changes: neither this option nor the
    // arguments of the events may ever change.
    option: "--codex",
    events: &[
        EventRule::new("SessionStart", EventName::SessionStart, 5)
            .called("session-start")
            .about("Records the session; shows what it continues, and the project's memory; after a compaction, what its summary lacks"),
        EventRule::new("UserPromptSubmit", EventName::UserPromptSubmit, 3).called("user-prompt-submit").about(
            "A turn begins: working; records the prompt, writes a baton for `$longhaul handoff`, and adds what other sessions said about it",
        ),
        EventRule::new("PermissionRequest", EventName::PermissionRequest, 3)
            .called("permission-request")
            .about("The session waits for an answer: blocked"),
        EventRule::new("PostToolUse", EventName::PostToolUse, 3)
            .called("post-tool-use")
            .about("The answer was given: working"),
        EventRule::new("PreCompact", EventName::PreCompact, 10)
            .called("pre-compact")
            .about("Stores the conversation before it is compacted, and what will be needed of it"),
        EventRule::new("Stop", EventName::Stop, 5).called("stop").about(
            "The turn is over: completed; stores and summarizes it from the rollout; writes a baton near the limit of the context",
        ),
        EventRule::new("SessionEnd", EventName::SessionEnd, 3)
            .called("session-end")
            .about("Removes the session from the counts in tmux"),
    ],
    fields: &[],
    tools: aliases!("exec_command" => "Bash", "view_image" => "Read", "update_plan" => "TodoWrite"),
    inputs: &[],
    dialogs: &[],
    prompt_ids: PromptIds::Sent,
    usage: UsageSource::Rollout,
    deaf_at_start: None,
    sessions: SessionsAtOnce::One,
    transcripts: None,
    timeout: TimeoutUnit::Seconds,
    config: ConfigFile { folder: Folder::Codex, variable: None, file: "hooks.json", shape: ConfigShape::CodexHooks },
    resume: &["resume"],
    features: &[
        (
            Feature::Status,
            Support::Partly("if two windows in one folder are new and show the same prompt, the pane is not known"),
        ),
        (Feature::Permission, Support::Works),
        (Feature::Memory, Support::Works),
        (Feature::Recall, Support::Works),
        (Feature::Handoff, Support::Works),
        (Feature::Compaction, Support::Works),
        (Feature::Mcp, Support::Works),
        (Feature::Monitor, Support::Works),
        (Feature::Resume, Support::Works),
        (Feature::Bookmarks, Support::No("a bookmark is a message that `/rewind` of Claude Code lists")),
        (Feature::Continuation, Support::Partly("only in tmux; elsewhere a message says that the baton is written")),
    ],
};
