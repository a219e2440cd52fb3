//! The key that submits: Enter, which also confirms every dialog, or a chord that is only bound in the chat input.

use serde::{Deserialize, Serialize};

use crate::chord::{Chord, STASH_CHORDS, SUBMIT_CHORDS};
use crate::keybindings::{BindingState, Keybindings, STASH, SUBMIT};

/// How long a running Claude Code may take to load a changed keybindings.json. Up to 4.5 s were measured.
const RELOAD_MS: u64 = 10_000;

/// The content and age of keybindings.json.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeybindingsFile<'a> {
    /// The text of the file.
    pub text: &'a str,
    /// The time at which it was written, in milliseconds since the Unix epoch.
    pub written: u64,
    /// The time since it was written, in milliseconds.
    pub age: u64,
}

/// The result of pressing a chord in one process of Claude Code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChordTrial {
    /// The chord that was pressed.
    pub chord: String,
    /// The time at which keybindings.json had been written, in milliseconds since the Unix epoch.
    pub file_written: u64,
    /// What happened.
    pub proof: ChordResult,
}

/// What happened when a chord was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChordResult {
    /// The text was submitted.
    Received,
    /// The text stayed in the input.
    Ignored,
}

/// The key that submits a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitKey {
    /// Enter.
    Enter,
    /// A chord.
    Chord(SubmitChord),
}

/// A chord that submits, with what else is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitChord {
    /// The chord.
    pub submit: Chord,
    /// The chord that stashes a draft, where one is bound.
    pub stash: Option<Chord>,
    /// Whether the chord has already submitted a text in this process.
    pub proven: bool,
}

impl SubmitKey {
    /// Chooses the key for one process of Claude Code; `seen` is the result of an earlier chord in it.
    ///
    /// After a process has ignored the chord, the chord is not tried again until the file changes. Shortly after a change
    /// of the file, Enter is used, because the process may not have loaded the file yet.
    pub fn choose(file: Option<KeybindingsFile<'_>>, seen: Option<&ChordTrial>) -> Self {
        let Some(KeybindingsFile { text, written, age }) = file else { return Self::Enter };
        let Ok(keybindings) = Keybindings::parse(text) else { return Self::Enter };
        let BindingState::To(submit) = keybindings.bound(SUBMIT, &SUBMIT_CHORDS) else { return Self::Enter };
        let stash = match keybindings.bound(STASH, &STASH_CHORDS) {
            BindingState::To(chord) => Some(chord),
            BindingState::Missing | BindingState::Shadowed { .. } => None,
        };
        let of_this = seen.filter(|seen| seen.chord == submit.to_string());
        let proof = of_this.filter(|seen| seen.file_written == written || seen.proof == ChordResult::Received);
        match proof.map(|seen| seen.proof) {
            Some(ChordResult::Received) => Self::Chord(SubmitChord { submit, stash, proven: true }),
            Some(ChordResult::Ignored) => Self::Enter,
            None if age < RELOAD_MS => Self::Enter,
            None => Self::Chord(SubmitChord { submit, stash, proven: false }),
        }
    }

    /// Returns the chord; `None` for Enter.
    pub fn chord(&self) -> Option<&SubmitChord> {
        match self {
            Self::Chord(chord) => Some(chord),
            Self::Enter => None,
        }
    }
}

/// Returns the text to type for `text` where a chord submits it.
///
/// A slash command opens a menu, in which the chord does nothing, or, as of Claude Code 2.1.326, runs the command that is
/// marked. A space after the command closes the menu.
pub fn text_for_chord(text: &str) -> String {
    let is_bare_command = text.starts_with('/') && !text.contains(char::is_whitespace);
    if is_bare_command { format!("{text} ") } else { text.to_owned() }
}
