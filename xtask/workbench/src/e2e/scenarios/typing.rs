//! When text is typed into Claude Code's pane, and when not.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Shown;
use longhaul_inject::ScreenState;
use serde_json::{Value, json};

use super::super::world::{Cast, Session, World};

/// Twenty tool calls in one turn: a bookmark is set among them, and causes no request of its own.
pub(crate) fn bookmark(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    session.say("TOOLS:20")?;
    let id = session.id()?;
    ensure!(world.log(&id, 'B').len() == 1, "the activity log has not one bookmark");
    let bookmarks = world.longhaul_json(&["bookmarks"])?;
    ensure!(bookmarks.as_array().is_some_and(|all| all.len() == 1), "longhaul bookmarks says {bookmarks}");
    let requests: Vec<_> = world.model.shown().into_iter().filter(|shown| !shown.tools().is_empty()).collect();
    ensure!(requests.len() == 21, "20 tool calls took {} requests and not 21", requests.len());
    // The sign may also occur in Claude Code's own text for every session.
    let marks = |shown: &Shown| shown.count("·");
    let first = requests.iter().position(|shown| marks(shown) > marks(&requests[0]));
    let first = first.context("the model never saw the bookmark")?;
    ensure!((15..20).contains(&first), "the bookmark came with request {first}");
    // The next session is shown what was said, once; a bookmark set by hand is no request.
    session.submit("· by hand")?;
    world.wait("the second bookmark", || Ok(world.log(&id, 'B').len() == 2))?;
    let handoff = world.longhaul(&["handoff", "show", "--session", &id])?;
    let said: Vec<&str> = handoff.lines().filter(|line| line.starts_with('[')).collect();
    ensure!(
        matches!(said[..], [asked, replied] if asked.ends_with("[Last request] TOOLS:20")
            && replied.contains("[Last reply] ")),
        "the handoff shows {handoff}"
    );
    Ok(())
}

/// A draft that is in the input when a bookmark is due is there again afterwards, and was not sent.
pub(crate) fn draft(cast: &Cast, home: &Path) -> Result<()> {
    const DRAFT: &str = "half a thought";
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    session.submit("SLOW:100 TOOLS:20")?;
    session.wait_for("step 1")?;
    session.draft(DRAFT)?;
    world.wait("the end of the turn", || Ok(world.events("Stop").len() == 1))?;
    let id = session.id()?;
    world.wait("the bookmark", || Ok(!world.log(&id, 'B').is_empty()))?;
    world.wait("the draft in the input again", || session.drafted(DRAFT))?;
    let sent = world.events("UserPromptSubmit");
    ensure!(!sent.iter().any(|prompt| prompt["prompt"].to_string().contains(DRAFT)), "the draft was sent: {sent:?}");
    Ok(())
}

/// A bookmark becomes due while a dialog is open, because a subagent returns: the dialog stays open, and nothing is
/// typed.
pub(crate) fn dialog(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({
        "bookmarks": { "thresholds": { "agent_burst_threshold": 1, "cooldown_seconds": 0 } },
        "inject": { "patience_seconds": 2 },
    });
    let world = World::new(cast, home, &config, Vec::new())?;
    let session = world.open(&[])?;
    let file = world.project.join("asked.txt");
    session.submit(&format!("TASK:1:SLOW:1500 SAY:one two three;;WRITE:{}", file.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait("the subagent's return", || Ok(!world.events("SubagentStop").is_empty()))?;
    let id = session.id()?;
    world.wait("the bookmark to be given up", || Ok(!world.log(&id, 'G').is_empty()))?;
    ensure!(session.in_dialog()? && !file.exists(), "something has answered the dialog");
    session.answer("Enter")?;
    world.wait("the file that was asked for", || Ok(file.exists()))
}

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
    let config = json!({ "bookmarks": { "enabled": "turn_end", "thresholds": { "cooldown_seconds": 100000 } } });
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

pub(super) fn world(cast: &Cast, home: &Path) -> Result<World> {
    let world = World::new(cast, home, &json!({ "inject": { "patience_seconds": 6 } }), Vec::new())?;
    world.bind_chord()?;
    Ok(world)
}

/// Sets a bookmark with the command line, which types it now or reports why not.
fn set_bookmark(world: &World, session: &Session<'_>, note: &str) -> Result<String> {
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
    let answer = set_bookmark(world, session, "not now");
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
    set_bookmark(&world, &session, "plain")?;
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());

    session.draft("half a thought")?;
    set_bookmark(&world, &session, "beside a draft")?;
    world.wait("the draft again", || session.drafted("half a thought"))?;
    world
        .wait("the bookmark alone", || Ok(world.prompts().last().is_some_and(|prompt| prompt == "· beside a draft")))?;
    session.press(&["C-u"])?;

    // A user types during the whole attempt.
    let typed = std::thread::scope(|scope| {
        let bookmark = scope.spawn(|| set_bookmark(&world, &session, "while typing"));
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
    set_bookmark(&world, &session, "at last").map(drop)
}

/// In vim's insert mode the text is typed; in normal mode nothing is typed, and a draft stays.
pub(crate) fn vim(cast: &Cast, home: &Path) -> Result<()> {
    let world = world(cast, home)?;
    world.set("editorMode", json!("vim"))?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    set_bookmark(&world, &session, "inserted")?;
    ensure!(world.chord_proofs() == ["received"], "the chord: {:?}", world.chord_proofs());
    session.draft("half a thought")?;
    session.press(&["Escape"])?;
    world.wait("normal mode", || Ok(!session.shows("-- INSERT --")?))?;
    let prompts = world.prompts();
    let said = set_bookmark(&world, &session, "not now").err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(said.contains("vim's insert mode"), "typed, or refused for another reason: {said:?}");
    ensure!(world.prompts() == prompts && session.shows("half a thought")?, "the draft was sent");
    session.press(&["A"])?;
    world.wait("insert mode", || session.shows("-- INSERT --"))?;
    set_bookmark(&world, &session, "and back")?;
    world.wait("the draft again", || session.drafted("half a thought"))
}

/// A question whose last option is a text field.
const QUESTION: &str = r#"TOOL:AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}"#;

/// A draft is stashed for a bookmark in the running turn, and restored although the bookmark is only queued.
pub(crate) fn draft_in_turn(cast: &Cast, home: &Path) -> Result<()> {
    // An automatic bookmark would take the place of the requested one.
    let config = json!({ "inject": { "patience_seconds": 6 }, "bookmarks": { "enabled": "turn_end" } });
    let world = World::new(cast, home, &config, Vec::new())?;
    world.bind_chord()?;
    let session = world.open(&[])?;
    session.say("SAY:hello")?;
    let id = session.id()?;
    session.submit("SLOW:900 TOOLS:40;;SAY:done")?;
    world.wait("a tool call", || Ok(!world.log(&id, 'T').is_empty()))?;
    session.draft("half a thought")?;
    set_bookmark(&world, &session, "in the turn")?;
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
    set_bookmark(&world, &session, "plain")?;
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
