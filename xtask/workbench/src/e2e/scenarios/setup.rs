//! Installation, as a user does it.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};

/// `longhaul install`; the client lists the plugin as enabled, finds no problems, and runs its hooks.
pub(crate) fn install(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    world.longhaul(&["install", "--yes"])?;
    let list = world.client(&["plugin", "list"])?;
    ensure!(list.contains("longhaul@") && list.contains("enabled"), "the plugin is not enabled:\n{list}");
    let bundle = cast.bundle().display().to_string();
    world.client(&["plugin", "validate", "--strict", &bundle])?;
    let session = world.open_bare(&["--permission-mode", "manual"])?;
    session.say("RUN:echo installed")?;
    world.wait_for_state(&session.id()?, "completed")?;
    ensure!(world.log(&session.id()?, 'T').len() == 1, "the tool call is not in the activity log");
    ensure!(world.errors().is_empty(), "the hooks wrote errors");
    Ok(())
}
