#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod codex_screen;
mod osascript;
mod other_terminals;
mod permission_dialog;
mod policy;
mod screen_state;
mod submit_key;
mod terminal;
mod tmux;

pub use crate::codex_screen::{codex_has_prompts, codex_screen_state, codex_shows_prompt};
pub use crate::osascript::MacTerminal;
pub use crate::other_terminals::{KittyWindow, ScreenWindow, WeztermPane, ZellijPane};
pub use crate::permission_dialog::{DialogAnswer, PermissionDialog};
pub use crate::policy::{ClientActivity, TypeWhen, TypingDecision, WaitReason, may_type};
pub use crate::screen_state::{
    EditorMode, Inspection, ScreenState, TurnSign, UnsafeScreen, parse_inspection, plain_rows, screen_state,
};
pub use crate::submit_key::{
    BindingState, CONTEXT, Chord, ChordResult, ChordTrial, Keybindings, KeybindingsError, KeybindingsFile, STASH,
    STASH_CHORDS, SUBMIT, SUBMIT_CHORDS, SubmitChord, text_for_chord,
};
pub use crate::terminal::{
    NoTerminal, Pane, Terminal, TerminalCommand, file_name_of, is_printable, printable, shell_single_quote, tmux_socket,
};
pub use crate::tmux::{TmuxPane, protect_semicolon};

#[cfg(test)]
mod tests;
