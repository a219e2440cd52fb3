//! The memory of one session, used in the next, with a prompt, by a model, and on another machine.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::{Rule, Shown};
use serde_json::{Value, json};
use xtask::run;

use super::super::world::{Cast, Session, World};

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

/// Stop starts the worker, which outlives Claude Code, asks a model for a summary, stores it, and ends.
pub(crate) fn model(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({ "worker": { "port": 0 }, "memory": { "model": { "via": "api" } } });
    let world = World::new(cast, home, &config, Vec::new())?;
    // A session must have been idle for two minutes; five seconds here.
    let session = world.open_after(&["LONGHAUL_QUIET_MS=5000"], &[])?;
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

const ASKED: &str = "why does the importer stall every night?";
const REPLIED: &str = "The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.";

/// The question with other inflections: no word of it occurs in the first session.
const ASKED_AGAIN: &str = "were importers stalling on locked chunk boundaries?";

const LOGIN_ASKED: &str = "why does the login page refuse every password?";
const LOGIN_REPLIED: &str = "The certificate of the identity service had expired.";

/// The question in entirely different words, which only the model can match.
const LOGIN_PARAPHRASED: &str = "users cannot authenticate with their credentials, what was the cause?";

/// A new session asks in other words and is shown the old session's reply with its prompt: without the page, and
/// without a tool. An everyday prompt brings nothing.
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
    let config = json!({ "memory": { "show": ["passages"] } });
    let world = World::new(cast, home, &config, rules.into())?;
    let first = world.open(&[])?;
    first.say(ASKED)?;
    first.say(LOGIN_ASKED)?;
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
    if cast.bundle().join("model").is_dir() {
        ask_in_wholly_different_words(&world)?;
    }
    world.check_errors()
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

/// The decision in the first session.
const DECIDED: &str = "brokers choked on oversized payloads, so messages are chunked at 64 kilobytes";

/// The question with other inflections: no word of it occurs in the first session.
const INFLECTED: &str = "why does chunking a message stop any broker from choking?";

/// The question in entirely different words, which only the model can match.
const PARAPHRASED: &str = "reason for splitting large texts before sending them to the queue";

/// A new session asks over MCP, in words that do not occur in the old one, and is answered from it.
///
/// If the bundle has the model, the words are entirely different; otherwise only their inflections are.
pub(crate) fn recall(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let first = world.open(&[])?;
    first.say(&format!("SAY:{DECIDED}"))?;
    first.say("SAY:the beans are counted")?;
    first.exit()?;
    let second = world.open(&[])?;
    let has_model = cast.bundle().join("model").is_dir();
    let questions = [Some(INFLECTED), Some(PARAPHRASED).filter(|_| has_model)];
    for question in questions.into_iter().flatten() {
        let words: Vec<&str> = question.split([' ', '?']).filter(|word| word.len() > 3).collect();
        ensure!(!words.iter().any(|word| DECIDED.contains(&format!("{word} "))), "{question:?} shares a word");
        let call = json!({ "question": question });
        second.say(&format!("TOOL:mcp__plugin_longhaul_longhaul__recall {call}"))?;
        let results: Vec<_> = world.model.shown().iter().flat_map(longhaul_fake_model::Shown::results).collect();
        let answer = results.last().context("the tool was not called")?;
        ensure!(answer.contains("chunked at 64 kilobytes"), "{question:?} is not answered: {answer}");
        ensure!(answer.contains("<longhaul-context>"), "the answer is not framed as a record: {answer}");
    }
    world.check_errors()
}

/// A part of the reply that occurs nowhere else.
const DISTINCTIVE: &str = "chunks of 500 rows";

/// Asked over MCP. Not the prompt itself, which the model would answer instead.
const QUESTION: &str = "which lock made the importer stall at night?";

/// On machine A, a session asks and is answered. Its records reach a folder by themselves. On machine B, in another clone of
/// the project, a new session asks in other words: the passage comes with the prompt, and over MCP, with the name of A beside it.
pub(crate) fn sync(cast: &Cast, home: &Path) -> Result<()> {
    let (name, code) = work_on_first_machine(cast, &home.join("a"), &home.join("circle"))?;
    ask_on_second_machine(cast, &home.join("b"), &name, &code)
}

/// Returns the name of the first machine, and the code with which the second one joins.
fn work_on_first_machine(cast: &Cast, home: &Path, circle: &Path) -> Result<(String, String)> {
    let world = machine(cast, home, &json!({}))?;
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
    world.check_errors()?;
    let hosts = world.longhaul_json(&["sync", "hosts"])?;
    let name = hosts[0]["name"].as_str().context("the machine has no name")?;
    Ok((name.to_owned(), world.longhaul(&["sync", "code"])?.trim().to_owned()))
}

fn ask_on_second_machine(cast: &Cast, home: &Path, name: &str, code: &str) -> Result<()> {
    let world = machine(cast, home, &json!({ "memory": { "show": ["passages"] } }))?;
    world.longhaul(&["sync", "join", code])?;
    world.longhaul(&["sync", "share"])?;
    world.longhaul(&["sync", "now"])?;
    let session = world.open(&[])?;
    session.say(ASKED_AGAIN)?;
    let shown = world.shown(ASKED_AGAIN).context("the prompt has not reached the model")?;
    ensure!(shown.mentions(DISTINCTIVE), "the model is not shown what the other machine's session replied");
    let name = format!("@{name}");
    ensure!(shown.mentions(&name), "the passage does not say which machine it comes from");

    let calls = [
        ("search", json!({ "query": "importer", "from_host": name }), "importer stall"),
        ("recall", json!({ "question": QUESTION }), DISTINCTIVE),
    ];
    for (tool, arguments, expected) in calls {
        let answer = call(&world, &session, tool, &arguments)?;
        ensure!(answer.contains(expected) && answer.contains(&name), "{tool} {arguments} answers: {answer}");
    }
    world.check_errors()
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
