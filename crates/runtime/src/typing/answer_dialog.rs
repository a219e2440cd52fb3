//! Answers a permission dialog in another terminal, if it is still the one that the user has seen.

use std::fs::File;
use std::time::{Duration, Instant};

use longhaul_core::{Env, Millis, SessionId};
use longhaul_inject::{
    DialogAnswer, EditorMode, Inspection, Pane as _, PermissionDialog, ScreenState, Terminal, TmuxPane,
    parse_inspection, screen_state,
};

use super::typist::{TERMINAL_CALL, client_is_in};
use crate::{Error, Home, SessionRecord, client_records, files, process};

/// How long to wait for a key that went to the input because the dialog closed by itself, until it appears there.
const DIALOG_KEY_IN_INPUT: Duration = Duration::from_millis(500);

/// A key without effect is pressed again after this time: a dialog ignores keys for a moment after it is drawn.
const DIALOG_KEY_AGAIN: Duration = Duration::from_millis(1_200);

/// How often the key is pressed at most.
const MAX_PRESSES: usize = 3;

/// How often a check and key press in one step is tried. It fails while the screen is being drawn.
const MAX_CHECKS: usize = 20;

/// Interval at which the pane is inspected.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// The tmux pane of a session whose dialog is to be read or answered.
#[derive(Debug, Clone)]
pub struct DialogPane {
    session: SessionId,
    pane: TmuxPane,
    client_pid: Option<u32>,
}

/// A permission dialog as the user has seen it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenDialog {
    pub dialog: PermissionDialog,
    /// Since when Claude Code waits, according to its own record. Another dialog has another time.
    waiting_since: Option<Millis>,
}

/// The result of answering a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogOutcome {
    /// The key was pressed, and the dialog has closed.
    Answered,
    /// No key was pressed. With the reason.
    NothingTyped(String),
    /// The key was pressed, and the dialog is still open.
    NoEffect,
}

impl DialogPane {
    /// Returns the pane of a session, or the reason why its dialogs cannot be answered.
    pub fn of(record: &SessionRecord) -> Result<Self, String> {
        let Some(session) = SessionId::new(&record.session) else { return Err("the session has no id".to_owned()) };
        match &record.terminal {
            Some(Terminal::Tmux(pane)) => Ok(Self { session, pane: pane.clone(), client_pid: record.client_pid }),
            Some(_) => Err("dialogs can be answered only in tmux: go there".to_owned()),
            None => Err(record.no_terminal.clone().unwrap_or_else(|| "its terminal is not known".to_owned())),
        }
    }

    /// Returns the permission dialog that the pane shows, or the reason why there is none to answer.
    pub fn read(&self, env: &Env) -> Result<SeenDialog, String> {
        let waiting_since = self.waiting_since(env)?;
        let Some(dialog) = PermissionDialog::find(&self.inspect()?) else {
            return Err("there is no permission dialog with Yes and No on its screen".to_owned());
        };
        Ok(SeenDialog { dialog, waiting_since })
    }

    /// Presses the key for `answer`, if the pane still shows the dialog that the user has seen.
    ///
    /// The last check and the key press are one step of tmux.
    pub fn answer(
        &self,
        env: &Env,
        home: &Home,
        seen: &SeenDialog,
        answer: DialogAnswer,
    ) -> Result<DialogOutcome, Error> {
        let nothing = |why: &str| Ok(DialogOutcome::NothingTyped(why.to_owned()));
        let Some(key) = seen.dialog.key(answer) else { return nothing("the dialog has no such option") };
        let Some(_lock) = self.lock(home)? else { return nothing("another process is typing into the pane") };
        let (mut presses, mut checks) = (0, 0);
        while presses < MAX_PRESSES {
            match self.read(env) {
                Ok(now) if now == *seen => match self.press(&now.dialog, key) {
                    Ok(true) => presses += 1,
                    Ok(false) if checks < MAX_CHECKS => {
                        checks += 1;
                        std::thread::sleep(LOOK_EVERY);
                        continue;
                    }
                    Ok(false) => return nothing("the screen keeps changing: go there"),
                    Err(problem) => return nothing(&problem),
                },
                Ok(_) if presses == 0 => return nothing("another dialog is open now"),
                Err(why) if presses == 0 => return nothing(&why),
                Ok(_) | Err(_) => return Ok(self.answered(key)),
            }
            if self.closes(env, seen) {
                return Ok(self.answered(key));
            }
        }
        Ok(DialogOutcome::NoEffect)
    }

    fn press(&self, dialog: &PermissionDialog, key: char) -> Result<bool, String> {
        let pressed = process::run(&self.pane.press_in_dialog(dialog, key), TERMINAL_CALL);
        pressed.map(|stdout| TmuxPane::was_pressed(&stdout)).map_err(|error| error.chain())
    }

    /// Waits for the end of the dialog; returns whether it came.
    fn closes(&self, env: &Env, seen: &SeenDialog) -> bool {
        let started = Instant::now();
        while started.elapsed() < DIALOG_KEY_AGAIN {
            if self.read(env).as_ref() != Ok(seen) {
                return true;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        false
    }

    /// Removes the key from the input, if it went there because the dialog closed by itself at the same moment.
    ///
    /// The client may draw the empty input first and the key a moment later.
    fn answered(&self, key: char) -> DialogOutcome {
        let started = Instant::now();
        while !self.is_in_input(key) {
            if started.elapsed() >= DIALOG_KEY_IN_INPUT {
                return DialogOutcome::Answered;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let _ = process::run(&self.pane.erase(1), TERMINAL_CALL);
        DialogOutcome::NothingTyped("the dialog was closed at the same moment".to_owned())
    }

    /// Returns whether the input has nothing but `key`.
    fn is_in_input(&self, key: char) -> bool {
        let state = self.inspect().map(|inspection| screen_state(&inspection, EditorMode::Normal));
        matches!(&state, Ok(ScreenState::Input { draft: Some(draft), .. }) if *draft == key.to_string())
    }

    fn inspect(&self) -> Result<Inspection, String> {
        let stdout = process::run(&self.pane.inspect(), TERMINAL_CALL).map_err(|error| error.chain())?;
        let inspection = parse_inspection(&stdout).ok_or_else(|| format!("pane {} is gone", self.pane.pane))?;
        if inspection.dead || !client_is_in(&inspection, self.client_pid) {
            return Err(format!("Claude Code does not run in pane {}", self.pane.pane));
        }
        Ok(inspection)
    }

    /// Returns since when Claude Code waits, if its record says so; an error if the record says that it does not wait.
    fn waiting_since(&self, env: &Env) -> Result<Option<Millis>, String> {
        let shown = client_records::shown_session(env, self.client_pid);
        if shown.is_some_and(|shown| shown != self.session) {
            return Err("its pane shows another session now".to_owned());
        }
        match client_records::waits(env, self.client_pid) {
            Some(client_records::Waits::Since(at)) => Ok(at),
            Some(client_records::Waits::No) => Err("no dialog is open there".to_owned()),
            None => Ok(None),
        }
    }

    fn lock(&self, home: &Home) -> Result<Option<File>, Error> {
        files::try_lock(&home.locks().join(Terminal::Tmux(self.pane.clone()).lock_name()))
    }
}
