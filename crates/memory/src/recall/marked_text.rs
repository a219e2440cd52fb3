//! A text in which words are marked.

use std::ops::Range;

/// A text with the positions of a query's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarkedText {
    /// The text.
    pub text: String,
    /// The positions of the words in bytes, in order and without overlaps.
    pub marks: Vec<Range<usize>>,
}

impl MarkedText {
    /// Returns the pieces of the text, each with whether it is marked.
    pub fn pieces(&self) -> Vec<(&str, bool)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for mark in &self.marks {
            pieces.push((&self.text[at..mark.start], false));
            pieces.push((&self.text[mark.clone()], true));
            at = mark.end;
        }
        pieces.push((&self.text[at..], false));
        pieces.retain(|(piece, _)| !piece.is_empty());
        pieces
    }

    /// Returns the positions of the words in characters, which are the same in every programming language.
    pub fn marks_in_chars(&self) -> Vec<[usize; 2]> {
        let mut marks = Vec::with_capacity(self.marks.len());
        let (mut byte, mut char) = (0, 0);
        for mark in &self.marks {
            let start = char + self.text[byte..mark.start].chars().count();
            let end = start + self.text[mark.clone()].chars().count();
            marks.push([start, end]);
            (byte, char) = (mark.end, end);
        }
        marks
    }
}
