//! Panes whose screen can be read.

use crate::chord::Chord;
use crate::inspection::{Inspection, parse_inspection};
use crate::terminal_command::TerminalCommand;
use crate::tmux::TmuxPane;

/// The maximum length of a text that is typed as key presses, in characters. A longer text is pasted.
pub(crate) const MAX_KEYS: usize = 8;

/// The maximum number of characters that one command erases, so that its arguments stay short.
pub(crate) const MAX_ERASE: usize = 2000;

/// A key that Claude Code reacts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneKey {
    /// Submits the input.
    Enter,
    /// Stashes the draft; Claude Code restores it after the next submit.
    Stash,
    /// Deletes the character before the cursor.
    Backspace,
}

impl PaneKey {
    /// Returns the byte that a terminal sends for the key.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Enter => b'\r',
            Self::Stash => 0x13,
            Self::Backspace => 0x7f,
        }
    }
}

/// A pane whose screen can be read: the commands that read it and type into it.
pub trait Pane {
    /// Returns the name of the pane, for messages.
    fn name(&self) -> String;

    /// Returns the commands whose outputs [`Pane::parse`] parses.
    fn inspect(&self) -> Vec<TerminalCommand>;

    /// Parses the outputs of [`Pane::inspect`]; returns `None` where the pane does not exist.
    fn parse(&self, outputs: &[String]) -> Option<Inspection>;

    /// Returns the command that types the printable part of `text`, without submitting it.
    fn type_text(&self, text: &str) -> TerminalCommand;

    /// Returns the command that presses `key` `count` times.
    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand;

    /// Returns the command that presses `chord`, which must consist of Ctrl and letters.
    fn press_chord(&self, chord: &Chord) -> TerminalCommand;

    /// Returns the command that presses Enter, which submits the input.
    fn press_enter(&self) -> TerminalCommand {
        self.press(PaneKey::Enter, 1)
    }

    /// Returns the command that stashes the draft; Claude Code restores it after the next submit.
    fn stash_draft(&self) -> TerminalCommand {
        self.press(PaneKey::Stash, 1)
    }

    /// Returns the command that deletes the `count` characters before the cursor.
    fn erase(&self, count: usize) -> TerminalCommand {
        self.press(PaneKey::Backspace, count.min(MAX_ERASE))
    }
}

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

    fn type_text(&self, text: &str) -> TerminalCommand {
        Self::type_text(self, text)
    }

    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand {
        match key {
            PaneKey::Enter => Self::press_enter(self),
            PaneKey::Stash => Self::stash_draft(self),
            PaneKey::Backspace => Self::erase(self, count),
        }
    }

    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        Self::press_chord(self, chord)
    }
}
