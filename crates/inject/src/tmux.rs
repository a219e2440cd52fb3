//! Typing into a tmux pane, and reading its screen.

use serde::{Deserialize, Serialize};

use crate::permission_dialog::PermissionDialog;
use crate::screen_state::STATE_FORMAT;
use crate::submit_key::Chord;
use crate::terminal::TerminalCommand;
use crate::terminal::printable;
use crate::terminal::{MAX_ERASE, MAX_KEYS};

/// A pane of a tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TmuxPane {
    /// The path of the server's socket.
    pub socket: String,
    /// The pane's id, `%<digits>`.
    pub pane: String,
}

impl TmuxPane {
    /// Returns the command whose output [`parse_inspection`](crate::parse_inspection) parses.
    ///
    /// State and screen come from one call, so that nothing can change between them.
    pub fn inspect(&self) -> TerminalCommand {
        // Without -J, which would join wrapped rows and keep trailing spaces.
        self.tmux(&[
            "display-message",
            "-p",
            "-t",
            &self.pane,
            STATE_FORMAT,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            &self.pane,
        ])
    }

    /// Returns the command that types the printable part of `text`, without submitting it.
    ///
    /// Longer text is sent as a bracketed paste, in which it cannot trigger Claude Code's key bindings. Nothing is pasted if the
    /// program in the pane has ended: that crashes some versions of tmux, such as 3.3a, with all sessions.
    pub fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        if text.chars().count() <= MAX_KEYS {
            return self.tmux(&["send-keys", "-t", &self.pane, "-l", "--", &protect_semicolon(&text)]);
        }
        // tmux parses the last two commands. They contain only the pane's id.
        let id = self.pane.strip_prefix('%').filter(|_| is_pane_id(&self.pane)).unwrap_or_default();
        let buffer = format!("longhaul-{id}");
        let paste = format!("paste-buffer -p -d -r -b {buffer} -t %{id}");
        let discard = format!("delete-buffer -b {buffer}");
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let check = ["if-shell", "-F", "-t", &self.pane, "#{pane_dead}", &discard, &paste];
        TerminalCommand { stdin: Some(text), ..self.tmux(&[&load[..], &check[..]].concat()) }
    }

    /// Returns the command that presses Enter, which submits the input.
    pub fn press_enter(&self) -> TerminalCommand {
        self.tmux(&["send-keys", "-t", &self.pane, "Enter"])
    }

    /// Returns the command that presses `chord`, which must consist of Ctrl and letters.
    pub fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        let mut step = self.tmux(&["send-keys", "-t", &self.pane]);
        step.argv.extend(chord.control_letters().unwrap_or_default().iter().map(|letter| format!("C-{letter}")));
        step
    }

    /// Returns the command that stashes the draft; Claude Code restores it after the next submit.
    pub fn stash_draft(&self) -> TerminalCommand {
        self.tmux(&["send-keys", "-t", &self.pane, "C-s"])
    }

    /// Returns the command that deletes the `count` characters before the cursor.
    ///
    /// It removes text that was typed and must not be submitted. Ctrl-U would clear only one row of a wrapped text. Claude
    /// Code handles every key, but may need 2 s for some hundred: read the screen until the input is empty.
    pub fn erase(&self, count: usize) -> TerminalCommand {
        let mut step = self.tmux(&["send-keys", "-t", &self.pane]);
        step.argv.extend(std::iter::repeat_n("BSpace".to_owned(), count.min(MAX_ERASE)));
        step
    }

    /// Returns the command that presses `key` if the pane still shows `dialog`. Its output is for [`TmuxPane::was_pressed`].
    ///
    /// tmux checks and presses in one step: nothing that Claude Code draws comes in between. A version of tmux that cannot
    /// search a pane presses nothing.
    pub fn press_in_dialog(&self, dialog: &PermissionDialog, key: char) -> TerminalCommand {
        // tmux parses these commands. They contain only the pane's id and one letter or digit.
        let is_plain = key.is_ascii_alphanumeric() && is_pane_id(&self.pane);
        let press = format!("send-keys -t {} -l {key} ; display-message -p {PRESSED}", self.pane);
        let press = if is_plain { press.as_str() } else { "display-message -p no" };
        self.tmux(&["if-shell", "-F", "-t", &self.pane, &dialog.condition(), press, "display-message -p no"])
    }

    /// Returns whether the command of [`TmuxPane::press_in_dialog`] has pressed the key, according to its output.
    pub fn was_pressed(stdout: &str) -> bool {
        stdout.trim() == PRESSED
    }

    fn tmux(&self, args: &[&str]) -> TerminalCommand {
        TerminalCommand::new(["tmux", "-S", &self.socket].into_iter().chain(args.iter().copied()))
    }
}

/// The word that tmux prints after it has pressed the key.
const PRESSED: &str = "pressed";

/// Returns whether `id` is one of tmux's pane ids.
fn is_pane_id(id: &str) -> bool {
    id.strip_prefix('%').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns `text` with a `;` at its end escaped for tmux.
///
/// tmux ends a command at every argument that ends in `;`, even after `--`, unless a backslash precedes the `;`. tmux
/// removes that backslash.
pub fn protect_semicolon(text: &str) -> String {
    match text.strip_suffix(';') {
        Some(head) => format!("{head}\\;"),
        None => text.to_owned(),
    }
}
