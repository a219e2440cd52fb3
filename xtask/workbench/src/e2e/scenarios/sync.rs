//! Two machines with one memory: what one did is found on the other.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::{Rule, Shown};
use serde_json::{Value, json};
use xtask::run;

use super::super::session::Session;
use super::super::world::{Cast, World};
use super::prompt_recall::{ASKED, ASKED_AGAIN, REPLIED};

/// A part of the reply that occurs nowhere else.
const DISTINCTIVE: &str = "chunks of 500 rows";

/// Asked over MCP. Not the prompt itself, which the model would answer instead.
const QUESTION: &str = "which lock made the importer stall at night?";

/// On machine A, a session asks and is answered. Its records reach a folder by themselves. On machine B, in another clone of
/// the project, a new session asks in other words: the passage comes with the prompt, and over MCP, with `@heron` beside it.
pub(crate) fn sync(cast: &Cast, home: &Path) -> Result<()> {
    let code = work_on_first_machine(cast, &home.join("a"), &home.join("circle"))?;
    ask_on_second_machine(cast, &home.join("b"), &code)
}

/// Returns the code with which the second machine joins.
fn work_on_first_machine(cast: &Cast, home: &Path, circle: &Path) -> Result<String> {
    let world = machine(cast, home, &json!({ "sync": { "name": "heron" } }))?;
    world.longhaul(&["sync", "init", &format!("folder:{}", circle.display())])?;
    world.longhaul(&["sync", "share"])?;
    let session = world.open(&[])?;
    session.say(ASKED)?;
    session.say("run the tests")?;
    session.exit()?;
    world.wait("the records in the folder", || {
        let status = world.longhaul_json(&["sync", "status"])?;
        Ok(circle.join("records").is_dir() && status["unsent"] == 0 && status["exchange"]["sent"] != 0)
    })?;
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    Ok(world.longhaul(&["sync", "code"])?.trim().to_owned())
}

fn ask_on_second_machine(cast: &Cast, home: &Path, code: &str) -> Result<()> {
    let world = machine(cast, home, &json!({ "sync": { "name": "stork" }, "memory": { "page": false } }))?;
    world.longhaul(&["sync", "join", code])?;
    world.longhaul(&["sync", "share"])?;
    world.longhaul(&["sync", "now"])?;
    let session = world.open(&[])?;
    session.say(ASKED_AGAIN)?;
    let shown = world.shown(ASKED_AGAIN).context("the prompt has not reached the model")?;
    ensure!(shown.mentions(DISTINCTIVE), "the model is not shown what the other machine's session replied");
    ensure!(shown.mentions("@heron"), "the passage does not say which machine it comes from");

    let calls = [
        ("search", json!({ "query": "importer", "from_host": "heron" }), "importer stall"),
        ("recall", json!({ "question": QUESTION }), DISTINCTIVE),
    ];
    for (tool, arguments, expected) in calls {
        let answer = call(&world, &session, tool, &arguments)?;
        ensure!(answer.contains(expected) && answer.contains("@heron"), "{tool} {arguments} answers: {answer}");
    }
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    Ok(())
}

/// Lets the session call a tool of the MCP server. Returns its answer.
fn call(world: &World, session: &Session<'_>, tool: &str, arguments: &Value) -> Result<String> {
    session.say(&format!("TOOL:mcp__plugin_longhaul_longhaul__{tool} {arguments}"))?;
    let results: Vec<String> = world.model.shown().iter().flat_map(Shown::results).collect();
    results.last().cloned().with_context(|| format!("{tool} was not called"))
}

/// Makes a machine: a home with a clone of the project.
fn machine(cast: &Cast, home: &Path, config: &Value) -> Result<World> {
    let rules = [(ASKED_AGAIN, "They were."), (ASKED, REPLIED), ("run the tests", "All pass.")];
    let rules = rules.map(|(after, say)| Rule { after: after.to_owned(), say: say.to_owned() });
    let world = World::new(cast, home, config, rules.into())?;
    // The same first commit on both machines.
    let date = "2026-01-01T00:00:00Z";
    for arguments in [
        &["init", "--quiet"][..],
        &["remote", "add", "origin", "https://git.example/team/app.git"],
        &["commit", "--quiet", "--allow-empty", "--message", "first"],
    ] {
        let mut git = run::program("git");
        git.arg("-C").arg(&world.project).args(["-c", "user.name=e2e", "-c", "user.email=e2e@example.org"]);
        git.args(arguments).env("HOME", home);
        run::output(git.envs([("GIT_AUTHOR_DATE", date), ("GIT_COMMITTER_DATE", date)]))?;
    }
    Ok(world)
}
