//! The states that the tracker reports, the view of all sessions, and reopening those that were lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::short_session;
use serde_json::{Value, json};

use super::super::world::{Cast, Session, World};

/// A permission dialog sets the state blocked; yes continues the turn, and no, for which there is no hook, ends it.
pub(crate) fn blocked(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    let [granted, refused] = ["granted.txt", "refused.txt"].map(|name| world.project.join(name));
    session.submit(&format!("WRITE:{}", granted.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait_for_state(&id, "blocked")?;
    session.answer("Enter")?;
    world.wait_for_state(&id, "completed")?;
    ensure!(granted.exists(), "what was granted was not done");
    world.wait("an empty input", || session.awaits_prompt())?;
    session.submit(&format!("WRITE:{}", refused.display()))?;
    world.wait("a dialog", || session.in_dialog())?;
    world.wait_for_state(&id, "blocked")?;
    session.answer("Escape")?;
    world.wait_for_state(&id, "idle")?;
    ensure!(!refused.exists(), "what was refused was done");
    Ok(())
}

/// Esc, for which there is no hook, is reported by the module: the display changes within a second.
pub(crate) fn esc(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    // The displayed file itself: `longhaul status` would also read Claude Code's own record.
    let displays = |part: &str| fs::read_to_string(home.join("longhaul/status")).unwrap_or_default().contains(part);
    session.submit("SLOW:1500 SAY:one two three four five six seven eight nine ten eleven twelve thirteen fourteen")?;
    // Not until the answer is on the screen: Claude Code shows a line only when it is complete.
    world.wait("the client to be busy", || Ok(world.client_is("busy")))?;
    world.wait("the display to say working", || Ok(displays("1*")))?;
    session.press(&["Escape"])?;
    // Measured from the change of Claude Code's own record: the time before that depends on the machine.
    world.wait("the client to be idle", || Ok(world.client_is("idle")))?;
    let interrupted = Instant::now();
    world.wait("the display to say idle", || Ok(displays("1.") && displays("0*")))?;
    ensure!(interrupted.elapsed() < Duration::from_secs(1), "it took {} ms", interrupted.elapsed().as_millis());
    Ok(())
}

/// A session that exits is removed at once; one that is killed, for which there is no hook, at the next refresh. Both are in
/// the memory. A client that another session has started is listed as its child.
pub(crate) fn exit(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo left-politely")?;
    session.exit()?;
    world.wait("SessionEnd", || Ok(world.events("SessionEnd").len() == 1))?;
    ensure!(world.state(&id)?.is_none(), "the session that has exited is still tracked");
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo killed-in-the-act")?;
    session.submit("SLOW:500 SAY:one two three four five six seven eight nine ten")?;
    world.wait_for_state(&id, "working")?;
    let child = world.open_after(&[&format!("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS={id}")], &[])?;
    let child_id = child.id()?;
    let parent = format!("(child of {})", short_session(&id));
    // The hook of its start may still run when its input is shown.
    world.wait(&format!("a session {parent}"), || Ok(world.longhaul(&["status"])?.contains(&parent)))?;
    session.kill()?;
    child.kill()?;
    world.longhaul(&["tmux", "refresh"])?;
    let bar = world.longhaul(&["tmux", "status-bar"])?;
    for id in [&id, &child_id] {
        ensure!(world.state(id)?.is_none(), "session {id} is still listed after its client was killed: {bar}");
    }
    ensure!(world.events("SessionEnd").len() == 1, "SIGKILL has caused a SessionEnd");
    for mark in ["left-politely", "killed-in-the-act"] {
        world.longhaul(&["memory", "search", mark]).with_context(|| format!("{mark} is not remembered"))?;
    }
    Ok(())
}

/// A resumed session keeps its id and all its data; a fork gets its own id.
pub(crate) fn resume(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.say("RUN:echo before-the-break")?;
    session.exit()?;
    let session = world.open(&["--resume", &id])?;
    ensure!(session.id()? == id, "a resumed session has another id");
    session.say("RUN:echo after-the-break")?;
    world.wait_for_state(&id, "completed")?;
    ensure!(world.log(&id, 'T').len() == 2, "the activity log did not go on");
    session.exit()?;
    let session = world.open(&["--resume", &id, "--fork-session"])?;
    // A fork's id is known only after its first prompt.
    session.say("RUN:echo on-a-new-branch")?;
    let prompts = world.events("UserPromptSubmit");
    let fork = prompts.last().and_then(|prompt| prompt["session_id"].as_str()).context("no prompt came")?;
    ensure!(fork != id, "a fork has the same id");
    world.wait_for_state(fork, "completed")?;
    ensure!(world.state(&id)?.is_none(), "the session that was forked is tracked as if it ran");
    let found = world.longhaul_json(&["memory", "search", "+before-the-break", "--type", "observations"])?;
    ensure!(found.as_array().is_some_and(|found| found.len() == 1), "it is remembered more than once: {found}");
    Ok(())
}

/// Three background subagents: the session counts as working until the last of them has returned.
pub(crate) fn subagents(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let session = world.open(&[])?;
    let id = session.id()?;
    session.submit("TASK:3:SLOW:600 TOOLS:3;;SAY:they are under way")?;
    world.wait("the turn's end", || Ok(!world.events("Stop").is_empty()))?;
    if world.events("SubagentStop").len() < 3 {
        ensure!(world.state(&id)?.as_deref() == Some("working"), "subagents run, yet the session is not at work");
    }
    world.wait("three subagents' return", || Ok(world.events("SubagentStop").len() >= 3))?;
    world.wait_for_state(&id, "completed")?;
    ensure!(world.log(&id, 'A').len() == 3, "the activity log has not three returns");
    world.wait("a bookmark for the burst", || Ok(!world.log(&id, 'B').is_empty()))
}

/// Time after which a key is pressed again: the view ignores one that comes before the dialog could be read.
const AGAIN: Duration = Duration::from_millis(700);

/// Four dialogs are answered as meant, and four that are closed at the same moment get no key.
pub(crate) fn few(cast: &Cast, home: &Path) -> Result<()> {
    play(cast, home, 4)
}

/// The same, twenty times each.
pub(crate) fn many(cast: &Cast, home: &Path) -> Result<()> {
    play(cast, home, 20)
}

fn play(cast: &Cast, home: &Path, rounds: usize) -> Result<()> {
    let world = World::new(cast, home, &json!({ "bookmarks": { "enabled": false } }), Vec::new())?;
    let session = world.open(&[])?;
    let program = cast.bundle().join("bin/longhaul").display().to_string();
    let pane = session.tmux.open(&[&program], &world.variables())?;
    let view = View { world: &world, session: &session, pane };
    view.wait_for("1 session")?;
    for round in 0..rounds {
        view.answer(round).with_context(|| format!("round {round}"))?;
    }
    for round in 0..rounds {
        view.race(round).with_context(|| format!("race {round}"))?;
    }
    ensure!(world.prompts().len() == 2 * rounds, "something was submitted: {:?}", world.prompts());
    world.check_errors()
}

/// The view in a pane beside the session.
struct View<'a> {
    world: &'a World,
    session: &'a Session<'a>,
    pane: String,
}

impl View<'_> {
    fn screen(&self) -> Result<String> {
        Ok(self.session.tmux.capture(&self.pane)?.join("\n"))
    }

    fn wait_for(&self, text: &str) -> Result<()> {
        self.world.wait(&format!("{text:?} in the view"), || Ok(self.screen()?.contains(text)))
    }

    /// Presses `key` now and then until `done`, but not while the view is answering: the key would go to its list afterwards.
    fn press_until(&self, key: &str, what: &str, done: impl Fn() -> Result<bool>) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.world.wait(what, || {
            let is_answering = self.screen()?.contains("Answering…");
            if done()? {
                return Ok(true);
            }
            if !is_answering && pressed.is_none_or(|pressed| pressed.elapsed() > AGAIN) {
                self.session.tmux.press(&self.pane, &[key])?;
                pressed = Some(Instant::now());
            }
            Ok(false)
        })
    }

    /// Has Claude Code ask for a file, and the view show the dialog.
    fn ask(&self, file: &str) -> Result<()> {
        self.session.submit(&format!("WRITE:{}", self.world.project.join(file).display()))?;
        self.world.wait("a dialog", || self.session.in_dialog())?;
        let shown = format!("Do you want to create {file}?");
        self.press_until("y", "the dialog in the view", || {
            let screen = self.screen()?;
            Ok(screen.contains("asks:") && screen.contains(&shown))
        })
    }

    /// Answers a dialog, every other time with no.
    fn answer(&self, round: usize) -> Result<()> {
        let file = format!("answer-{round}.txt");
        self.ask(&file)?;
        let (key, word) = if round.is_multiple_of(2) { ("y", "Yes") } else { ("n", "No") };
        self.press_until(key, "the answer", || Ok(self.screen()?.contains(&format!("Answered {word}"))))?;
        self.world.wait("an empty input", || self.session.awaits_prompt())?;
        let is_there = self.world.project.join(&file).exists();
        ensure!(is_there == (key == "y"), "answered {word}, and the file is there: {is_there}");
        Ok(())
    }

    /// Answers a dialog while it is closed by Esc.
    fn race(&self, round: usize) -> Result<()> {
        let file = format!("race-{round}.txt");
        self.ask(&file)?;
        // Until the view accepts keys. Each round a little later than the one before.
        std::thread::sleep(AGAIN);
        self.session.tmux.press(&self.pane, &["y"])?;
        std::thread::sleep(Duration::from_millis(4 * round as u64));
        self.session.press(&["Escape"])?;
        self.world.wait("the end of the dialog", || Ok(!self.session.in_dialog()?))?;
        let ends = ["Answered", "Nothing was typed", "did not react"];
        self.world.wait("a message", || {
            let screen = self.screen()?;
            Ok(ends.iter().any(|end| screen.contains(end)))
        })?;
        // With a key in it, the input would never be empty again.
        self.world.wait("an empty input", || self.session.awaits_prompt())
    }
}

