//! keybindings.json: chords of Ctrl and letters, bound to submit and stash in the chat input, as the client has them.

use std::fs;

use serde_json::Value;

use crate::app::App;

/// What a chord can be bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Submit,
    Stash,
}

/// Which chord has begun, and whether the file is read at all.
#[derive(Debug, Default)]
pub(crate) struct Chords {
    /// The letters pressed so far.
    pending: Vec<char>,
    /// A client that does not know the file, or must not use it.
    pub(crate) ignored: bool,
}

impl App {
    /// Takes Ctrl and a letter for a chord, if it begins, goes on with or ends one; returns whether it did.
    pub(crate) fn press_in_chord(&mut self, letter: char) -> bool {
        let bindings = if self.chords.ignored { Vec::new() } else { self.bindings() };
        let mut pressed = self.chords.pending.clone();
        pressed.push(letter);
        let is_begun = bindings.iter().any(|(chord, _)| chord.len() > pressed.len() && chord.starts_with(&pressed));
        if is_begun {
            self.chords.pending = pressed;
            return true;
        }
        let was_pending = self.break_chord();
        match bindings.iter().rev().find(|(chord, _)| *chord == pressed) {
            // The menu of commands has the keys.
            Some((_, Action::Submit)) if self.is_menu_open() => {}
            Some((_, Action::Submit)) => self.submit_by_chord(),
            Some((_, Action::Stash)) => self.stash_or_restore(),
            None => return was_pending,
        }
        true
    }

    /// Forgets a chord that another key has broken, and that key with it; returns whether there was one.
    pub(crate) fn break_chord(&mut self) -> bool {
        let was_pending = !self.chords.pending.is_empty();
        self.chords.pending.clear();
        was_pending
    }

    fn is_menu_open(&self) -> bool {
        self.draft.starts_with('/') && !self.draft.contains(char::is_whitespace)
    }

    /// The client reads the file again soon after it has changed: here at once.
    fn bindings(&self) -> Vec<(Vec<char>, Action)> {
        let text = fs::read(self.client_dir.join("keybindings.json")).unwrap_or_default();
        let file: Value = serde_json::from_slice(&text).unwrap_or_default();
        let blocks = file["bindings"].as_array().into_iter().flatten().filter(|block| block["context"] == "Chat");
        let lines = blocks.filter_map(|block| block["bindings"].as_object()).flatten();
        let read = |(chord, action): (&String, &Value)| {
            let action = match action.as_str()? {
                "chat:submit" => Action::Submit,
                "chat:stash" => Action::Stash,
                _ => return None,
            };
            let letters = chord.split_whitespace().map(|stroke| stroke.strip_prefix("ctrl+")?.chars().next());
            Some((letters.collect::<Option<Vec<char>>>()?, action))
        };
        lines.filter_map(read).collect()
    }
}
