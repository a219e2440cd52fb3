//! Typing into a tmux pane, and reading its screen.

use serde::{Deserialize, Serialize};

use crate::permission_dialog::PermissionDialog;
use crate::screen_state::{Inspection, STATE_FORMAT, parse_inspection};
use crate::terminal::{Pane, TerminalCommand, is_number};

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

impl Pane for TmuxPane {
    fn name(&self) -> String {
        format!("pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![Self::inspect(self)]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        parse_inspection(outputs.first()?)
    }

    /// In a bracketed paste, text cannot trigger Claude Code's key bindings. Nothing is pasted if the program in the pane has
    /// ended: that crashes some versions of tmux, such as 3.3a, with all sessions.
    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand {
        if !is_pasted {
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

    fn press(&self, keys: &[u8]) -> TerminalCommand {
        let mut step = self.tmux(&["send-keys", "-t", &self.pane]);
        step.argv.extend(keys.iter().map(|key| match key {
            b'\r' => "Enter".to_owned(),
            b'\x7f' => "BSpace".to_owned(),
            control => format!("C-{}", char::from(control | 0x60)),
        }));
        step
    }
}

/// Returns whether `id` is one of tmux's pane ids.
pub(crate) fn is_pane_id(id: &str) -> bool {
    id.strip_prefix('%').is_some_and(is_number)
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
