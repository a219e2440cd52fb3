//! A model that summarizes what hooks have stored.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};

/// Stop starts the worker, which outlives Claude Code, asks a model for a summary, stores it, and ends.
pub(crate) fn model(cast: &Cast, home: &Path) -> Result<()> {
    let model = json!({ "enabled": true, "via": "api", "quiet_minutes": 0 });
    let config = json!({ "worker": { "port": 0 }, "memory": { "model": model } });
    let world = World::new(cast, home, &config, Vec::new())?;
    let session = world.open(&[])?;
    session.say("RUN:echo beans-4711;;SAY:the beans are counted")?;
    session.exit()?;
    world.wait("the turn in the model's words", || {
        let turns = world.longhaul_json(&["detail", "1"]).unwrap_or_default();
        Ok(turns[0]["summary"] == "In the model's words: the beans are counted")
    })?;
    let found = world.longhaul(&["memory", "search", "beans-4711"])?;
    ensure!(found.contains("In the model's words"), "the records are not in the model's words: {found}");
    world.wait("the worker's end", || Ok(!home.join("longhaul/worker.json").exists()))
}
