//! The key that submits: Enter, which also confirms every dialog, or a chord that is only bound in the chat input.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

impl SubmitChord {
    /// Chooses the chord for one process of Claude Code, or Enter, which is `None`; `seen` is the result of an earlier
    /// chord in it.
    ///
    /// After a process has ignored the chord, the chord is not tried again until the file changes. Shortly after a change
    /// of the file, Enter is used, because the process may not have loaded the file yet.
    pub fn choose(file: KeybindingsFile<'_>, seen: Option<&ChordTrial>) -> Option<Self> {
        let KeybindingsFile { text, written, age } = file;
        let keybindings = Keybindings::parse(text).ok()?;
        let submit = keybindings.bound(SUBMIT, &SUBMIT_CHORDS).chord()?;
        let stash = keybindings.bound(STASH, &STASH_CHORDS).chord();
        let of_this = seen.filter(|seen| seen.chord == submit.to_string());
        let proof = of_this.filter(|seen| seen.file_written == written || seen.proof == ChordResult::Received);
        match proof.map(|seen| seen.proof) {
            Some(ChordResult::Received) => Some(Self { submit, stash, proven: true }),
            None if age >= RELOAD_MS => Some(Self { submit, stash, proven: false }),
            Some(ChordResult::Ignored) | None => None,
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

// Chords: keys that are pressed one after the other, as Claude Code's keybindings.json writes them; and those that Longhaul binds.

/// The chords that the plugin may bind to submit, in order of preference.
///
/// Ctrl-X and Ctrl-Q alone do nothing in Claude Code's input, menus and dialogs. So a chord that reaches a dialog instead
/// of the input changes nothing there.
pub const SUBMIT_CHORDS: [&str; 3] = ["ctrl+x ctrl+q", "ctrl+q ctrl+x", "ctrl+q ctrl+q"];

/// The chords that the plugin may bind to stash, in order of preference. Pressing one again restores the draft.
pub const STASH_CHORDS: [&str; 2] = ["ctrl+x ctrl+x", "ctrl+q ctrl+w"];

/// A key press with its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stroke {
    key: String,
    ctrl: bool,
    /// Alt or Meta. Terminals, and so Claude Code, do not distinguish the two.
    alt: bool,
    shift: bool,
    command: bool,
}

impl Stroke {
    /// Parses a stroke such as `ctrl+x`; returns `None` where it has no key, or more than one.
    fn parse(text: &str) -> Option<Self> {
        let mut stroke = Self { key: String::new(), ctrl: false, alt: false, shift: false, command: false };
        for part in text.split('+') {
            match part.to_lowercase().as_str() {
                "ctrl" | "control" => stroke.ctrl = true,
                "alt" | "opt" | "option" | "meta" => stroke.alt = true,
                "shift" => stroke.shift = true,
                "cmd" | "command" | "super" | "win" => stroke.command = true,
                _ if !stroke.key.is_empty() => return None,
                "esc" => stroke.key = "escape".to_owned(),
                "return" => stroke.key = "enter".to_owned(),
                "del" => stroke.key = "delete".to_owned(),
                "↑" => stroke.key = "up".to_owned(),
                "↓" => stroke.key = "down".to_owned(),
                "←" => stroke.key = "left".to_owned(),
                "→" => stroke.key = "right".to_owned(),
                key => stroke.key = key.to_owned(),
            }
        }
        (!stroke.key.is_empty()).then_some(stroke)
    }

    /// Returns the letter of a stroke that consists of Ctrl and a letter; `None` for any other.
    fn control_letter(&self) -> Option<char> {
        let mut chars = self.key.chars();
        let letter = chars.next().filter(|letter| letter.is_ascii_lowercase() && chars.next().is_none())?;
        (self.ctrl && !self.alt && !self.shift && !self.command).then_some(letter)
    }
}

/// A sequence of key presses that is bound to one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord {
    strokes: Vec<Stroke>,
}

impl Chord {
    /// Parses a chord such as `ctrl+x ctrl+q`, in every spelling that Claude Code accepts.
    pub fn parse(text: &str) -> Option<Self> {
        let strokes: Vec<Stroke> = text.split_whitespace().map(Stroke::parse).collect::<Option<_>>()?;
        (!strokes.is_empty()).then_some(Self { strokes })
    }

    /// Returns whether a binding of `other`, in any context, conflicts with this chord.
    ///
    /// Where one chord begins with the other, Claude Code only triggers the longer one. A binding of a single key of this
    /// chord would trigger where this chord is not bound, such as in a dialog.
    pub fn interferes(&self, other: &Self) -> bool {
        let common = self.strokes.len().min(other.strokes.len());
        let begin_alike = self.strokes[..common] == other.strokes[..common];
        let is_one_of_its_keys = matches!(other.strokes.as_slice(), [only] if self.strokes.contains(only));
        begin_alike || is_one_of_its_keys
    }

    /// Returns the letters of a chord in which every stroke consists of Ctrl and a letter; `None` for any other chord.
    ///
    /// Only such chords are the same bytes in every terminal.
    pub fn control_letters(&self) -> Option<Vec<char>> {
        self.strokes.iter().map(Stroke::control_letter).collect()
    }

    /// Returns the bytes that a terminal sends for a chord of Ctrl and letters; none for any other chord.
    pub fn bytes(&self) -> Vec<u8> {
        self.control_letters().unwrap_or_default().into_iter().map(|letter| letter as u8 & 0x1f).collect()
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, stroke) in self.strokes.iter().enumerate() {
            let modifiers =
                [(stroke.ctrl, "ctrl+"), (stroke.alt, "alt+"), (stroke.shift, "shift+"), (stroke.command, "cmd+")];
            f.write_str(if at == 0 { "" } else { " " })?;
            modifiers.iter().filter(|(pressed, _)| *pressed).try_for_each(|(_, name)| f.write_str(name))?;
            f.write_str(&stroke.key)?;
        }
        Ok(())
    }
}

// Claude Code's keybindings.json: which chords it binds, and which ones the plugin can use.

/// Claude Code's action that submits the input.
pub const SUBMIT: &str = "chat:submit";

/// Claude Code's action that stashes the draft, or restores it where the input is empty.
pub const STASH: &str = "chat:stash";

/// The context in which the plugin binds its chords: the chat input. Dialogs have other contexts.
pub const CONTEXT: &str = "Chat";

/// The keys that end a chord which begins with Ctrl-X and which Claude Code 2.1.325 binds itself, in any context.
const BUILT_IN_AFTER_CTRL_X: [&str; 21] = [
    "ctrl+a", "ctrl+b", "ctrl+e", "ctrl+k", "ctrl+s", "ctrl+=", "ctrl+-", "ctrl+_", "=", "-", "1", "2", "3", "b", "x",
    "enter", "tab", "up", "down", "left", "right",
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

impl BindingState {
    fn chord(self) -> Option<Chord> {
        match self {
            Self::To(chord) => Some(chord),
            Self::Missing | Self::Shadowed { .. } => None,
        }
    }
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
                Some(_) => place != at && *other != self.bindings[at] && chord.interferes(&other.chord),
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
        let built_in = BUILT_IN_AFTER_CTRL_X.iter().filter_map(|key| Chord::parse(&format!("ctrl+x {key}")));
        let taken: Vec<Chord> = self.bindings.iter().map(|binding| binding.chord.clone()).chain(built_in).collect();
        let is_free = |text: &&&'static str| {
            Chord::parse(text).is_some_and(|chord| !taken.iter().any(|other| chord.interferes(other)))
        };
        chords.iter().find(is_free).copied()
    }
}
