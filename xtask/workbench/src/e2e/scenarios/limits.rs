//! What a session may spend: a scripted model reports chosen usage, starts many subagents, or repeats itself.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::world::{Cast, World};

/// Opus 5.5 costs $4 per million tokens of input, so that each of these requests costs eight cents.
const USAGE: &str = "USAGE:20000;;";

/// The first request at which $0.50 are spent.
const REACHES: usize = 7;

/// A turn is stopped within one request of the limit, and the user reads why; no prompt makes a request until one begins
/// with `!!` or the limit is raised; the limit holds again after `--resume`; a new session continues.
pub(crate) fn limits(cast: &Cast, home: &Path) -> Result<()> {
    let config =
        json!({ "limits": { "session": 0.5 }, "memory": { "enabled": false }, "bookmarks": { "enabled": "turn_end" } });
    let world = World::new(cast, home, &config, Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    let requests = || world.model.shown().iter().filter(|shown| !shown.tools().is_empty()).count();
    session.submit(&format!("{USAGE}TOOLS:30;;SAY:the parsley is planted"))?;
    // A message may be broken into lines anywhere.
    let says =
        |text: &str| -> Result<bool> { Ok(session.text()?.replace(['\n', ' '], "").contains(&text.replace(' ', ""))) };
    // At 80 %, or more where the hook reads the transcript a call later.
    let is_near = || Ok(says("of $0.50, 80 % of limits.session")? || says("of $0.50, 96 % of limits.session")?);
    world.wait("the message that the limit is near", is_near)?;
    world.wait("the reason of the stop", || says("of $0.50 (limits.session)"))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    let made = requests();
    ensure!((REACHES..=REACHES + 1).contains(&made), "the turn was stopped after {made} requests");
    ensure!(says("longhaul limit raise 5")?, "the screen does not say how to go on: {}", session.text()?);
    world.wait_for_state(&id, "blocked")?;

    session.submit("SAY:no answer comes")?;
    world.wait("the reason again", || says("stopped by hook: longhaul: this session has spent"))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    ensure!(requests() == made, "a refused prompt has made a request");

    // Without the space, Claude Code would take it for a shell command.
    session.tmux.type_text(&session.pane, " !!SAY:this turn goes on")?;
    session.wait_for("!!SAY:this turn goes on")?;
    session.press(&["Enter"])?;
    world.wait("the turn that goes on", || Ok(requests() > made))?;
    world.wait("an empty input", || session.awaits_prompt())?;

    world.longhaul(&["limit", "raise", "5"])?;
    let before = requests();
    session.say(&format!("{USAGE}RUN:echo raised;;SAY:raised indeed"))?;
    ensure!(requests() == before + 2, "the session does not go on after its limit was raised");
    let own = || -> Result<Value> {
        let limits = world.longhaul_json(&["limit"])?;
        let own = limits["sessions"].as_array().into_iter().flatten().find(|session| session["session"] == id);
        Ok(own.cloned().unwrap_or_default())
    };
    ensure!(own()?["limits"][0]["of"] != "$0.50", "the limit is not raised: {}", own()?);
    session.exit()?;
    let session = world.open(&["--resume", &id])?;
    world.wait("the limit of the session that was resumed", || Ok(own()?["limits"][0]["of"] == "$0.50"))?;
    let before = requests();
    session.submit("SAY:nor does this one")?;
    world.wait("the refused prompt", || Ok(own()?["stopped"] == true))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    ensure!(requests() == before, "a session that was resumed goes on beyond its limit");

    let next = world.open(&[])?;
    next.say("SAY:and what was planted?")?;
    let shown = world.shown("and what was planted?").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("the parsley is planted"), "the new session does not continue");
    ensure!(world.errors().lines().all(|line| line.contains("stopped:")), "the hooks wrote errors: {}", world.errors());
    Ok(())
}

/// Of five subagents that are started at once, two may run; the model and the user are told why the others may not.
pub(crate) fn storm(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({ "limits": { "subagents": { "at_once": 2 } } });
    let world = World::new(cast, home, &config, Vec::new())?;
    let session = world.open(&[])?;
    session.submit("TASK:5:RUN:sleep 2")?;
    session.wait_for("no more subagents")?;
    let is_told = || {
        let results: Vec<String> = world.model.shown().iter().flat_map(longhaul_fake_model::Shown::results).collect();
        results.iter().filter(|result| result.contains("limits.subagents.at_once is 2")).count() >= 3
    };
    world.wait("the model to be told", || Ok(is_told()))?;
    world.wait("the subagents to return", || Ok(world.events("SubagentStop").len() == 2))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    world.check_errors()
}

/// A model that makes the same call twelve times is told after five, and the user after ten; it is not stopped.
pub(crate) fn circles(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "bookmarks": { "enabled": "turn_end" } }), Vec::new())?;
    let session = world.open(&[])?;
    // So short that the prompt is not broken into lines.
    let orders = ["RUN:id"; 12].join(";;");
    session.say(&format!("{orders};;SAY:at last"))?;
    let shown = world.shown("5 times in a row").context("the model is not told")?;
    ensure!(shown.results().len() == 5, "the model is told after {} calls", shown.results().len());
    let last = world.model.shown();
    let most = last.iter().map(|shown| shown.count("times in a row")).max().unwrap_or_default();
    ensure!(most == 1, "the model is told {most} times");
    ensure!(last.iter().any(|shown| shown.results().len() == 12), "the turn was stopped");
    session.wait_for("turns in circles")?;
    world.check_errors()
}
