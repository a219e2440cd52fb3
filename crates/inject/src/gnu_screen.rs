//! Typing into a GNU screen window.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::quote::printable;
use crate::terminal_command::TerminalCommand;

/// The maximum number of bytes in one `stuff` command. screen 4.09 silently drops a command of about 760 or more.
const MAX_STUFF: usize = 500;

/// A window of a GNU screen session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenWindow {
    /// The session's name, as in `$STY`.
    pub session: String,
    /// The window's number, as in `$WINDOW`.
    pub window: String,
}

impl ScreenWindow {
    /// Returns the commands that type the printable part of `text`, without submitting it.
    pub fn type_text(&self, text: &str) -> Vec<TerminalCommand> {
        let mut chunks = vec![String::new()];
        for ch in printable(text).chars() {
            let escaped = escape(ch);
            match chunks.last_mut() {
                Some(chunk) if chunk.len() + escaped.len() <= MAX_STUFF => chunk.push_str(&escaped),
                Some(_) | None => chunks.push(escaped),
            }
        }
        chunks.iter().filter(|chunk| !chunk.is_empty()).map(|chunk| self.stuff(chunk)).collect()
    }

    /// Returns the command that presses Enter, which submits the input.
    pub fn press_enter(&self) -> TerminalCommand {
        self.stuff("^M")
    }

    /// Returns the command that presses `chord`, which must consist of Ctrl and letters.
    pub fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        let letters = chord.control_letters().unwrap_or_default();
        self.stuff(&letters.iter().map(|letter| format!("^{}", letter.to_ascii_uppercase())).collect::<String>())
    }

    fn stuff(&self, escaped: &str) -> TerminalCommand {
        TerminalCommand::new(["screen", "-S", &self.session, "-p", &self.window, "-X", "stuff", escaped])
    }
}

/// Returns `ch` escaped for `stuff`, in which `^X` is a control key, `\` an escape and `$X` a variable.
fn escape(ch: char) -> String {
    match ch {
        '^' | '\\' | '$' => format!("\\{ch}"),
        other => other.to_string(),
    }
}
