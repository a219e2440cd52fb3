//! Handing over from one session to the next, and what a compaction gives back.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::{Rule, Shown};
use serde_json::json;

use super::super::world::{Cast, World};

const HANDOFF: &str = "---\ncontinue: true\nnonce: {}\n---\n# Task\nCount the beans.\n# Completed\nHalf of them.\n\
                       # Remaining\n- the other half\n# Key Context\nThe beans are in the jar.\n";

/// After `/clear`, the next session is shown what the old one did.
pub(crate) fn clear(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let session = world.open(&[])?;
    session.say("SAY:the beans are in the jar")?;
    let old = session.id()?;
    let new = session.restart("/clear")?;
    ensure!(new != old, "/clear has kept the session's id");
    session.say("SAY:and where now?")?;
    let shown = world.shown("and where now?").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("the beans are in the jar"), "the new session is not shown what the old one said");
    // Claude Code puts a warning sign before what the module shows under the prompt.
    ensure!(!session.shows("began with")?, "the line under the prompt warns of good news");
    let rows = world.longhaul_json(&["status"])?;
    ensure!(rows.as_array().is_some_and(|rows| rows.len() == 1), "the pane has more than one session: {rows}");
    Ok(())
}

/// Two windows of one project are cleared: each continues its own session.
pub(crate) fn two_windows(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let (left, right) = (world.open(&[])?, world.open(&[])?);
    left.say("SAY:apples on the left")?;
    right.say("SAY:pears on the right")?;
    left.restart("/clear")?;
    right.restart("/clear")?;
    right.say("SAY:which fruit here")?;
    left.say("SAY:which fruit there")?;
    for (prompt, own, other) in [("fruit here", "pears", "apples"), ("fruit there", "apples", "pears")] {
        let shown = world.shown(prompt).with_context(|| format!("{prompt:?} has not reached the model"))?;
        ensure!(shown.mentions(own) && !shown.mentions(other), "the session of {prompt:?} is not shown its {own} only");
    }
    Ok(())
}

/// A full context, with the module: it clears and prompts through Claude Code.
pub(crate) fn continuation(cast: &Cast, home: &Path) -> Result<()> {
    go_on(cast, home, true, false)
}

/// A full context, without the module: `/clear` and the prompt are typed.
pub(crate) fn continuation_typed(cast: &Cast, home: &Path) -> Result<()> {
    go_on(cast, home, false, false)
}

/// A context that is full after the first turn, which used no tool: its use is known only after Stop.
pub(crate) fn continuation_first_turn(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "continuation": { "at": "on" } }), rules())?;
    let session = world.open(&[])?;
    let old = session.id()?;
    session.submit("USAGE:900000 SAY:the first bean")?;
    session.wait_for("I go on with the other half.")?;
    ensure!(session.id()? != old, "nothing was cleared");
    let shown = world.shown("Continue from the handoff").context("no prompt came after the handoff")?;
    ensure!(shown.mentions("The beans are in the jar."), "the new session is not shown the handoff");
    world.check_errors()
}

/// The same, with `/clear` and the prompt submitted by the chord.
pub(crate) fn continuation_by_chord(cast: &Cast, home: &Path) -> Result<()> {
    go_on(cast, home, false, true)
}

