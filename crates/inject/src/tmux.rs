//! Typing into a tmux pane, and reading it.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::inspection::FACTS;
use crate::pane::{MAX_ERASE, MAX_KEYS};
use crate::quote::printable;
use crate::terminal_command::TerminalCommand;

/// A pane of a tmux server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TmuxPane {
    /// The path of the server's socket.
    pub socket: String,
    /// The pane's id, `%<digits>`.
    pub pane: String,
}

impl TmuxPane {
    /// Returns the one call that prints what [`parse_inspection`](crate::parse_inspection) reads.
    ///
    /// Facts and screen come from one invocation, so that no event of the server falls between them.
    pub fn inspect(&self) -> TerminalCommand {
        // Without -J: it would join what tmux wrapped and keep trailing blanks, and rows would no longer be rows.
        self.tmux(&[
            "display-message",
            "-p",
            "-t",
            &self.pane,
            FACTS,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-t",
            &self.pane,
        ])
    }

    /// Returns the step that types the printable part of `text`, without submitting it.
    ///
    /// Longer text is pasted in brackets, where it cannot trigger the client's key bindings.
    pub fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        if text.chars().count() <= MAX_KEYS {
            return self.tmux(&["send-keys", "-t", &self.pane, "-l", "--", &protect_semicolon(&text)]);
        }
        let buffer = format!("longhaul-{}", self.pane.trim_start_matches('%'));
        let load = ["load-buffer", "-b", &buffer, "-", ";"];
        let paste = ["paste-buffer", "-p", "-d", "-r", "-b", &buffer, "-t", &self.pane];
        TerminalCommand { stdin: Some(text), ..self.tmux(&[&load[..], &paste[..]].concat()) }
    }

    /// Returns the step that submits what is in the input by Enter.
    pub fn press_enter(&self) -> TerminalCommand {
        self.tmux(&["send-keys", "-t", &self.pane, "Enter"])
    }

    /// Returns the step that presses `chord`, which is of Ctrl and letters.
    pub fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        let mut step = self.tmux(&["send-keys", "-t", &self.pane]);
        step.argv.extend(chord.control_letters().unwrap_or_default().iter().map(|letter| format!("C-{letter}")));
        step
    }

    /// Returns the step that makes the client put a draft aside, until after the next submit.
    pub fn stash_draft(&self) -> TerminalCommand {
        self.tmux(&["send-keys", "-t", &self.pane, "C-s"])
    }

    /// Returns the step that takes back the `count` characters before the cursor.
    ///
    /// For text that was typed and must not be submitted. Ctrl-U would not do: it clears one row of a wrapped text only.
    /// The client loses none of the keys, but may take 2 s over some hundred: look until the input is empty.
    pub fn erase(&self, count: usize) -> TerminalCommand {
        let mut step = self.tmux(&["send-keys", "-t", &self.pane]);
        step.argv.extend(std::iter::repeat_n("BSpace".to_owned(), count.min(MAX_ERASE)));
        step
    }

    fn tmux(&self, args: &[&str]) -> TerminalCommand {
        TerminalCommand::new(["tmux", "-S", &self.socket].into_iter().chain(args.iter().copied()))
    }
}

/// Returns `text` such that tmux takes a `;` at its end for a character.
///
/// tmux ends a command at any argument that ends in `;`, even after `--`, unless a backslash stands before it; that
/// backslash it removes.
pub fn protect_semicolon(text: &str) -> String {
    match text.strip_suffix(';') {
        Some(head) => format!("{head}\\;"),
        None => text.to_owned(),
    }
}
