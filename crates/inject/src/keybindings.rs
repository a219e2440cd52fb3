//! The client's keybindings.json: what it binds, as the client reads it, and which chords are free for us.

use serde::Deserialize;
use serde_json::Value;

use crate::chord::Chord;

/// The client's action that submits the input.
pub const SUBMIT: &str = "chat:submit";

/// The client's action that puts the draft aside, or back where the input is empty.
pub const STASH: &str = "chat:stash";

/// The context in which our chords are bound: the chat input has the focus. Dialogs are other contexts.
pub const CONTEXT: &str = "Chat";

/// The chords that may submit, best first.
///
/// Ctrl-X and Ctrl-Q alone do nothing in the input, in its menus and in every dialog of the client, so a chord that a
/// dialog gets instead of the input changes nothing there.
pub const SUBMIT_CHORDS: [&str; 3] = ["ctrl+x ctrl+q", "ctrl+q ctrl+x", "ctrl+q ctrl+q"];

/// The chords that may stash, best first. Pressed by accident, they are undone by pressing them again.
pub const STASH_CHORDS: [&str; 2] = ["ctrl+x ctrl+x", "ctrl+q ctrl+w"];

/// The chords of several keys that the client binds itself, in any context (2.1.325).
const CLIENTS_OWN: [&str; 21] = [
    "ctrl+x ctrl+a",
    "ctrl+x ctrl+b",
    "ctrl+x ctrl+e",
    "ctrl+x ctrl+k",
    "ctrl+x ctrl+s",
    "ctrl+x ctrl+=",
    "ctrl+x ctrl+-",
    "ctrl+x ctrl+_",
    "ctrl+x =",
    "ctrl+x -",
    "ctrl+x 1",
    "ctrl+x 2",
    "ctrl+x 3",
    "ctrl+x b",
    "ctrl+x x",
    "ctrl+x enter",
    "ctrl+x tab",
    "ctrl+x up",
    "ctrl+x down",
    "ctrl+x left",
    "ctrl+x right",
];

/// Why the client ignores the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeybindingsError {
    /// It has comments, a comma too many, or is cut short: the client reads strict JSON.
    #[error("is not JSON, which has no comments and no comma before a closing bracket")]
    NotJson,
    /// It has no list of blocks.
    #[error("has no list \"bindings\"")]
    NoList,
    /// One of its blocks lacks its context or its bindings: the client then uses none of them.
    #[error("has a block without a \"context\" and a \"bindings\" object of actions")]
    BadBlock,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    context: String,
    chord: Chord,
    /// `None` where the file takes a binding of the client's away.
    action: Option<String>,
}

/// What the file says of one of our actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingState {
    /// None of our chords is bound to it.
    Missing,
    /// One is, and another line of the file takes it away, or binds one of its keys: that could answer a dialog.
    Shadowed {
        /// Ours.
        chord: Chord,
        /// The chord of the other line, and what that is bound to.
        by: String,
    },
    /// One is.
    To(Chord),
}

/// The file, as far as the client uses it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keybindings {
    bindings: Vec<Binding>,
}

#[derive(Deserialize)]
struct BlockWire {
    context: String,
    bindings: serde_json::Map<String, Value>,
}

impl Keybindings {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, KeybindingsError> {
        let file: Value = serde_json::from_str(text).map_err(|_| KeybindingsError::NotJson)?;
        let blocks = file.get("bindings").and_then(Value::as_array).ok_or(KeybindingsError::NoList)?;
        let mut bindings = Vec::new();
        for block in blocks {
            let BlockWire { context, bindings: block } =
                BlockWire::deserialize(block).map_err(|_| KeybindingsError::BadBlock)?;
            for (chord, action) in block {
                let action = match action {
                    Value::Null => None,
                    Value::String(action) => Some(action),
                    _ => return Err(KeybindingsError::BadBlock),
                };
                // The client leaves out a line whose chord it cannot read, and keeps the others.
                if let Some(chord) = Chord::parse(&chord) {
                    bindings.push(Binding { context: context.clone(), chord, action });
                }
            }
        }
        Ok(Self { bindings })
    }

    /// Returns which of `chords` is bound to `action` in the chat input.
    pub fn bound(&self, action: &str, chords: &[&str]) -> BindingState {
        let mut shadowed = BindingState::Missing;
        for chord in chords.iter().filter_map(|chord| Chord::parse(chord)) {
            let is_ours = |binding: &Binding| {
                binding.context == CONTEXT && binding.chord == chord && binding.action.as_deref() == Some(action)
            };
            let Some(at) = self.bindings.iter().rposition(is_ours) else { continue };
            // Of equal chords the last one counts; a line without an action takes away what stands before it.
            let takes_away = |place: usize, other: &Binding| match other.action {
                Some(_) => place != at && !is_same(other, &self.bindings[at]) && chord.interferes(&other.chord),
                None => place > at && other.chord == chord,
            };
            let mut others = self.bindings.iter().enumerate();
            match others.find(|(place, other)| takes_away(*place, other)) {
                None => return BindingState::To(chord),
                Some((_, other)) if shadowed == BindingState::Missing => {
                    let to = other.action.as_deref().unwrap_or("null");
                    shadowed = BindingState::Shadowed {
                        by: format!("\"{}\": {to:?} ({})", other.chord, other.context),
                        chord,
                    };
                }
                Some(_) => {}
            }
        }
        shadowed
    }

    /// Returns the first of `chords` that neither the file nor the client uses; `None` where all are taken.
    pub fn free(&self, chords: &[&'static str]) -> Option<&'static str> {
        let own = CLIENTS_OWN.iter().filter_map(|chord| Chord::parse(chord));
        let taken: Vec<Chord> = self.bindings.iter().map(|binding| binding.chord.clone()).chain(own).collect();
        let is_free = |text: &&&'static str| {
            Chord::parse(text).is_some_and(|chord| !taken.iter().any(|other| chord.interferes(other)))
        };
        chords.iter().find(is_free).copied()
    }
}

fn is_same(one: &Binding, other: &Binding) -> bool {
    one.chord == other.chord && one.context == other.context && one.action == other.action
}
