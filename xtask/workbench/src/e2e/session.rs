//! Claude Code in a pane, and the actions of a user. `PATIENCE` in `world` limits every wait.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use longhaul_inject::{EditorMode, ScreenState, TmuxPane, TurnSign, UnsafeScreen, parse_inspection, screen_state};
use xtask::run;

use super::world::World;
use crate::stage::Tmux;

/// Time after which a key without effect is pressed again.
const AGAIN: Duration = Duration::from_secs(1);

/// A running Claude Code.
pub(crate) struct Session<'a> {
    pub(crate) world: &'a World,
    pub(crate) tmux: &'a Tmux,
    pub(crate) pane: String,
}

impl Session<'_> {
    /// Returns its session id: that of the newest SessionStart.
    pub(crate) fn id(&self) -> Result<String> {
        let starts = self.world.events("SessionStart");
        let id = starts.last().and_then(|start| start["session_id"].as_str());
        id.map(str::to_owned).context("no session has started")
    }

    /// Submits a prompt and waits until its turn has ended and the input is empty.
    pub(crate) fn say(&self, prompt: &str) -> Result<()> {
        let stops = self.world.events("Stop").len();
        self.submit(prompt)?;
        self.world.wait(&format!("the end of the turn {prompt:?}"), || Ok(self.world.events("Stop").len() > stops))?;
        self.world.wait("an empty input", || self.awaits_prompt())
    }

    /// Types a line, waits until it is in the input, and presses Enter.
    pub(crate) fn submit(&self, text: &str) -> Result<()> {
        self.draft(text)?;
        self.press(&["Enter"])
    }

    /// Types `text` and leaves it in the input.
    pub(crate) fn draft(&self, text: &str) -> Result<()> {
        self.tmux.type_text(&self.pane, text)?;
        self.world.wait(&format!("{text:?} in the input"), || self.drafted(text))
    }

    /// Returns whether exactly `text` is in the input.
    pub(crate) fn drafted(&self, text: &str) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Input { draft: Some(draft), .. } if draft == text))
    }

    /// Presses keys, by tmux's key names.
    pub(crate) fn press(&self, keys: &[&str]) -> Result<()> {
        self.tmux.press(&self.pane, keys)
    }

    /// Answers the open dialog with one key.
    ///
    /// The key is pressed again while it has no effect, because a dialog ignores keys for a moment after it is drawn.
    pub(crate) fn answer(&self, key: &str) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.world.wait("the dialog's end", || {
            if pressed.is_none_or(|pressed| pressed.elapsed() > AGAIN) {
                self.press(&[key])?;
                pressed = Some(Instant::now());
            }
            Ok(!self.in_dialog()?)
        })
    }

    /// Returns whether the input is shown and empty, and no turn runs.
    pub(crate) fn awaits_prompt(&self) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Input { draft: None, turn: TurnSign::Idle, .. }))
    }

    /// Returns whether a dialog is open.
    pub(crate) fn in_dialog(&self) -> Result<bool> {
        Ok(matches!(self.look()?, ScreenState::Unsafe(UnsafeScreen::Dialog)))
    }

    /// Returns the state of the screen, as the plugin reads it.
    pub(crate) fn look(&self) -> Result<ScreenState> {
        let socket = self.tmux.variable.split(',').next().unwrap_or_default().to_owned();
        let inspect = TmuxPane { socket, pane: self.pane.clone() }.inspect();
        let (program, arguments) = inspect.argv.split_first().context("the command to inspect the pane is empty")?;
        let seen = run::output(run::program(program).args(arguments));
        let Some(seen) = seen.ok().and_then(|seen| parse_inspection(&seen)) else {
            bail!("pane {} is gone", self.pane);
        };
        Ok(screen_state(&seen, EditorMode::Normal))
    }

    /// Enters or leaves tmux's copy-mode.
    pub(crate) fn copy_mode(&self, on: bool) -> Result<()> {
        if on { self.tmux.copy_mode(&self.pane) } else { self.press(&["-X", "cancel"]) }
    }

    /// Returns whether `text` is on the screen.
    pub(crate) fn shows(&self, text: &str) -> Result<bool> {
        Ok(self.tmux.capture(&self.pane)?.iter().any(|line| line.contains(text)))
    }

    /// Waits until `text` is on the screen.
    pub(crate) fn wait_for(&self, text: &str) -> Result<()> {
        self.world.wait(&format!("{text:?} on the screen"), || self.shows(text))
    }

    /// Returns the text on the screen, with a space for every gap and line end.
    pub(crate) fn text(&self) -> Result<String> {
        let lines = self.tmux.capture(&self.pane)?;
        Ok(lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" "))
    }

    /// Goes back with `/rewind` to before the newest message `text`, and leaves the input empty.
    pub(crate) fn rewind_to(&self, text: &str) -> Result<()> {
        self.tmux.type_text(&self.pane, "/rewind")?;
        self.wait_for("/rewind")?;
        self.press(&["Enter"])?;
        self.wait_for("(current)")?;
        let wanted = Some(format!("❯ {text}"));
        // Entries after the message, such as Claude Code's message about a subagent, are listed below it.
        let mut chosen = self.chosen()?;
        while chosen != wanted {
            let before = chosen;
            self.press(&["Up"])?;
            self.world.wait(&format!("an entry {text:?} in the list"), || Ok(self.chosen()? != before))?;
            chosen = self.chosen()?;
        }
        self.press(&["Enter"])?;
        self.wait_for("❯ 1. Restore conversation")?;
        self.press(&["Enter"])?;
        self.world.wait("the message in the input", || self.drafted(text))?;
        self.press(&["C-u"])?;
        self.world.wait("an empty input", || self.awaits_prompt())
    }

    /// Returns the chosen entry of an open list. Its lines are indented, those of the conversation are not.
    fn chosen(&self) -> Result<Option<String>> {
        let lines = self.tmux.capture(&self.pane)?;
        let chosen = lines.iter().rfind(|line| line.starts_with(' ') && line.trim_start().starts_with("❯ "));
        Ok(chosen.map(|line| line.trim().to_owned()))
    }

    /// Exits Claude Code, and waits until the pane is closed.
    pub(crate) fn exit(self) -> Result<()> {
        // The line may open a menu, in which Enter selects the same command.
        self.tmux.type_text(&self.pane, "/exit")?;
        self.world.wait("/exit in the input", || self.shows("/exit"))?;
        self.press(&["Enter"])?;
        self.world.wait("the client's end", || Ok(self.tmux.capture(&self.pane).is_err()))
    }

    /// Runs a command of Claude Code such as `/clear`, waits for the session that it starts and returns its id.
    pub(crate) fn restart(&self, command: &str) -> Result<String> {
        let started = self.world.events("SessionStart").len();
        self.tmux.type_text(&self.pane, command)?;
        self.wait_for(command)?;
        self.press(&["Enter"])?;
        self.world.wait("a new session", || Ok(self.world.events("SessionStart").len() > started))?;
        self.world.wait("an empty input", || self.awaits_prompt())?;
        self.id()
    }

    /// Kills Claude Code with SIGKILL.
    pub(crate) fn kill(&self) -> Result<()> {
        let pid = self.tmux.pid(&self.pane)?;
        ensure!(pid.parse::<u32>().is_ok(), "pane {} has no process", self.pane);
        run::output(run::program("kill").args(["-KILL", &pid]))?;
        self.world.wait("the client's end", || Ok(self.tmux.capture(&self.pane).is_err()))
    }
}
