//! A pane that can be looked at.

use crate::chord::Chord;
use crate::inspection::{Inspection, parse_inspection};
use crate::terminal_command::TerminalCommand;
use crate::tmux::TmuxPane;

/// The longest text, in characters, that goes as key presses; a longer one is pasted.
pub(crate) const MAX_KEYS: usize = 8;

/// The most that is taken back, so that an argv stays short.
pub(crate) const MAX_ERASE: usize = 2000;

/// A key that the client acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneKey {
    /// Submits what is in the input.
    Enter,
    /// Makes the client put a draft aside, until after the next submit.
    Stash,
    /// Takes back the character before the cursor.
    Backspace,
}

impl PaneKey {
    /// Returns the byte that a keyboard sends.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Enter => b'\r',
            Self::Stash => 0x13,
            Self::Backspace => 0x7f,
        }
    }
}

/// A pane whose screen can be read: what to run in order to read it, and to type into it.
pub trait Pane {
    /// Returns what people call it.
    fn name(&self) -> String;

    /// Returns the steps whose outputs [`Pane::parse`] reads.
    fn inspect(&self) -> Vec<TerminalCommand>;

    /// Returns what the outputs of [`Pane::inspect`] say, or `None` where there is no such pane.
    fn parse(&self, outputs: &[String]) -> Option<Inspection>;

    /// Returns the step that types the printable part of `text`, without submitting it.
    fn type_text(&self, text: &str) -> TerminalCommand;

    /// Returns the step that presses `key` `count` times.
    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand;

    /// Returns the step that presses `chord`, which is of Ctrl and letters.
    fn press_chord(&self, chord: &Chord) -> TerminalCommand;

    /// Returns the step that submits what is in the input by Enter.
    fn press_enter(&self) -> TerminalCommand {
        self.press(PaneKey::Enter, 1)
    }

    /// Returns the step that makes the client put a draft aside, until after the next submit.
    fn stash_draft(&self) -> TerminalCommand {
        self.press(PaneKey::Stash, 1)
    }

    /// Returns the step that takes back the `count` characters before the cursor.
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
