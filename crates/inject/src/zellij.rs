//! Typing into a zellij pane, and reading its screen. Needs zellij 0.44, which accepts a pane's id for both.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::inspection::Inspection;
use crate::pane::{MAX_KEYS, Pane, PaneKey};
use crate::quote::printable;
use crate::terminal_command::TerminalCommand;

/// A pane of a zellij session.
///
/// Commands always name the pane: without an id, text goes to the pane in front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZellijPane {
    /// The session's name, as in `$ZELLIJ_SESSION_NAME`.
    pub session: String,
    /// The pane's number, as in `$ZELLIJ_PANE_ID`.
    pub pane: String,
}

impl ZellijPane {
    fn action(&self, action: &str, args: &[&str]) -> TerminalCommand {
        let id = format!("terminal_{}", self.pane);
        let head = ["zellij", "--session", &self.session, "action", action, "--pane-id", &id];
        TerminalCommand::new(head.into_iter().chain(args.iter().copied()))
    }
}

impl Pane for ZellijPane {
    fn name(&self) -> String {
        format!("zellij's pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.action("dump-screen", &["--ansi"])]
    }

    /// zellij does not report the cursor's position, so only the cursor that Claude Code draws is known.
    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let screen = outputs.first().filter(|screen| !screen.trim().is_empty())?;
        Some(Inspection { screen: screen.clone(), ..Inspection::default() })
    }

    fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        let action = if text.chars().count() <= MAX_KEYS { "write-chars" } else { "paste" };
        self.action(action, &["--", &text])
    }

    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand {
        let byte = key.byte().to_string();
        self.action("write", &vec![byte.as_str(); count])
    }

    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        let bytes: Vec<String> = chord.bytes().iter().map(u8::to_string).collect();
        self.action("write", &bytes.iter().map(String::as_str).collect::<Vec<_>>())
    }
}
