//! Typing into a kitty window, and reading its screen.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::inspection::Inspection;
use crate::pane::{MAX_KEYS, Pane, PaneKey};
use crate::quote::printable;
use crate::terminal_command::TerminalCommand;

/// A window of kitty. Other terminals call it a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KittyWindow {
    /// The socket on which kitty listens, as in `$KITTY_LISTEN_ON`.
    pub socket: String,
    /// The window's number, as in `$KITTY_WINDOW_ID`.
    pub window: String,
}

/// The output of `kitten @ ls`: OS windows, which contain tabs, which contain windows.
#[derive(Deserialize)]
struct OsWindowWire {
    #[serde(default)]
    tabs: Vec<TabWire>,
}

#[derive(Deserialize)]
struct TabWire {
    #[serde(default)]
    windows: Vec<WindowWire>,
}

#[derive(Deserialize)]
struct WindowWire {
    id: u64,
    pid: u32,
}

impl KittyWindow {
    fn kitten(&self, command: &str, args: &[&str]) -> TerminalCommand {
        let id = format!("id:{}", self.window);
        let head = ["kitten", "@", "--to", &self.socket, command, "--match", &id];
        TerminalCommand::new(head.into_iter().chain(args.iter().copied()))
    }

    /// Returns the command that sends `text`. It is passed on standard input, where backslashes are no escapes.
    fn send(&self, text: String, args: &[&str]) -> TerminalCommand {
        TerminalCommand { stdin: Some(text), ..self.kitten("send-text", &[&["--stdin"], args].concat()) }
    }
}

impl Pane for KittyWindow {
    fn name(&self) -> String {
        format!("kitty's window {}", self.window)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.kitten("ls", &[]), self.kitten("get-text", &["--ansi", "--add-cursor"])]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let [list, text] = outputs else { return None };
        let listed: Vec<OsWindowWire> = serde_json::from_str(list).ok()?;
        let mut windows = listed.into_iter().flat_map(|os| os.tabs).flat_map(|tab| tab.windows);
        let window = windows.find(|window| window.id.to_string() == self.window)?;
        let (screen, cursor) = split_cursor(text);
        Some(Inspection { pid: Some(window.pid), cursor, screen: screen.to_owned(), ..Inspection::default() })
    }

    fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        let is_pasted = text.chars().count() > MAX_KEYS;
        self.send(text, if is_pasted { &["--bracketed-paste", "auto"] } else { &[] })
    }

    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand {
        self.send(char::from(key.byte()).to_string().repeat(count), &[])
    }

    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        self.send(chord.text(), &[])
    }
}

/// Returns the text without the cursor position that kitty writes after it (`ESC [ row ; column H`), and the position.
fn split_cursor(text: &str) -> (&str, Option<(usize, usize)>) {
    for (at, _) in text.rmatch_indices("\u{1b}[") {
        let inside = &text[at + 2..];
        let Some((position, _)) = inside.split_once('H') else { continue };
        let position = position.split_once(';').and_then(|(row, column)| {
            Some((column.parse::<usize>().ok()?.checked_sub(1)?, row.parse::<usize>().ok()?.checked_sub(1)?))
        });
        if position.is_some() {
            // The sequence that shows or hides the cursor stands before its position.
            let screen = text[..at].trim_end_matches("\u{1b}[?25h").trim_end_matches("\u{1b}[?25l");
            return (screen, position);
        }
    }
    (text, None)
}
