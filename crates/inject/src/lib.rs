#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod chord;
mod delivery_method;
mod keybindings;
mod submit_key;
mod terminal;

mod gnu_screen;
mod kitty;
mod osascript;
mod pane;
mod quote;
mod terminal_command;
mod tmux;
mod wezterm;
mod zellij;

mod ansi;
mod codex_screen;
mod input_box;
mod inspection;
mod permission_dialog;
mod policy;
mod screen_state;

pub use crate::ansi::plain_rows;
pub use crate::chord::{Chord, STASH_CHORDS, SUBMIT_CHORDS};
pub use crate::codex_screen::{codex_has_prompts, codex_screen_state, codex_shows_prompt};
pub use crate::delivery_method::{DeliveryMethod, Errand, delivery_method};
pub use crate::gnu_screen::ScreenWindow;
pub use crate::inspection::{Inspection, parse_inspection};
pub use crate::keybindings::{BindingState, CONTEXT, Keybindings, KeybindingsError, STASH, SUBMIT};
pub use crate::kitty::KittyWindow;
pub use crate::osascript::MacTerminal;
pub use crate::pane::{Pane, PaneKey};
pub use crate::permission_dialog::{DialogAnswer, PermissionDialog};
pub use crate::policy::{ClientActivity, TypeWhen, TypingDecision, WaitReason, may_type};
pub use crate::quote::{applescript_string, is_printable, printable, shell_single_quote};
pub use crate::screen_state::{EditorMode, ScreenState, TurnSign, UnsafeScreen, screen_state};
pub use crate::submit_key::{ChordResult, ChordTrial, KeybindingsFile, SubmitChord, SubmitKey, text_for_chord};
pub use crate::terminal::{NoTerminal, Terminal, file_name_of, tmux_socket};
pub use crate::terminal_command::TerminalCommand;
pub use crate::tmux::{TmuxPane, protect_semicolon};
pub use crate::wezterm::WeztermPane;
pub use crate::zellij::ZellijPane;

#[cfg(test)]
mod tests;
