//! Permission dialogs that are answered from the view of all sessions.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::super::session::Session;
use super::super::world::{Cast, World};

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
    ensure!(world.errors().is_empty(), "{}", world.errors());
    Ok(())
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
