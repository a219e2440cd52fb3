//! The states that the tracker reports.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};

/// A permission dialog sets the state blocked; yes continues the turn, and no, for which there is no hook, ends it.
pub(crate) fn blocked(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    let [granted, refused] = ["granted.txt", "refused.txt"].map(|name| world.project.join(name));
    session.submit(&format!("WRITE:{}", granted.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait_for_state(&id, "blocked")?;
    session.answer("Enter")?;
    world.wait_for_state(&id, "completed")?;
    ensure!(granted.exists(), "what was granted was not done");
    world.wait("an empty input", || session.awaits_prompt())?;
    session.submit(&format!("WRITE:{}", refused.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait_for_state(&id, "blocked")?;
    session.answer("Escape")?;
    world.wait_for_state(&id, "idle")?;
    ensure!(!refused.exists(), "what was refused was done");
    Ok(())
}

/// Esc, for which there is no hook, is reported by the module: the display changes within a second.
pub(crate) fn esc(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    // The displayed file itself: `longhaul status` would also read Claude Code's own record.
    let displays = |part: &str| fs::read_to_string(home.join("longhaul/status")).unwrap_or_default().contains(part);
    session.submit("SLOW:1500 SAY:one two three four five six seven eight nine ten eleven twelve thirteen fourteen")?;
    // Not until the answer is on the screen: Claude Code shows a line only when it is complete.
    world.wait("the client to be busy", || Ok(world.client_is("busy")))?;
    world.wait("the display to say working", || Ok(displays("1*")))?;
    session.press(&["Escape"])?;
    // Measured from the change of Claude Code's own record: the time before that depends on the machine.
    world.wait("the client to be idle", || Ok(world.client_is("idle")))?;
    let interrupted = Instant::now();
    world.wait("the display to say idle", || Ok(displays("1.") && displays("0*")))?;
    ensure!(interrupted.elapsed() < Duration::from_secs(1), "it took {} ms", interrupted.elapsed().as_millis());
    Ok(())
}
