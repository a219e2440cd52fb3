//! Chords: keys pressed one after the other, as the client's keybindings.json names them.

use std::fmt;

/// One key press with its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stroke {
    key: String,
    ctrl: bool,
    /// The client does not tell alt and meta apart: terminals do not.
    alt: bool,
    shift: bool,
    command: bool,
}

impl Stroke {
    /// Reads a stroke such as `ctrl+x`; `None` where it has no key, or two.
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

    /// Returns the letter of a stroke that is Ctrl and a letter.
    fn control_letter(&self) -> Option<char> {
        let mut chars = self.key.chars();
        let letter = chars.next().filter(|letter| letter.is_ascii_lowercase() && chars.next().is_none())?;
        (self.ctrl && !self.alt && !self.shift && !self.command).then_some(letter)
    }
}

/// Keys that are pressed one after the other and mean something together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord {
    strokes: Vec<Stroke>,
}

impl Chord {
    /// Reads a chord such as `ctrl+x ctrl+q`, in any of the spellings that the client accepts.
    pub fn parse(text: &str) -> Option<Self> {
        let strokes: Vec<Stroke> = text.split_whitespace().map(Stroke::parse).collect::<Option<_>>()?;
        (!strokes.is_empty()).then_some(Self { strokes })
    }

    /// Returns whether a binding of `other` interferes with this chord, in whatever context it is.
    ///
    /// Of two chords of which one begins with the other, the client only ever reaches the longer one. A binding of one of
    /// this chord's keys alone acts where this chord is not bound: in a dialog.
    pub fn interferes(&self, other: &Self) -> bool {
        let common = self.strokes.len().min(other.strokes.len());
        let begin_alike = self.strokes[..common] == other.strokes[..common];
        let is_one_of_its_keys = matches!(other.strokes.as_slice(), [only] if self.strokes.contains(only));
        begin_alike || is_one_of_its_keys
    }

    /// Returns the letters of a chord in which every stroke is Ctrl and a letter; `None` for any other.
    ///
    /// Only those are the same bytes in every terminal.
    pub fn control_letters(&self) -> Option<Vec<char>> {
        self.strokes.iter().map(Stroke::control_letter).collect()
    }

    /// Returns the bytes that a keyboard sends for a chord of Ctrl and letters; none for any other.
    pub fn bytes(&self) -> Vec<u8> {
        self.control_letters().unwrap_or_default().into_iter().map(|letter| letter as u8 & 0x1f).collect()
    }

    /// Returns [`Chord::bytes`] as a text of control characters.
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
