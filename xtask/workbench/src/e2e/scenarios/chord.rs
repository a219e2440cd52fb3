//! The submit chord while subagents open dialogs.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_inject::ScreenState;
use serde_json::{Value, json};

use super::super::session::Session;
use super::super::world::{Cast, World};

/// The keys of the chord, by tmux's key names.
const CHORD: &[&str] = &["C-x", "C-q"];
const ENTER: &[&str] = &["Enter"];

/// Number of shots into a dialog before it is denied, so that the next one opens.
const SHOTS_PER_DIALOG: usize = 2;

/// Number of shots without a dialog before new subagents are started.
const SHOTS_WITHOUT: usize = 30;

/// Pause between shots, chosen so that it does not align with other periods.
const PAUSE: Duration = Duration::from_millis(70);

/// Time after which Claude Code takes Escape as a key of its own, not as the beginning of a sequence.
const AFTER_ESCAPE: Duration = Duration::from_millis(300);

/// Fires forty chords, and Enter until it approves.
pub(crate) fn few(cast: &Cast, home: &Path) -> Result<()> {
    provoke(cast, home, 40)
}

/// As `few`, with two hundred chords.
pub(crate) fn many(cast: &Cast, home: &Path) -> Result<()> {
    provoke(cast, home, 200)
}

/// Counts of a series of shots.
#[derive(Debug, Default)]
struct Shots {
    fired: usize,
    dialogs: usize,
    into_dialogs: usize,
    submitted: usize,
    approved: usize,
}

fn provoke(cast: &Cast, home: &Path, count: usize) -> Result<()> {
    // No bookmarks of the plugin's own: only the shots are typed.
    let config = json!({ "bookmarks": { "mid_turn": false, "thresholds": { "cooldown_seconds": 100000 } } });
    let world = World::new(cast, home, &config, Vec::new())?;
    world.bind_chord()?;
    let session = world.open(&[])?;
    let shots = shoot(&world, &session, CHORD, count, "by-chord")?;
    writeln!(io::stdout(), "          by the chord: {shots:?}")?;
    ensure!(shots.dialogs > 0 && shots.into_dialogs > 0, "no chord met a dialog: {shots:?}");
    ensure!(shots.submitted > 0, "the chord has submitted nothing: {shots:?}");
    ensure!(shots.approved == 0, "the chord has approved something: {shots:?}");
    // The same with Enter, to show that the shots do reach dialogs: without this, the chords prove nothing.
    let session = world.open(&[])?;
    let shots = shoot(&world, &session, ENTER, count, "by-enter")?;
    writeln!(io::stdout(), "          by Enter:     {shots:?}")?;
    ensure!(shots.approved > 0, "Enter has approved nothing, so the chords prove nothing: {shots:?}");
    Ok(())
}

/// Types the marker and `keys` without inspecting the pane, while subagents ask whether they may write; stops at the
/// first approval.
fn shoot(world: &World, session: &Session<'_>, keys: &[&str], count: usize, name: &str) -> Result<Shots> {
    let target = world.project.join(name);
    let order = format!("TASK:2:SLOW:4000 WRITES:40:{};;SAY:they are under way", target.display());
    let prompts = world.prompts().len();
    let approved = || written(&world.project, name);
    let mut shots = Shots::default();
    let (mut in_this, mut without) = (0, SHOTS_WITHOUT);
    while shots.fired < count && approved() == 0 {
        if session.in_dialog()? {
            shots.dialogs += usize::from(in_this == 0);
            in_this += 1;
            without = 0;
            if in_this > SHOTS_PER_DIALOG {
                deny(session)?;
                in_this = 0;
                continue;
            }
            shots.into_dialogs += 1;
        } else {
            in_this = 0;
            without += 1;
            if without > SHOTS_WITHOUT {
                start_subagents(world, session, &order)?;
                without = 0;
            }
        }
        session.tmux.type_text(&session.pane, "·")?;
        session.press(keys)?;
        shots.fired += 1;
        std::thread::sleep(PAUSE);
    }
    // An approved tool needs a moment to write.
    let waited = Instant::now();
    while approved() == 0 && waited.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(PAUSE);
    }
    shots.approved = approved();
    shots.submitted = world.prompts()[prompts..].iter().filter(|prompt| prompt.contains('·')).count();
    Ok(shots)
}

/// Starts subagents once: types the order into an empty input, and submits again only while it is still there.
fn start_subagents(world: &World, session: &Session<'_>, order: &str) -> Result<()> {
    let arrived = || world.prompts().iter().filter(|prompt| prompt.contains(order)).count();
    let before = arrived();
    world.wait("a free input", || {
        deny(session)?;
        session.press(&["C-u"])?;
        std::thread::sleep(AFTER_ESCAPE);
        Ok(matches!(session.look()?, ScreenState::Input { draft: None, .. }))
    })?;
    session.tmux.type_text(&session.pane, order)?;
    world.wait("the order to arrive", || {
        deny(session)?;
        if matches!(session.look()?, ScreenState::Input { draft: Some(_), .. }) {
            session.press(CHORD)?;
        }
        std::thread::sleep(Duration::from_secs(1));
        Ok(arrived() > before)
    })?;
    world.wait("a subagent that asks", || session.in_dialog())
}

/// Denies the open dialog, if there is one.
fn deny(session: &Session<'_>) -> Result<()> {
    if session.in_dialog()? {
        session.press(&["Escape"])?;
        // A key that follows Escape at once would be read together with it, as Alt and the key.
        std::thread::sleep(AFTER_ESCAPE);
    }
    Ok(())
}

fn written(folder: &Path, name: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(name)).count()
}

/// Three subagents of ten calls each beside a turn that works, too: a bookmark is set within the turn, /rewind lists
/// it, and restoring it keeps what was before it.
pub(crate) fn cascade(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({ "bookmarks": { "thresholds": { "min_tool_calls": 1000, "min_seconds": 100000, "min_tokens": 1000000 } } });
    let world = World::new(cast, home, &config, Vec::new())?;
    world.bind_chord()?;
    let session = world.open(&[])?;
    session.submit("TASK:3:TOOLS:10;;SLOW:700 TOOLS:25;;SAY:the last word")?;
    let id = session.id()?;
    world.wait("a bookmark", || Ok(world.prompts().iter().any(|prompt| prompt == "·")))?;
    ensure!(world.events("Stop").is_empty(), "the bookmark came after the turn");
    ensure!(world.log(&id, 'A').len() >= 3, "the bookmark came before the third subagent");
    world.wait("the end of the turn", || Ok(!world.events("Stop").is_empty()))?;
    world.wait("an empty input", || session.awaits_prompt())?;
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());
    let calls = |body: &Value| body.to_string().matches("\"tool_use_id\"").count();
    let whole = world.model.shown().iter().map(|shown| calls(&shown.body)).max().unwrap_or_default();
    session.rewind_to("·")?;
    session.say("SAY:after the rewind")?;
    let shown = world.shown("after the rewind").context("the prompt has not reached the model")?;
    let kept = calls(&shown.body);
    ensure!(kept > 3 && kept < whole, "of {whole} calls {kept} were kept");
    ensure!(shown.mentions("step 1") && !shown.mentions("step 25"), "what was before the bookmark was not kept");
    Ok(())
}
