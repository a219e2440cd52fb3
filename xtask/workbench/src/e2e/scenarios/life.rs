//! Start, end and resumption of sessions.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_core::short_session;
use serde_json::json;

use super::super::world::{Cast, World};

/// A session that exits is removed at once; one that is killed, for which there is no hook, at the next refresh. Both are in
/// the memory. A client that another session has started is listed as its child.
pub(crate) fn exit(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo left-politely")?;
    session.exit()?;
    world.wait("SessionEnd", || Ok(world.events("SessionEnd").len() == 1))?;
    ensure!(world.state(&id)?.is_none(), "the session that has exited is still tracked");
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo killed-in-the-act")?;
    session.submit("SLOW:500 SAY:one two three four five six seven eight nine ten")?;
    world.wait_for_state(&id, "working")?;
    let child = world.open_after(&[&format!("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS={id}")], &[])?;
    let child_id = child.id()?;
    let parent = format!("(child of {})", short_session(&id));
    // The hook of its start may still run when its input is shown.
    world.wait(&format!("a session {parent}"), || Ok(world.longhaul(&["status"])?.contains(&parent)))?;
    session.kill()?;
    child.kill()?;
    world.longhaul(&["tmux", "refresh"])?;
    let bar = world.longhaul(&["tmux", "status-bar"])?;
    for id in [&id, &child_id] {
        ensure!(world.state(id)?.is_none(), "session {id} is still listed after its client was killed: {bar}");
    }
    ensure!(world.events("SessionEnd").len() == 1, "SIGKILL has caused a SessionEnd");
    for mark in ["left-politely", "killed-in-the-act"] {
        world.longhaul(&["memory", "search", mark]).with_context(|| format!("{mark} is not remembered"))?;
    }
    Ok(())
}

/// A resumed session keeps its id and all its data; a fork gets its own id.
pub(crate) fn resume(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo before-the-break")?;
    session.exit()?;
    let session = world.open(&["--resume", &id])?;
    ensure!(session.id()? == id, "a resumed session has another id");
    session.say("RUN:echo after-the-break")?;
    world.wait_for_state(&id, "completed")?;
    ensure!(world.log(&id, 'T').len() == 2, "the activity log did not go on");
    session.exit()?;
    let session = world.open(&["--resume", &id, "--fork-session"])?;
    // A fork's id is known only after its first prompt.
    session.say("RUN:echo on-a-new-branch")?;
    let prompts = world.events("UserPromptSubmit");
    let fork = prompts.last().and_then(|prompt| prompt["session_id"].as_str()).context("no prompt came")?;
    ensure!(fork != id, "a fork has the same id");
    world.wait_for_state(fork, "completed")?;
    ensure!(world.state(&id)?.is_none(), "the session that was forked is tracked as if it ran");
    let found = world.longhaul_json(&["memory", "search", "+before-the-break", "--type", "observations"])?;
    ensure!(found.as_array().is_some_and(|found| found.len() == 1), "it is remembered more than once: {found}");
    Ok(())
}

/// Three background subagents: the session counts as working until the last of them has returned.
pub(crate) fn subagents(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.submit("TASK:3:SLOW:600 TOOLS:3;;SAY:they are under way")?;
    world.wait("the turn's end", || Ok(!world.events("Stop").is_empty()))?;
    if world.events("SubagentStop").len() < 3 {
        ensure!(world.state(&id)?.as_deref() == Some("working"), "subagents run, yet the session is not at work");
    }
    world.wait("three subagents' return", || Ok(world.events("SubagentStop").len() >= 3))?;
    world.wait_for_state(&id, "completed")?;
    ensure!(world.log(&id, 'A').len() == 3, "the activity log has not three returns");
    world.wait("a bookmark for the burst", || Ok(!world.log(&id, 'B').is_empty()))
}
