//! Typing into a WezTerm pane, and reading its screen.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::inspection::Inspection;
use crate::pane::{MAX_KEYS, Pane, PaneKey};
use crate::quote::printable;
use crate::terminal_command::TerminalCommand;

/// A pane of WezTerm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeztermPane {
    /// The pane's number, as in `$WEZTERM_PANE`.
    pub pane: String,
}

/// A pane in the output of `wezterm cli list`.
#[derive(Deserialize)]
struct ListedWire {
    pane_id: u64,
    #[serde(default)]
    tty_name: Option<String>,
    #[serde(default)]
    cursor_x: Option<usize>,
    #[serde(default)]
    cursor_y: Option<usize>,
    /// The first visible row, counted like `cursor_y`.
    #[serde(default)]
    top_row: Option<usize>,
}

impl WeztermPane {
    fn cli(&self, args: &[&str]) -> TerminalCommand {
        TerminalCommand::new(["wezterm", "cli"].into_iter().chain(args.iter().copied()))
    }

    /// Returns the command that sends `text`. It is passed on standard input, where no word is taken for an option.
    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand {
        let args = ["send-text", "--pane-id", &self.pane, "--no-paste"];
        let args = if is_pasted { &args[..3] } else { &args[..] };
        TerminalCommand { stdin: Some(text), ..self.cli(args) }
    }
}

impl Pane for WeztermPane {
    fn name(&self) -> String {
        format!("WezTerm's pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.cli(&["list", "--format", "json"]), self.cli(&["get-text", "--escapes", "--pane-id", &self.pane])]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let [list, screen] = outputs else { return None };
        let panes: Vec<ListedWire> = serde_json::from_str(list).ok()?;
        let pane = panes.into_iter().find(|listed| listed.pane_id.to_string() == self.pane)?;
        let row = Option::zip(pane.cursor_y, pane.top_row).and_then(|(cursor, top)| cursor.checked_sub(top));
        Some(Inspection {
            tty: pane.tty_name,
            cursor: Option::zip(pane.cursor_x, row),
            screen: screen.clone(),
            ..Inspection::default()
        })
    }

    fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        let is_pasted = text.chars().count() > MAX_KEYS;
        self.send(text, is_pasted)
    }

    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand {
        self.send(char::from(key.byte()).to_string().repeat(count), false)
    }

    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        self.send(chord.text(), false)
    }
}
