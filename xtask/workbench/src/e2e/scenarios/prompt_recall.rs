//! A reply of another session, added to a prompt that asks about it in other words.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Rule;
use serde_json::json;

use super::super::world::{Cast, World};

pub(super) const ASKED: &str = "why does the importer stall every night?";
pub(super) const REPLIED: &str =
    "The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.";

/// The question with other inflections: no word of it occurs in the first session.
pub(super) const ASKED_AGAIN: &str = "were importers stalling on locked chunk boundaries?";

const LOGIN_ASKED: &str = "why does the login page refuse every password?";
const LOGIN_REPLIED: &str = "The certificate of the identity service had expired.";

/// The question in entirely different words, which only the model can match.
const LOGIN_PARAPHRASED: &str = "users cannot authenticate with their credentials, what was the cause?";

/// A new session asks in other words and is shown the old session's reply with its prompt: without the page, and
/// without a tool. An everyday prompt brings nothing.
///
/// The search process, which the second session starts, does the search.
///
/// If the bundle has the model, one question shares neither a word nor a stem with its answer.
pub(crate) fn prompt_recall(cast: &Cast, home: &Path) -> Result<()> {
    let rules = [
        (ASKED, REPLIED),
        (LOGIN_ASKED, LOGIN_REPLIED),
        (ASKED_AGAIN, "They were."),
        (LOGIN_PARAPHRASED, "A certificate."),
        ("run the tests", "All pass."),
    ];
    let rules = rules.map(|(after, say)| Rule { after: after.to_owned(), say: say.to_owned() });
    let config = json!({ "memory": { "page": false, "search_process_records": 1 } });
    let world = World::new(cast, home, &config, rules.into())?;
    let first = world.open(&[])?;
    first.say(ASKED)?;
    first.say(LOGIN_ASKED)?;
    first.exit()?;
    let second = world.open(&[])?;
    second.say("run the tests")?;
    let everyday = world.shown("run the tests").context("the everyday prompt has not reached the model")?;
    ensure!(!everyday.mentions("chunks of 500 rows"), "an everyday prompt brings something");
    world.wait("the search process to listen", || {
        let mut files = fs::read_dir(home.join("longhaul"))?.flatten();
        Ok(files.any(|file| file.path().extension().is_some_and(|extension| extension == "sock")))
    })?;
    second.submit(ASKED_AGAIN)?;
    second.wait_for("recalled 1 passage of earlier sessions")?;
    let shown = |text: &str| world.shown(text).is_some();
    world.wait("the prompt to reach the model", || Ok(shown(ASKED_AGAIN)))?;
    let asked = world.shown(ASKED_AGAIN).context("the prompt has not reached the model")?;
    ensure!(asked.mentions("chunks of 500 rows"), "the model is not shown what the old session replied");
    ensure!(asked.mentions("This is a record of what was said"), "the passage stands in no frame");
    if cast.bundle().join("model").is_dir() {
        ask_in_wholly_different_words(&world)?;
    }
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    Ok(())
}

/// Asks in a third session, after its start has had the vectors of the first session computed.
fn ask_in_wholly_different_words(world: &World) -> Result<()> {
    let third = world.open(&[])?;
    world.wait("the vectors of the first session", || {
        let stats = world.longhaul_json(&["memory", "stats"])?;
        Ok(stats["vectors"][0]["vectors"].as_u64().is_some_and(|vectors| vectors >= 2))
    })?;
    third.submit(LOGIN_PARAPHRASED)?;
    world.wait("the prompt to reach the model", || Ok(world.shown(LOGIN_PARAPHRASED).is_some()))?;
    let asked = world.shown(LOGIN_PARAPHRASED).context("the prompt has not reached the model")?;
    ensure!(asked.mentions(LOGIN_REPLIED), "the model is not shown what the old session replied in other words");
    Ok(())
}
