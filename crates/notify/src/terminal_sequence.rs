//! The escape sequences that make a terminal show a notification, by the kind of terminal.

use crate::message::Message;

/// What a terminal understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalKind {
    /// `OSC 9`, as iTerm2, WezTerm, kitty, Ghostty and others. A terminal that does not know it ignores it.
    Osc9,
    /// `OSC 777`, as foot, urxvt and terminals with VTE.
    Osc777,
    /// Only the bell.
    Bell,
    /// Another tmux around it, which passes a sequence on if its option `allow-passthrough` is on.
    InTmux,
    /// GNU screen around it, which passes a sequence on.
    InScreen,
}

impl TerminalKind {
    /// Returns the kind of a terminal. `term` is its `TERM`, and `program` the name that it reports, if it does.
    pub fn of(term: &str, program: &str) -> Self {
        let program = program.to_ascii_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| program.starts_with(name) || term.starts_with(name));
        if is(&["tmux"]) {
            Self::InTmux
        } else if is(&["iterm", "wezterm", "kitty", "ghostty", "xterm-kitty", "xterm-ghostty"]) {
            Self::Osc9
        } else if is(&["foot", "rxvt", "urxvt", "vte", "gnome"]) {
            Self::Osc777
        } else if is(&["screen"]) {
            Self::InScreen
        } else if term.is_empty() || is(&["linux", "dumb", "vt"]) {
            Self::Bell
        } else {
            Self::Osc9
        }
    }
}

/// Returns the bytes that show `message` in a terminal of a kind, and ring the bell if `bell` is set.
///
/// For a terminal that can only ring, the bell rings in any case.
pub fn terminal_sequence(message: &Message, kind: TerminalKind, bell: bool) -> Vec<u8> {
    // Every field ends at a semicolon. `OSC 9;4;…` is a progress bar, so the title must not begin like that.
    let title = message.title.replace(';', ",");
    let osc9 = format!("\u{1b}]9;{title}: {}\u{7}", message.text);
    let mut bytes = match kind {
        TerminalKind::Osc9 => osc9,
        TerminalKind::Osc777 => format!("\u{1b}]777;notify;{title};{}\u{7}", message.text),
        TerminalKind::Bell => String::new(),
        // The outer terminal is not known.
        TerminalKind::InTmux => format!("\u{1b}Ptmux;{}\u{1b}\\", osc9.replace('\u{1b}', "\u{1b}\u{1b}")),
        TerminalKind::InScreen => format!("\u{1b}P{osc9}\u{1b}\\"),
    };
    if bell || kind == TerminalKind::Bell {
        bytes.push('\u{7}');
    }
    bytes.into_bytes()
}
