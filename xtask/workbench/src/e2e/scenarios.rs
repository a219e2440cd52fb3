//! The scenarios, in the order in which they run.

mod agents;
mod blame;
mod codex;
mod handoff;
mod install;
mod limits;
mod memory;
mod snapshots;
mod tracker;
mod typing;

use std::path::Path;

use anyhow::Result;

use super::world::Cast;

/// A behaviour that must work on the real client.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What it shows, for the list and the report.
    pub(crate) about: &'static str,
    /// Runs it below a temporary home.
    pub(crate) play: fn(&Cast, &Path) -> Result<()>,
}

const fn scenario(name: &'static str, about: &'static str, play: fn(&Cast, &Path) -> Result<()>) -> Scenario {
    Scenario { name, about, play }
}

/// Scenarios that take long and run only by name.
pub(crate) const LONG: &[Scenario] = &[
    scenario("chords", "as chord, with 200 of them and counts of the results", typing::many),
    scenario("views", "as view, with 20 dialogs of each kind", tracker::many),
];

/// Scenarios that type into the client, and so depend on what its screen looks like.
pub(crate) const TYPING: &[&str] =
    &["bookmark", "draft", "dialog", "typed", "typed-chord", "inputs", "vim", "turn-draft", "text-field"];

/// Scenarios that judge how long something takes, and so run alone.
pub(crate) const ALONE: &[&str] = &["marketplace", "reopen"];

/// Scenarios that run by default: first those that take longest, so that the last ones to end have ended at about the same time.
pub(crate) const ALL: &[Scenario] = &[
    scenario("long", "two hours in two minutes: 40 turns, 300 tool calls, all jobs on", handoff::long),
    scenario("gemini", "Gemini CLI: a session from its start to its end, continued by Claude Code", agents::gemini),
    scenario("qwen", "the same with Qwen Code", agents::qwen),
    scenario("opencode", "the same with opencode", agents::opencode),
    scenario("install", "longhaul install, the client's own check, and a first turn", install::install),
    scenario(
        "marketplace",
        "the universal bundle from a branch and a folder: launchers first, then links; update, uninstall",
        install::marketplace,
    ),
    scenario("unsupported", "a bundle without executables for this machine: one message", install::unsupported),
    scenario("bookmark", "a rewind point in the middle of a long turn, without a request", typing::bookmark),
    scenario("draft", "a draft is in the input again after a bookmark", typing::draft),
    scenario("dialog", "nothing is typed into an open dialog", typing::dialog),
    scenario("blocked", "a permission dialog sets blocked, yes and no end it", tracker::blocked),
    scenario(
        "view",
        "permission dialogs answered from the view with y and n; one that closes at that moment gets no key",
        tracker::few,
    ),
    scenario("esc", "the status is idle within a second of an interrupt by Esc", tracker::esc),
    scenario("clear", "after /clear the next session is shown what the old one did", handoff::clear),
    scenario("windows", "two windows of one project, each with its own baton", handoff::two_windows),
    scenario("continuation", "a full context continues in a fresh session, through the module", handoff::continuation),
    scenario(
        "first",
        "a context that is full after a first turn without tools continues, too",
        handoff::continuation_first_turn,
    ),
    scenario("typed", "the same without the module: typed", handoff::continuation_typed),
    scenario("typed-chord", "the same, submitted by the chord", handoff::continuation_by_chord),
    scenario("chord", "40 chords beside subagents that ask for permission approve nothing; Enter does", typing::few),
    scenario("cascade", "three subagents of ten calls: bookmarked in the turn, and rewound to", typing::cascade),
    scenario(
        "snapshots",
        "after a rewind to a bookmark, one command restores the files, and another takes that back",
        snapshots::snapshots,
    ),
    scenario(
        "blame",
        "an edit, a command, a formatter, a person, two sessions; commit, amend, rebase, squash: every line has its prompt",
        blame::blame,
    ),
    scenario("inputs", "a draft, menus, searches, views and modes: none of them is typed over", typing::inputs),
    scenario("vim", "in vim's insert mode the chord submits, in normal mode nothing is typed", typing::vim),
    scenario("turn-draft", "a draft is in the input again after a bookmark in the turn", typing::draft_in_turn),
    scenario("text-field", "nothing is typed into a dialog's text field, or sent from it", typing::text_field),
    scenario("memory", "session B is shown what A did, and finds it over MCP", memory::memory),
    scenario(
        "model",
        "hooks start the worker, whose model summarizes a turn after the client has ended",
        memory::model,
    ),
    scenario("recall", "a question in words that A did not use is answered from A over MCP", memory::recall),
    scenario("prompt-recall", "a question in other words brings the reply of another session", memory::prompt_recall),
    scenario(
        "sync",
        "what a session on one machine was answered comes with a prompt on another, and over MCP, with @heron",
        memory::sync,
    ),
    scenario("exit", "after /exit and SIGKILL the session is gone and remembered", tracker::exit),
    scenario("resume", "a resumed session keeps its id, a fork gets its own", tracker::resume),
    scenario("reopen", "six sessions are back in their windows after the tmux server was killed", tracker::reopen),
    scenario(
        "codex-setup",
        "longhaul install --codex: hooks, MCP server, doctor; uninstalled to the byte",
        codex::setup,
    ),
    scenario("codex-handover", "Codex goes on with what Claude Code began, and Claude Code with that", codex::handover),
    scenario("codex-clear", "a /clear in Codex is continued by Codex, and by no other agent", codex::clear),
    scenario("codex-windows", "two windows of Codex in one folder, each with its own state and baton", codex::windows),
    scenario("codex-rewind", "a turn of Codex that was taken back is not handed over", codex::rewind),
    scenario("codex-limit", "near Codex's limit the baton is written and reported, and /new goes on", codex::limit),
    scenario("codex-typed", "the same, with /clear and the first prompt typed", codex::continuation),
    scenario(
        "codex-compaction",
        "after a compaction of Codex, typed and automatic, it is given back what the summary lacks",
        codex::compaction,
    ),
    scenario(
        "compaction",
        "after /compact and an automatic compaction the session is given back what the summary lacks",
        handoff::compaction,
    ),
    scenario(
        "limits",
        "stopped within a request of a limit; goes on by `!!`, when it is raised, and in a new session",
        limits::limits,
    ),
    scenario("storm", "of five subagents at once, two may start", limits::storm),
    scenario("circles", "the same call twelve times: Claude is told after five, the user after ten", limits::circles),
    scenario("subagents", "working until the last background subagent has returned", tracker::subagents),
];
