//! Claude Code's keybindings.json: which chords it binds, and which ones the plugin can use.

use serde::Deserialize;
use serde_json::Value;

use crate::chord::Chord;

/// Claude Code's action that submits the input.
pub const SUBMIT: &str = "chat:submit";

/// Claude Code's action that stashes the draft, or restores it where the input is empty.
pub const STASH: &str = "chat:stash";

/// The context in which the plugin binds its chords: the chat input. Dialogs have other contexts.
pub const CONTEXT: &str = "Chat";

/// The chords of several keys that Claude Code 2.1.325 binds itself, in any context.
const BUILT_IN: [&str; 21] = [
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

/// Why Claude Code ignores the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeybindingsError {
    /// It is not strict JSON: it has comments or trailing commas, or is cut off.
    #[error("is not JSON, which has no comments and no comma before a closing bracket")]
    NotJson,
    /// It has no list of blocks.
    #[error("has no list \"bindings\"")]
    NoList,
    /// One of its blocks has no context or no bindings. Claude Code then uses none of them.
    #[error("has a block without a \"context\" and a \"bindings\" object of actions")]
    BadBlock,
}

/// One binding of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    context: String,
    chord: Chord,
    /// The action; `None` where the file removes a binding.
    action: Option<String>,
}

/// How the file binds one of the plugin's actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingState {
    /// None of the plugin's chords is bound to it.
    Missing,
    /// A chord is bound to it, but another binding removes it, or binds one of its keys, which could answer a dialog.
    Shadowed {
        /// The plugin's chord.
        chord: Chord,
        /// The chord and the action of the other binding.
        by: String,
    },
    /// This chord is bound to it.
    To(Chord),
}

/// The bindings of the file that Claude Code uses.
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
    /// Parses the text of the file.
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
                // Claude Code skips a binding whose chord it cannot parse, and keeps the others.
                if let Some(chord) = Chord::parse(&chord) {
                    bindings.push(Binding { context: context.clone(), chord, action });
                }
            }
        }
        Ok(Self { bindings })
    }

    /// Returns which of `chords` is bound to `action` in the chat input, and whether another binding conflicts.
    pub fn bound(&self, action: &str, chords: &[&str]) -> BindingState {
        let mut shadowed = BindingState::Missing;
        for chord in chords.iter().filter_map(|chord| Chord::parse(chord)) {
            let is_ours = |binding: &Binding| {
                binding.context == CONTEXT && binding.chord == chord && binding.action.as_deref() == Some(action)
            };
            let Some(at) = self.bindings.iter().rposition(is_ours) else { continue };
            // The last of several bindings of a chord counts; one without an action removes those before it.
            let conflicts = |place: usize, other: &Binding| match other.action {
                Some(_) => place != at && !is_same(other, &self.bindings[at]) && chord.interferes(&other.chord),
                None => place > at && other.chord == chord,
            };
            let mut others = self.bindings.iter().enumerate();
            match others.find(|(place, other)| conflicts(*place, other)) {
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

    /// Returns the first of `chords` that neither the file nor Claude Code uses; `None` where all are in use.
    pub fn free(&self, chords: &[&'static str]) -> Option<&'static str> {
        let built_in = BUILT_IN.iter().filter_map(|chord| Chord::parse(chord));
        let taken: Vec<Chord> = self.bindings.iter().map(|binding| binding.chord.clone()).chain(built_in).collect();
        let is_free = |text: &&&'static str| {
            Chord::parse(text).is_some_and(|chord| !taken.iter().any(|other| chord.interferes(other)))
        };
        chords.iter().find(is_free).copied()
    }
}

fn is_same(one: &Binding, other: &Binding) -> bool {
    one.chord == other.chord && one.context == other.context && one.action == other.action
}
