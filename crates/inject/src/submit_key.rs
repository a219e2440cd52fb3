//! Which key submits: Enter, which also says Yes in every dialog, or a chord that only the chat input knows.

use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::keybindings::{BindingState, Keybindings, STASH, STASH_CHORDS, SUBMIT, SUBMIT_CHORDS};

/// How long a running client may take to read a changed keybindings.json: up to 4.5 s were seen.
const RELOAD_MS: u64 = 10_000;

/// keybindings.json, as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeybindingsFile<'a> {
    /// Its text.
    pub text: &'a str,
    /// When it was written, in milliseconds since the epoch.
    pub written: u64,
    /// How long ago that is, in milliseconds.
    pub age: u64,
}

/// What one client process has shown of a chord.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChordTrial {
    /// The chord that was pressed.
    pub chord: String,
    /// When keybindings.json had been written then, in milliseconds.
    pub file_written: u64,
    /// What came of it.
    pub proof: ChordResult,
}

/// What came of the first chord.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChordResult {
    /// A text that it submitted was received.
    Received,
    /// The text stayed in the input.
    Ignored,
}

/// How to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitKey {
    /// By Enter.
    Enter,
    /// By a chord.
    Chord(SubmitChord),
}

/// A chord that submits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmitChord {
    /// The chord.
    pub submit: Chord,
    /// The chord that stashes a draft, where one is bound.
    pub stash: Option<Chord>,
    /// Whether this client process has already received a text by it.
    pub proven: bool,
}

impl SubmitKey {
    /// Chooses the key for a client process.
    ///
    /// `seen` is what the process has shown. A client that has ignored the chord is not tried again until the file
    /// changes; a file that has just changed is given time to be read.
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

    /// Returns the chord, where it is one.
    pub fn chord(&self) -> Option<&SubmitChord> {
        match self {
            Self::Chord(chord) => Some(chord),
            Self::Enter => None,
        }
    }
}

/// Returns what to type for `text` where a chord submits it.
///
/// A slash command opens a menu, in which the chord does nothing; a blank after the command closes the menu.
pub fn text_for_chord(text: &str) -> String {
    let is_bare_command = text.starts_with('/') && !text.contains(char::is_whitespace);
    if is_bare_command { format!("{text} ") } else { text.to_owned() }
}
