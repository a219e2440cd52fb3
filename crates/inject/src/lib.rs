//! How text gets into the pane of a running client, and when it must not.
//!
//! Everything here is a function from values to values: which terminal the environment names, what to run in order to
//! type into it, what a captured screen shows, and whether it is safe to type now. Running it is the caller's business.
//!
//! `cargo run -p longhaul-inject --example look_before_typing`:
//!
//! ```no_run
#![doc = include_str!("../examples/look_before_typing.rs")]
//! ```

mod chord;
mod keybindings;
mod means;
mod submit_key;
mod terminal;

mod gnu_screen;
mod kitty;
mod osascript;
mod pane;
mod quote;
mod step;
mod tmux;
mod wezterm;
mod zellij;

mod ansi;
mod input_box;
mod inspection;
mod look;
mod policy;

pub use crate::chord::Chord;
pub use crate::gnu_screen::ScreenWindow;
pub use crate::inspection::{Inspection, parse_inspection};
pub use crate::keybindings::{Bound, CONTEXT, Keybindings, STASH, STASH_CHORDS, SUBMIT, SUBMIT_CHORDS, Unusable};
pub use crate::kitty::KittyWindow;
pub use crate::look::{EditorMode, Look, Turn, Unsafe, look};
pub use crate::means::{Errand, Means, means};
pub use crate::osascript::MacTerminal;
pub use crate::pane::{Key, Pane};
pub use crate::policy::{ClientSays, Decision, Want, Why, may_type};
pub use crate::quote::{applescript_string, is_printable, printable, shell_single_quote};
pub use crate::step::Step;
pub use crate::submit_key::{Experience, KeybindingsFile, Proof, SubmitChord, SubmitKey, text_for_chord};
pub use crate::terminal::{NoTerminal, Terminal, file_name_of, tmux_socket};
pub use crate::tmux::{TmuxPane, protect_semicolon};
pub use crate::wezterm::WeztermPane;
pub use crate::zellij::ZellijPane;

#[cfg(test)]
mod tests;
