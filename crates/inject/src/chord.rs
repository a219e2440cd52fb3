//! Chords: keys that are pressed one after the other, as Claude Code's keybindings.json writes them; and those that Longhaul binds.

use std::fmt;

/// The chords that the plugin may bind to submit, in order of preference.
///
/// Ctrl-X and Ctrl-Q alone do nothing in Claude Code's input, menus and dialogs. So a chord that reaches a dialog instead
/// of the input changes nothing there.
pub const SUBMIT_CHORDS: [&str; 3] = ["ctrl+x ctrl+q", "ctrl+q ctrl+x", "ctrl+q ctrl+q"];

/// The chords that the plugin may bind to stash, in order of preference. Pressing one again restores the draft.
pub const STASH_CHORDS: [&str; 2] = ["ctrl+x ctrl+x", "ctrl+q ctrl+w"];

/// A key press with its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stroke {
    key: String,
    ctrl: bool,
    /// Alt or Meta. Terminals, and so Claude Code, do not distinguish the two.
    alt: bool,
    shift: bool,
    command: bool,
}

impl Stroke {
    /// Parses a stroke such as `ctrl+x`; returns `None` where it has no key, or more than one.
    fn parse(text: &str) -> Option<Self> {
        let mut stroke = Self { key: String::new(), ctrl: false, alt: false, shift: false, command: false };
        for part in text.split('+') {
            match part.to_lowercase().as_str() {
                "ctrl" | "control" => stroke.ctrl = true,
                "alt" | "opt" | "option" | "meta" => stroke.alt = true,
                "shift" => stroke.shift = true,
                "cmd" | "command" | "super" | "win" => stroke.command = true,
                _ if !stroke.key.is_empty() => return None,
                "esc" => stroke.key = "escape".to_owned(),
                "return" => stroke.key = "enter".to_owned(),
                "del" => stroke.key = "delete".to_owned(),
                "↑" => stroke.key = "up".to_owned(),
                "↓" => stroke.key = "down".to_owned(),
                "←" => stroke.key = "left".to_owned(),
                "→" => stroke.key = "right".to_owned(),
                key => stroke.key = key.to_owned(),
            }
        }
        (!stroke.key.is_empty()).then_some(stroke)
    }

    /// Returns the letter of a stroke that consists of Ctrl and a letter; `None` for any other.
    fn control_letter(&self) -> Option<char> {
        let mut chars = self.key.chars();
        let letter = chars.next().filter(|letter| letter.is_ascii_lowercase() && chars.next().is_none())?;
        (self.ctrl && !self.alt && !self.shift && !self.command).then_some(letter)
    }
}

/// A sequence of key presses that is bound to one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord {
    strokes: Vec<Stroke>,
}

impl Chord {
    /// Parses a chord such as `ctrl+x ctrl+q`, in every spelling that Claude Code accepts.
    pub fn parse(text: &str) -> Option<Self> {
        let strokes: Vec<Stroke> = text.split_whitespace().map(Stroke::parse).collect::<Option<_>>()?;
        (!strokes.is_empty()).then_some(Self { strokes })
    }

    /// Returns whether a binding of `other`, in any context, conflicts with this chord.
    ///
    /// Where one chord begins with the other, Claude Code only triggers the longer one. A binding of a single key of this
    /// chord would trigger where this chord is not bound, such as in a dialog.
    pub fn interferes(&self, other: &Self) -> bool {
        let common = self.strokes.len().min(other.strokes.len());
        let begin_alike = self.strokes[..common] == other.strokes[..common];
        let is_one_of_its_keys = matches!(other.strokes.as_slice(), [only] if self.strokes.contains(only));
        begin_alike || is_one_of_its_keys
    }

    /// Returns the letters of a chord in which every stroke consists of Ctrl and a letter; `None` for any other chord.
    ///
    /// Only such chords are the same bytes in every terminal.
    pub fn control_letters(&self) -> Option<Vec<char>> {
        self.strokes.iter().map(Stroke::control_letter).collect()
    }

    /// Returns the bytes that a terminal sends for a chord of Ctrl and letters; none for any other chord.
    pub fn bytes(&self) -> Vec<u8> {
        self.control_letters().unwrap_or_default().into_iter().map(|letter| letter as u8 & 0x1f).collect()
    }

    /// Returns [`Chord::bytes`] as text.
    pub(crate) fn text(&self) -> String {
        self.bytes().into_iter().map(char::from).collect()
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, stroke) in self.strokes.iter().enumerate() {
            let modifiers =
                [(stroke.ctrl, "ctrl+"), (stroke.alt, "alt+"), (stroke.shift, "shift+"), (stroke.command, "cmd+")];
            f.write_str(if at == 0 { "" } else { " " })?;
            modifiers.iter().filter(|(pressed, _)| *pressed).try_for_each(|(_, name)| f.write_str(name))?;
            f.write_str(&stroke.key)?;
        }
        Ok(())
    }
}
