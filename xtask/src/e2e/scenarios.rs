//! The scenarios, in the order in which they are played.

mod chord;
mod handover;
mod inputs;
mod inputs_in_turn;
mod life;
mod long;
mod memory;
mod model;
mod prompt_recall;
mod recall;
mod setup;
mod states;
mod typing;

use std::path::Path;

use anyhow::Result;

use super::world::Cast;

/// One thing that must work on the real client.
pub(crate) struct Scenario {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it shows, for the table.
    pub(crate) about: &'static str,
    /// Plays it below a throwaway home.
    pub(crate) play: fn(&Cast, &Path) -> Result<()>,
}

const fn scenario(name: &'static str, about: &'static str, play: fn(&Cast, &Path) -> Result<()>) -> Scenario {
    Scenario { name, about, play }
}

/// Those that take long, and are only played by name.
pub(crate) const LONG: &[Scenario] =
    &[scenario("chords", "as chord, with 200 of them and what came of each", chord::many)];

/// Those that are played without a name.
pub(crate) const ALL: &[Scenario] = &[
    scenario("install", "longhaul install, the client's own check, and a first turn", setup::install),
    scenario("bookmark", "a rewind point in the middle of a long turn, without a request", typing::bookmark),
    scenario("draft", "what was half typed is there again after a bookmark", typing::draft),
    scenario("dialog", "nothing is typed into an open dialog", typing::dialog),
    scenario("blocked", "a permission dialog blocks, its answer clears, yes or no", states::blocked),
    scenario("esc", "the status is idle within a second of an interrupt by Esc", states::esc),
    scenario("clear", "after /clear the next session is shown where the old one was", handover::clear),
    scenario("windows", "two windows of one project, each with its own baton", handover::two_windows),
    scenario("continuation", "a full context goes on in a fresh session, through the module", handover::continuation),
    scenario(
        "first",
        "a context that is full after a first turn without tools goes on, too",
        handover::continuation_first_turn,
    ),
    scenario("typed", "the same without the module: typed", handover::continuation_typed),
    scenario("typed-chord", "the same, submitted by the chord", handover::continuation_by_chord),
    scenario("chord", "40 chords beside subagents that ask approve nothing; Enter does", chord::few),
    scenario("cascade", "three subagents of ten calls: bookmarked in the turn, and rewound to", chord::cascade),
    scenario("inputs", "a draft, menus, searches, views and modes: none of them is typed over", inputs::inputs),
    scenario("vim", "in vim's insert mode the chord submits, in normal mode nothing is typed", inputs::vim),
    scenario("turn-draft", "a draft is there again after a bookmark in the turn", inputs_in_turn::draft_in_turn),
    scenario("text-field", "nothing is typed into a dialog's text field, or sent from it", inputs_in_turn::text_field),
    scenario("memory", "what A did is shown to B, and found by it over MCP", memory::memory),
    scenario("model", "hooks alone let a model put a turn into words, after the client is gone", model::model),
    scenario("recall", "a question in words that A did not use is answered from A over MCP", recall::recall),
    scenario(
        "prompt-recall",
        "a question in other words brings what another session replied, by itself",
        prompt_recall::prompt_recall,
    ),
    scenario("exit", "after /exit and SIGKILL the session is gone and remembered", life::exit),
    scenario("resume", "a resumed session goes on under its id, a fork under its own", life::resume),
    scenario("compact", "/compact is noted, and the session goes on", life::compact),
    scenario("subagents", "at work until the last subagent in the background has returned", life::subagents),
    scenario("long", "two hours in two minutes: 40 turns, 300 tool calls, all jobs on", long::long),
];
