//! A line of text that is being typed.

/// A line of text that is being typed. It contains no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextInput {
    text: String,
}

impl TextInput {
    /// The maximum length, in characters.
    pub const MAX_CHARS: usize = 4_000;

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Appends text. Line ends and tabs become spaces; other control characters are left out.
    pub fn push(&mut self, text: &str) {
        let room = Self::MAX_CHARS.saturating_sub(self.text.chars().count());
        let space = |c: char| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c };
        self.text.extend(text.chars().map(space).filter(|c| !c.is_control()).take(room));
    }

    /// Removes the last character.
    pub fn pop(&mut self) {
        self.text.pop();
    }

    /// Empties the text.
    pub fn clear(&mut self) {
        self.text.clear();
    }
}