fn go_on(cast: &Cast, home: &Path, bridge: bool, chord: bool) -> Result<()> {
    let mut world = World::new(cast, home, &json!({ "continuation": { "at": "on" } }), rules())?;
    if !bridge {
        world.remove_module()?;
    }
    if chord {
        world.bind_chord()?;
    }
    let session = world.open(&[])?;
    let old = session.id()?;
    session.say("SAY:the first bean")?;
    if bridge {
        // A shell in the background does not hold the question back: it outlives `/clear`.
        session.say(r#"TOOL:Bash {"command":"sleep 600","run_in_background":true,"description":"a server"}"#)?;
        session.wait_for("1 shell")?;
    }
    // With a tool call, because the transcript lags: it then holds the usage before the turn ends.
    session.submit("USAGE:900000 TOOLS:2;;SAY:the second bean")?;
    session.wait_for("I go on with the other half.")?;
    ensure!(session.id()? != old, "nothing was cleared");
    let shown = world.shown("Continue from the handoff").context("no prompt came after the handoff")?;
    ensure!(shown.mentions("The beans are in the jar."), "the new session is not shown the handoff");
    let fresh = shown.messages().iter().all(|message| message["role"] != "assistant");
    ensure!(fresh, "the old conversation was not cleared");
    ensure!(!bridge || session.shows("1 shell")?, "the shell in the background did not outlive /clear");
    // A question at Stop is shown to the user as the error of a hook, so the module asks by a prompt.
    let by_stop = world.model.shown().iter().any(|shown| shown.mentions("Stop hook feedback"));
    ensure!(by_stop != bridge, "the question came {}", if by_stop { "at Stop" } else { "by a prompt" });
    world.wait("the chain's end", || {
        let steps = world.longhaul_json(&["continuation", "log"])?;
        Ok(steps.as_array().into_iter().flatten().any(|step| step["state"] == "done"))
    })?;
    world.check_errors()?;
    ensure!(world.chord_proofs().len() == usize::from(chord), "the chord: {:?}", world.chord_proofs());
    Ok(())
}

/// Returns the model's answers to what the plugin asks in a continuation.
pub(crate) fn rules() -> Vec<Rule> {
    let rule = |after: &str, say: &str| Rule { after: after.to_owned(), say: say.to_owned() };
    vec![rule("nonce: ", HANDOFF), rule("Continue from the handoff", "I go on with the other half.")]
}

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
    const OUTPUT: &str = "] completed successfully:";
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
    world.check_errors()
}

/// Returns what a request shows of what was given back, wherever it stands.
pub(super) fn given_back(shown: &Shown) -> Result<String> {
    let body = shown.body.to_string();
    let start = body.rfind("What the summary of this session's compaction lacks").context("nothing was given back")?;
    let end = body[start..].find("</longhaul-context>").context("the frame has no end")?;
    Ok(body[start..start + end].to_owned())
}

const TURNS: usize = 40;
const CALLS: usize = 300;

/// The turn whose context is full; the following ones run in a fresh session.
const FULL: usize = 25;

/// A compressed long session with all jobs enabled: forty turns, three hundred tool calls, one continuation, nothing
/// lost.
pub(crate) fn long(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({
        "bookmarks": { "thresholds": { "cooldown_seconds": 2 } },
        "continuation": { "at": "on" },
        "guard": { "compact_percent": 0.95, "deny_percent": 0.97 },
    });
    let world = World::new(cast, home, &config, rules())?;
    let session = world.open(&[])?;
    let (start, old) = (Instant::now(), session.id()?);
    for turn in 1..=TURNS {
        let calls = CALLS * turn / TURNS - CALLS * (turn - 1) / TURNS;
        let order = if turn == FULL { "USAGE:900000 " } else { "" };
        let prompt = format!("{order}TOOLS:{calls} SAY:turn {turn} of {TURNS}");
        if turn == FULL {
            session.submit(&prompt)?;
            session.wait_for("I go on with the other half.")?;
            world.wait("an empty input", || session.awaits_prompt())?;
        } else {
            session.say(&prompt).with_context(|| format!("turn {turn}"))?;
        }
    }
    ensure!(start.elapsed() < Duration::from_secs(240), "it took {} s", start.elapsed().as_secs());
    let new = session.id()?;
    ensure!(new != old, "the full context was not cleared");
    let count = |letter| world.log(&old, letter).len() + world.log(&new, letter).len();
    ensure!(count('T') == CALLS, "the activity logs have {} tool calls", count('T'));
    ensure!(count('B') >= 5, "there are only {} bookmarks", count('B'));
    world.wait_for_state(&new, "completed")?;
    let stats = world.longhaul_json(&["memory", "stats"])?;
    ensure!(stats["rows"]["observations"] == CALLS, "the memory says {stats}");
    world.check_errors()
}
