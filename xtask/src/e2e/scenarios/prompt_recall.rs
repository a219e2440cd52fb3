//! What another session said, added to a prompt that asks about it in other words.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Rule;
use serde_json::json;

use super::super::world::{Cast, World};

const ASKED: &str = "why does the importer stall every night?";
const REPLIED: &str = "The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.";

/// None of these words stands in what was asked or replied.
const ASKED_AGAIN: &str = "were importers stalling on locked chunk boundaries?";

/// A new session asks in other words, and is shown what the old one replied, by its prompt alone: without the page, and
/// without a tool. An everyday prompt brings nothing.
pub(crate) fn prompt_recall(cast: &Cast, home: &Path) -> Result<()> {
    let rules = [(ASKED, REPLIED), (ASKED_AGAIN, "They were."), ("run the tests", "All pass.")];
    let rules = rules.map(|(after, say)| Rule { after: after.to_owned(), say: say.to_owned() });
    let world = World::new(cast, home, &json!({ "memory": { "page": false } }), rules.into())?;
    let first = world.open(&[])?;
    first.say(ASKED)?;
    first.exit()?;
    let second = world.open(&[])?;
    second.say("run the tests")?;
    let everyday = world.shown("run the tests").context("the everyday prompt has not reached the model")?;
    ensure!(!everyday.mentions("chunks of 500 rows"), "an everyday prompt brings something");
    second.submit(ASKED_AGAIN)?;
    second.wait_for("recalled 1 passage of earlier sessions")?;
    let shown = |text: &str| world.shown(text).is_some();
    world.wait("the prompt to reach the model", || Ok(shown(ASKED_AGAIN)))?;
    let asked = world.shown(ASKED_AGAIN).context("the prompt has not reached the model")?;
    ensure!(asked.mentions("chunks of 500 rows"), "the model is not shown what the old session replied");
    ensure!(asked.mentions("This is a record of what was said"), "the passage stands in no frame");
    Ok(())
}
