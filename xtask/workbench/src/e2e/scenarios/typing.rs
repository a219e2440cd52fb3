//! When text is typed into Claude Code's pane, and when not.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Shown;
use serde_json::json;

use super::super::world::{Cast, World};

/// Twenty tool calls in one turn: a bookmark is set among them, and causes no request of its own.
pub(crate) fn bookmark(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    session.say("TOOLS:20")?;
    let id = session.id()?;
    ensure!(world.log(&id, 'B').len() == 1, "the activity log has not one bookmark");
    let bookmarks = world.longhaul_json(&["bookmarks"])?;
    ensure!(bookmarks.as_array().is_some_and(|all| all.len() == 1), "longhaul bookmarks says {bookmarks}");
    let requests: Vec<_> = world.model.shown().into_iter().filter(|shown| !shown.tools().is_empty()).collect();
    ensure!(requests.len() == 21, "20 tool calls took {} requests and not 21", requests.len());
    // The sign may also occur in Claude Code's own text for every session.
    let marks = |shown: &Shown| shown.count("·");
    let first = requests.iter().position(|shown| marks(shown) > marks(&requests[0]));
    let first = first.context("the model never saw the bookmark")?;
    ensure!((15..20).contains(&first), "the bookmark came with request {first}");
    // The next session is shown what was said, once; a bookmark set by hand is no request.
    session.submit("· by hand")?;
    world.wait("the second bookmark", || Ok(world.log(&id, 'B').len() == 2))?;
    let handoff = world.longhaul(&["handoff", "show", "--session", &id])?;
    let said: Vec<&str> = handoff.lines().filter(|line| line.starts_with('[')).collect();
    ensure!(
        matches!(said[..], [asked, replied] if asked.ends_with("[Last request] TOOLS:20")
            && replied.contains("[Last reply] ")),
        "the handoff shows {handoff}"
    );
    Ok(())
}

/// A draft that is in the input when a bookmark is due is there again afterwards, and was not sent.
pub(crate) fn draft(cast: &Cast, home: &Path) -> Result<()> {
    const DRAFT: &str = "half a thought";
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    session.submit("SLOW:100 TOOLS:20")?;
    session.wait_for("step 1")?;
    session.draft(DRAFT)?;
    world.wait("the end of the turn", || Ok(world.events("Stop").len() == 1))?;
    let id = session.id()?;
    world.wait("the bookmark", || Ok(!world.log(&id, 'B').is_empty()))?;
    world.wait("the draft in the input again", || session.drafted(DRAFT))?;
    let sent = world.events("UserPromptSubmit");
    ensure!(!sent.iter().any(|prompt| prompt["prompt"].to_string().contains(DRAFT)), "the draft was sent: {sent:?}");
    Ok(())
}

/// A bookmark becomes due while a dialog is open, because a subagent returns: the dialog stays open, and nothing is
/// typed.
pub(crate) fn dialog(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({
        "bookmarks": { "thresholds": { "agent_burst_threshold": 1, "cooldown_seconds": 0 } },
        "inject": { "patience_seconds": 2 },
    });
    let world = World::new(cast, home, &config, Vec::new())?;
    let session = world.open(&[])?;
    let file = world.project.join("asked.txt");
    session.submit(&format!("TASK:1:SLOW:1500 SAY:one two three;;WRITE:{}", file.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait("the subagent's return", || Ok(!world.events("SubagentStop").is_empty()))?;
    let id = session.id()?;
    world.wait("the bookmark to be given up", || Ok(!world.log(&id, 'G').is_empty()))?;
    ensure!(session.in_dialog()? && !file.exists(), "something has answered the dialog");
    session.answer("Enter")?;
    world.wait("the file that was asked for", || Ok(file.exists()))
}
