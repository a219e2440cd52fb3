//! States of Claude Code's input while a turn runs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};
use super::inputs::{bookmark, refused, world};

/// A question whose last option is a text field.
const QUESTION: &str = r#"TOOL:AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}"#;

/// A draft is stashed for a bookmark in the running turn, and restored although the bookmark is only queued.
pub(crate) fn draft_in_turn(cast: &Cast, home: &Path) -> Result<()> {
    // An automatic bookmark would take the place of the requested one.
    let config = json!({ "inject": { "patience_seconds": 6 }, "bookmarks": { "mid_turn": false } });
    let world = World::new(cast, home, &config, Vec::new())?;
    world.bind_chord()?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    let id = session.id()?;
    session.submit("SLOW:900 TOOLS:40;;SAY:done")?;
    world.wait("a tool call", || Ok(!world.log(&id, 'T').is_empty()))?;
    session.draft("half a thought")?;
    bookmark(&world, &session, "in the turn")?;
    world.wait("the draft again", || session.drafted("half a thought"))?;
    let sent = world.prompts();
    ensure!(sent.last().is_some_and(|prompt| prompt == "· in the turn"), "not the bookmark alone: {sent:?}");
    ensure!(world.events("Stop").len() == 1, "the bookmark came after the turn");
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());
    Ok(())
}

/// Nothing is typed into a dialog's text field, and the chord does not send what is in it.
pub(crate) fn text_field(cast: &Cast, home: &Path) -> Result<()> {
    let world = world(cast, home)?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    bookmark(&world, &session, "plain")?;
    // The prompt does not fit into one row of the input, so `submit` cannot be used.
    session.tmux.type_text(&session.pane, &format!("{QUESTION};;SAY:answered"))?;
    session.wait_for("SAY:answered")?;
    session.press(&["Enter"])?;
    world.wait("the question", || session.in_dialog())?;
    session.press(&["Down", "Down"])?;
    session.wait_for("❯ 3. Type something")?;
    // The field ignores keys that arrive too soon after it is drawn.
    world.wait("a text in the field", || {
        session.tmux.type_text(&session.pane, "mine")?;
        std::thread::sleep(Duration::from_millis(700));
        session.shows("mine")
    })?;
    refused(&world, &session, "waited 6 s")?;
    ensure!(session.in_dialog()? && session.shows("mine")?, "the question was answered, or the field has changed");
    ensure!(!session.shows("mine·")? && !session.shows("· not now")?, "something was typed into the field");
    session.press(&["Escape"])
}