/// How long six sessions may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The tmux sessions, and the index and the name of each of their windows.
const WINDOWS: [(&str, [(&str, &str); 3]); 2] = [
    ("api", [("1", "parser"), ("2", "tests"), ("4", "docs")]),
    ("web", [("0", "styles"), ("3", "forms"), ("5", "images")]),
];

/// Six sessions in two tmux sessions, a killed server, one command: each is in its window, with its conversation.
pub(crate) fn reopen(cast: &Cast, home: &Path) -> Result<()> {
    let mut world = World::new(cast, home, &json!({}), Vec::new())?;
    world.wrap_client(&["--plugin-dir", &cast.bundle().display().to_string()])?;
    for (session, windows) in WINDOWS {
        for (at, (index, name)) in windows.into_iter().enumerate() {
            let target = format!("{session}:{index}");
            let place = match at {
                0 => vec!["new-session", "-d", "-s", session, "-x", "140", "-y", "45", "-n", name],
                _ => vec!["new-window", "-d", "-t", &target, "-n", name],
            };
            let client = world.open_at(&place, &["--permission-mode", "manual"])?;
            if at == 0 && index != "0" {
                world.tmux(&["move-window", "-s", &client.pane, "-t", &target])?;
            }
            client.say(&format!("SAY:this is {name}"))?;
        }
    }
    let before = windows(&world)?;
    let mut ids = BTreeMap::new();
    world.wait("the windows of all sessions", || {
        ids = placed(&world.longhaul_json(&["status"])?);
        Ok(ids.len() == 6)
    })?;
    world.kill_server()?;
    let began = Instant::now();
    let said = world.longhaul_outside(&["reopen", "--yes"])?;
    let took = began.elapsed();
    writeln!(io::stdout(), "{}\n  six sessions in {:.1} s", said.trim_end(), took.as_secs_f64())?;
    world.meet_server()?;
    ensure!(windows(&world)? == before, "before:\n{before}\nafter:\n{}", windows(&world)?);
    world.wait("every session in its window", || Ok(placed(&world.longhaul_json(&["status"])?) == ids))?;
    for (session, windows) in WINDOWS {
        for (index, name) in windows {
            let client = world.session_at(&format!("{session}:{index}"))?;
            world.wait("an empty input", || client.awaits_prompt())?;
            client.say(&format!("SAY:again {name}"))?;
            let shown = world.model.shown();
            let request = shown.iter().find(|shown| shown.mentions(&format!("again {name}")));
            let request = request.context("the prompt reached no model")?;
            ensure!(request.mentions(&format!("this is {name}")), "{name} has lost its conversation");
        }
    }
    ensure!(took <= LIMIT, "it took {:.1} s", took.as_secs_f64());
    Ok(())
}

fn windows(world: &World) -> Result<String> {
    let listing = world.tmux(&["list-windows", "-a", "-F", "#{session_name}:#{window_index} #{window_name}"])?;
    let ours = |line: &&str| WINDOWS.iter().any(|(session, _)| line.starts_with(session));
    Ok(listing.lines().filter(ours).collect::<Vec<_>>().join("\n"))
}

/// Returns the window of each session.
fn placed(status: &Value) -> BTreeMap<String, String> {
    let rows = status.as_array().into_iter().flatten();
    rows.filter_map(|row| Some((row["session"].as_str()?.to_owned(), row["target"].as_str()?.to_owned()))).collect()
}
