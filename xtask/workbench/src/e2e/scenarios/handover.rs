//! Handing over from one session to the next.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Rule;
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
    let world = World::new(cast, home, &json!({ "continuation": { "enabled": true } }), rules())?;
    let session = world.open(&[])?;
    let old = session.id()?;
    session.submit("USAGE:900000 SAY:the first bean")?;
    session.wait_for("I go on with the other half.")?;
    ensure!(session.id()? != old, "nothing was cleared");
    let shown = world.shown("Continue from the handoff").context("no prompt came after the handoff")?;
    ensure!(shown.mentions("The beans are in the jar."), "the new session is not shown the handoff");
    ensure!(world.errors().is_empty(), "the hooks wrote errors");
    Ok(())
}

/// The same, with `/clear` and the prompt submitted by the chord.
pub(crate) fn continuation_by_chord(cast: &Cast, home: &Path) -> Result<()> {
    go_on(cast, home, false, true)
}

fn go_on(cast: &Cast, home: &Path, bridge: bool, chord: bool) -> Result<()> {
    let config = json!({ "continuation": { "enabled": true }, "bridge": { "enabled": bridge } });
    let world = World::new(cast, home, &config, rules())?;
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
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    ensure!(world.chord_proofs().len() == usize::from(chord), "the chord: {:?}", world.chord_proofs());
    Ok(())
}

/// Returns the model's answers to what the plugin asks in a continuation.
pub(crate) fn rules() -> Vec<Rule> {
    let rule = |after: &str, say: &str| Rule { after: after.to_owned(), say: say.to_owned() };
    vec![rule("nonce: ", HANDOFF), rule("Continue from the handoff", "I go on with the other half.")]
}
