//! The memory of one session, used in the next.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};

/// Session B is shown at its start what session A did, and finds it over MCP; private text is stored nowhere.
pub(crate) fn memory(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let first = world.open(&[])?;
    first.say("RUN:echo marker-of-a-4711")?;
    first.say("<private>zanzibar</private> SAY:the beans are counted")?;
    first.exit()?;
    let second = world.open(&[])?;
    second.say("SAY:hello from B")?;
    let shown = world.shown("hello from B").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("marker-of-a-4711"), "B is not shown what A did");
    second.say("TOOL:mcp__plugin_longhaul_longhaul__search {\"query\":\"marker\"}")?;
    let results: Vec<_> = world.model.shown().iter().flat_map(longhaul_fake_model::Shown::results).collect();
    let found = results.iter().any(|result| result.contains("Ran `echo marker-of-a-4711`"));
    ensure!(found, "B does not find it over MCP: {:?}", results.last());
    let private = world.longhaul(&["memory", "search", "zanzibar"]);
    ensure!(private.is_err(), "private text is in the memory: {private:?}");
    Ok(())
}
