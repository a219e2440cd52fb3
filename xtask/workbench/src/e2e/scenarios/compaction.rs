//! What a session knows after a compaction.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::{Rule, Shown};
use serde_json::json;

use super::super::world::{Cast, World};

const SUMMARY: &str =
    "<analysis>none</analysis>\n<summary>\nA SUMMARY: they wrote named.txt and ran `echo it-is-named`.\n</summary>";

/// After `/compact`, after an automatic compaction in a turn, and after a resumption, the next request contains what the
/// summary lacks, and not what it has.
pub(crate) fn compaction(cast: &Cast, home: &Path) -> Result<()> {
    let rule = Rule { after: "create a detailed summary".to_owned(), say: SUMMARY.to_owned() };
    let world = World::new(cast, home, &json!({}), vec![rule])?;
    // Newer models are offered no task list without this.
    world.set("env", json!({ "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1" }))?;
    let session = world.open(&["--permission-mode", "acceptEdits"])?;
    let id = session.id()?;
    session.say("Never use tabs in this project. SAY:noted")?;
    session.say("WRITE:named.txt;;WRITE:lost.txt;;RUN:echo it-is-named;;RUN:echo it-is-lost")?;
    session.say(r#"TOOL:TaskCreate {"subject":"print the tree","description":"all of it"}"#)?;
    session.say(r#"TOOL:Bash {"command":"sleep 600","run_in_background":true,"description":"a server"}"#)?;
    session.wait_for("1 shell")?;
    let same = session.restart("/compact keep the names")?;
    world.wait("PostCompact", || Ok(!world.events("PostCompact").is_empty()))?;
    ensure!(same == id, "/compact has changed the session's id");
    ensure!(world.log(&id, 'C').len() == 1, "the compaction is not in the activity log");
    session.wait_for("after the compaction: ")?;
    session.say("SAY:going on")?;
    world.wait_for_state(&id, "completed")?;
    let shown = world.shown("going on").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("A SUMMARY: they wrote"), "the summary was not taken: {:?}", world.events("PostCompact"));
    // Claude Code names each PreCompact hook, and shows what it prints after a colon, to the user and to the model.
    const OUTPUT: &str = "longhaul-pre-compact] completed successfully:";
    ensure!(!shown.mentions(OUTPUT), "the model is shown the output of PreCompact");
    ensure!(!session.shows(OUTPUT)?, "the user is shown the output of PreCompact");
    let given = given_back(&shown)?;
    for part in [
        "whose turn had ended",
        "Never use tabs",
        "pending: print the tree",
        "sleep 600",
        "lost.txt",
        "echo it-is-lost",
    ] {
        ensure!(given.contains(part), "{part:?} was not given back: {given}");
    }
    // The prompts themselves name everything.
    let (said, done) = given.split_once("[Files edited").context("no files were given back")?;
    ensure!(!said.contains("at hand"), "a turn that had ended is at hand: {given}");
    for part in ["named.txt", "echo it-is-named"] {
        ensure!(!done.contains(part), "{part:?} was given back: {given}");
    }

    // The context is full in the middle of a turn: no prompt follows, the model goes on at once.
    let compactions = world.events("PostCompact").len();
    session.say("WRITE:second.txt;;USAGE:990000 RUN:echo it-is-full;;TOOLS:2")?;
    world.wait("an automatic compaction", || Ok(world.events("PostCompact").len() > compactions))?;
    let triggers: Vec<_> = world.events("PreCompact").iter().map(|event| event["trigger"].clone()).collect();
    ensure!(triggers == ["manual", "auto"], "the compactions: {triggers:?}");
    let after = world.model.shown().into_iter().rfind(|shown| shown.body.to_string().contains("[The request at hand]"));
    let given = given_back(&after.context("no request at hand was given back")?)?;
    for part in ["[The request at hand] WRITE:second.txt", "Never use tabs", "pending: print the tree", "second.txt"] {
        ensure!(given.contains(part), "{part:?} was not given back in the turn: {given}");
    }

    // What was given back is still there when the session is resumed.
    session.kill()?;
    let session = world.open(&["--resume", &id])?;
    session.say("SAY:resumed")?;
    let shown = world.shown("SAY:resumed").context("the prompt has not reached the model")?;
    ensure!(given_back(&shown)?.contains("second.txt"), "a resumed session has lost what was given back");
    let log = world.longhaul(&["handoff", "log"])?;
    ensure!(log.matches("compacted").count() == 2, "the log: {log}");
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    Ok(())
}

/// Returns what a request shows of what was given back, wherever it stands.
pub(super) fn given_back(shown: &Shown) -> Result<String> {
    let body = shown.body.to_string();
    let start = body.rfind("What the summary of this session's compaction lacks").context("nothing was given back")?;
    let end = body[start..].find("</longhaul-context>").context("the frame has no end")?;
    Ok(body[start..start + end].to_owned())
}
