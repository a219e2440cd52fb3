//! The scenarios, in the order in which they run.

mod agents;
mod chord;
mod codex;
mod compaction;
mod handover;
mod inputs;
mod inputs_in_turn;
mod life;
mod long;
mod marketplace;
mod memory;
mod model;
mod prompt_recall;
mod recall;
mod reopen;
mod setup;
mod snapshots;
mod states;
mod sync;
mod typing;
mod view;

use std::path::Path;

use anyhow::Result;

use super::world::Cast;

/// A behaviour that must work on the real client.
pub(crate) struct Scenario {
    /// Its name on the command line.
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
    scenario("chords", "as chord, with 200 of them and counts of the results", chord::many),
    scenario("views", "as view, with 20 dialogs of each kind", view::many),
];

/// Scenarios that type into the client, and so depend on what its screen looks like.
pub(crate) const TYPING: &[&str] =
    &["bookmark", "draft", "dialog", "typed", "typed-chord", "inputs", "vim", "turn-draft", "text-field"];

/// Scenarios that run by default.
pub(crate) const ALL: &[Scenario] = &[
    scenario("install", "longhaul install, the client's own check, and a first turn", setup::install),
    scenario(
        "marketplace",
        "the universal bundle from a branch and a folder: launchers first, then links; update, uninstall",
        marketplace::marketplace,
    ),
    scenario("unsupported", "a bundle without executables for this machine: one message", marketplace::unsupported),
    scenario("bookmark", "a rewind point in the middle of a long turn, without a request", typing::bookmark),
    scenario("draft", "a draft is in the input again after a bookmark", typing::draft),
    scenario("dialog", "nothing is typed into an open dialog", typing::dialog),
    scenario("blocked", "a permission dialog sets blocked, yes and no end it", states::blocked),
    scenario(
        "view",
        "permission dialogs answered from the view with y and n; one that closes at that moment gets no key",
        view::few,
    ),
    scenario("esc", "the status is idle within a second of an interrupt by Esc", states::esc),
    scenario("clear", "after /clear the next session is shown what the old one did", handover::clear),
    scenario("windows", "two windows of one project, each with its own baton", handover::two_windows),
    scenario("continuation", "a full context continues in a fresh session, through the module", handover::continuation),
    scenario(
        "first",
        "a context that is full after a first turn without tools continues, too",
        handover::continuation_first_turn,
    ),
    scenario("typed", "the same without the module: typed", handover::continuation_typed),
    scenario("typed-chord", "the same, submitted by the chord", handover::continuation_by_chord),
    scenario("chord", "40 chords beside subagents that ask for permission approve nothing; Enter does", chord::few),
    scenario("cascade", "three subagents of ten calls: bookmarked in the turn, and rewound to", chord::cascade),
    scenario(
        "snapshots",
        "after a rewind to a bookmark, one command restores the files, and another takes that back",
        snapshots::snapshots,
    ),
    scenario("inputs", "a draft, menus, searches, views and modes: none of them is typed over", inputs::inputs),
    scenario("vim", "in vim's insert mode the chord submits, in normal mode nothing is typed", inputs::vim),
    scenario("turn-draft", "a draft is in the input again after a bookmark in the turn", inputs_in_turn::draft_in_turn),
    scenario("text-field", "nothing is typed into a dialog's text field, or sent from it", inputs_in_turn::text_field),
    scenario("memory", "session B is shown what A did, and finds it over MCP", memory::memory),
    scenario("model", "hooks start the worker, whose model summarizes a turn after the client has ended", model::model),
    scenario("recall", "a question in words that A did not use is answered from A over MCP", recall::recall),
    scenario(
        "prompt-recall",
        "a question in other words brings the reply of another session",
        prompt_recall::prompt_recall,
    ),
    scenario(
        "sync",
        "what a session on one machine was answered comes with a prompt on another, and over MCP, with @heron",
        sync::sync,
    ),
    scenario("exit", "after /exit and SIGKILL the session is gone and remembered", life::exit),
    scenario("resume", "a resumed session keeps its id, a fork gets its own", life::resume),
    scenario("reopen", "six sessions are back in their windows after the tmux server was killed", reopen::reopen),
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
        compaction::compaction,
    ),
    scenario("subagents", "working until the last background subagent has returned", life::subagents),
    scenario("gemini", "Gemini CLI: a session from its start to its end, continued by Claude Code", agents::gemini),
    scenario("qwen", "the same with Qwen Code", agents::qwen),
    scenario("opencode", "the same with opencode", agents::opencode),
    scenario("long", "two hours in two minutes: 40 turns, 300 tool calls, all jobs on", long::long),
];
