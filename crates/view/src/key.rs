//! The keys, and the text of the help about them. What a key does is in `view.rs`.

/// A key press, as far as the view knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// A character.
    Char(char),
    /// Pasted text. It is never taken for commands.
    Paste(String),
    /// Enter.
    Enter,
    /// Esc.
    Esc,
    /// Backspace.
    Backspace,
    /// Ctrl-U: empties the text that is being typed.
    ClearText,
    /// Ctrl-C: leaves from everywhere.
    Interrupt,
    /// Tab.
    Tab,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
}

/// A line of the help: the keys, and what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHelp {
    /// The keys.
    pub keys: &'static str,
    /// What they do.
    pub about: &'static str,
}

/// Returns the help for every key of the list.
pub fn keys() -> &'static [KeyHelp] {
    const fn help(keys: &'static str, about: &'static str) -> KeyHelp {
        KeyHelp { keys, about }
    }
    const KEYS: &[KeyHelp] = &[
        help("Enter", "go to the session"),
        help("↑ ↓ k j", "select another session"),
        help("/", "filter: project, branch, state, prompt, host"),
        help("p", "send a prompt"),
        help("y n", "show the open permission dialog; there, answer yes or no"),
        help("b", "set a bookmark, with a note"),
        help("c", "continue in a new session: handoff, /clear, prompt"),
        help("r", "reopen the sessions of a tmux server that died"),
        help("Tab", "switch between sessions and context use (the monitor)"),
        help("q Esc", "quit"),
    ];
    KEYS
}
