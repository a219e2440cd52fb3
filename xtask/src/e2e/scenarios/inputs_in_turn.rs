//! What may be in the client's input, or in front of it, while a turn runs.

use std::path::Path;

use anyhow::{Result, ensure};

use super::super::world::Cast;
use super::inputs::{bookmark, refused, world};

/// A question whose last choice is a text field.
const QUESTION: &str = r#"TOOL:AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}"#;

/// A draft is stashed for a bookmark in the running turn, and comes back although the bookmark is only queued.
pub(crate) fn draft_in_turn(cast: &Cast, home: &Path) -> Result<()> {
    let world = world(cast, home)?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    session.submit("SLOW:900 TOOLS:40;;SAY:done")?;
    world.wait("a tool call", || Ok(!world.events("PostToolUse").is_empty()))?;
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
    session.submit(&format!("{QUESTION};;SAY:answered"))?;
    world.wait("the question", || session.in_dialog())?;
    session.press(&["Down", "Down"])?;
    session.tmux.type_text(&session.pane, "mine")?;
    session.wait_for("mine")?;
    refused(&world, &session, "waited 6 s")?;
    ensure!(session.in_dialog()? && session.shows("mine")?, "the question was answered, or the field has changed");
    ensure!(!session.shows("mine·")? && !session.shows("· not now")?, "something was typed into the field");
    session.press(&["Escape"])
}
