//! States of Claude Code's input when a text should be typed.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::session::Session;
use super::super::world::{Cast, World};

const CHORD: &[&str] = &["C-x", "C-q"];

pub(super) fn world(cast: &Cast, home: &Path) -> Result<World> {
    let world = World::new(cast, home, &json!({ "inject": { "patience_seconds": 6 } }), Vec::new())?;
    world.bind_chord()?;
    Ok(world)
}

/// Sets a bookmark with the command line, which types it now or reports why not.
pub(super) fn bookmark(world: &World, session: &Session<'_>, note: &str) -> Result<String> {
    world.longhaul(&["bookmark", "--session", &session.id()?, note])
}

/// Checks that nothing is typed, that the reason is `why`, and that the chord alone has no effect.
pub(super) fn refused(world: &World, session: &Session<'_>, why: &str) -> Result<()> {
    session.press(CHORD)?;
    refused_without_chord(world, session, why)
}

/// The same, where the chord is not pressed.
fn refused_without_chord(world: &World, session: &Session<'_>, why: &str) -> Result<()> {
    let prompts = world.prompts();
    let answer = bookmark(world, session, "not now");
    let said = answer.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(said.contains(why), "typed, or refused for another reason than {why:?}: {said:?}");
    ensure!(world.prompts() == prompts, "something was submitted: {:?}", world.prompts());
    Ok(())
}

/// Every state of the input except vim's modes.
pub(crate) fn inputs(cast: &Cast, home: &Path) -> Result<()> {
    let world = world(cast, home)?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    bookmark(&world, &session, "plain")?;
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());

    session.draft("half a thought")?;
    bookmark(&world, &session, "beside a draft")?;
    world.wait("the draft again", || session.drafted("half a thought"))?;
    world
        .wait("the bookmark alone", || Ok(world.prompts().last().is_some_and(|prompt| prompt == "· beside a draft")))?;
    session.press(&["C-u"])?;

    // A user types during the whole attempt.
    let typed = std::thread::scope(|scope| {
        let bookmark = scope.spawn(|| bookmark(&world, &session, "while typing"));
        while !bookmark.is_finished() {
            session.tmux.type_text(&session.pane, "x")?;
            std::thread::sleep(Duration::from_millis(400));
        }
        Ok::<_, anyhow::Error>(bookmark.join().unwrap_or_else(|_| Ok(String::new())))
    })?;
    let said = typed.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(said.contains("draft"), "a draft that is being typed was not waited for: {said:?}");
    ensure!(!world.prompts().iter().any(|prompt| prompt.contains('x')), "it was sent: {:?}", world.prompts());
    session.press(&["C-u"])?;
    world.wait("an empty input", || session.awaits_prompt())?;

    session.tmux.type_text(&session.pane, "/cle")?;
    session.wait_for("/clear")?;
    // As of 2.1.326, the chord runs the command that the menu marks, here `/clear`. Earlier versions ignore it.
    refused_without_chord(&world, &session, "being completed")?;
    world.wait("the half command", || session.drafted("/cle"))?;
    session.press(&["C-u"])?;
    world.wait("an empty input", || session.awaits_prompt())?;

    session.press(&["C-r"])?;
    world.wait("the search in the history", || session.in_dialog())?;
    refused(&world, &session, "a dialog is open")?;
    session.press(&["C-c"])?;
    world.wait("an empty input", || session.awaits_prompt())?;

    session.press(&["C-o"])?;
    session.wait_for("detailed transcript")?;
    refused(&world, &session, "waited 6 s")?;
    session.press(&["C-o"])?;
    world.wait("an empty input", || session.awaits_prompt())?;

    session.copy_mode(true)?;
    refused(&world, &session, "copy-mode")?;
    session.copy_mode(false)?;
    world.wait("an empty input", || session.awaits_prompt())?;
    bookmark(&world, &session, "at last").map(drop)
}

/// In vim's insert mode the text is typed; in normal mode nothing is typed, and a draft stays.
pub(crate) fn vim(cast: &Cast, home: &Path) -> Result<()> {
    let world = world(cast, home)?;
    world.set("editorMode", json!("vim"))?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    bookmark(&world, &session, "inserted")?;
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());
    session.draft("half a thought")?;
    session.press(&["Escape"])?;
    world.wait("normal mode", || Ok(!session.shows("-- INSERT --")?))?;
    let prompts = world.prompts();
    let said = bookmark(&world, &session, "not now").err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(said.contains("vim's insert mode"), "typed, or refused for another reason: {said:?}");
    ensure!(world.prompts() == prompts && session.shows("half a thought")?, "the draft was sent");
    session.press(&["A"])?;
    world.wait("insert mode", || session.shows("-- INSERT --"))?;
    bookmark(&world, &session, "and back")?;
    world.wait("the draft again", || session.drafted("half a thought"))
}
