//! A long text in parts: the first is always read, and the others only while a word is missing.

use std::ops::Range;

use crate::terms::word_before;

/// Number of bytes of a text that are always read. Longer texts are rare.
pub(super) const FIRST_PART: usize = 24 * 1024;

/// Number of bytes of each further part.
const FURTHER_PART: usize = 32 * 1024;

/// Number of bytes of further parts that are read for one query, of all texts together.
pub(super) const READ_ON: usize = 2 * 1024 * 1024;

/// Returns the first part of a text.
pub(super) fn first_part(text: &str) -> Range<usize> {
    0..text.floor_char_boundary(FIRST_PART)
}

/// Returns the part after another one; `None` if there is none.
///
/// It begins with the word that the border parts, or with the last character of a script without spaces, so that no word
/// and no pair of characters is missed.
pub(super) fn part_after(text: &str, part: &Range<usize>) -> Option<Range<usize>> {
    (part.end < text.len()).then(|| word_before(text, part.end)..text.floor_char_boundary(part.end + FURTHER_PART))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FIRST_PART, first_part, part_after};
    use crate::split;

    /// Returns the distinct pieces of a text that is read in parts.
    fn pieces(text: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut part = Some(first_part(text));
        while let Some(range) = part {
            split(&text[range.clone()], |piece| {
                all.insert(piece.text.to_owned());
            });
            part = part_after(text, &range);
        }
        all
    }

    #[test]
    fn no_word_is_missed_at_a_border() {
        for word in ["importer, stalled: ", "支払期日", "支払 期日です "] {
            for shift in 0..9 {
                let text = format!("{}{}", "x ".repeat(shift), word.repeat(10_000));
                let parts = pieces(&text);
                split(&text, |piece| assert!(parts.contains(piece.text), "{} {shift}", piece.text));
            }
        }
    }

    #[test]
    fn a_short_text_has_one_part_and_a_text_without_spaces_ends() {
        assert_eq!((first_part("importer"), part_after("importer", &(0..8))), (0..8, None));
        let data = "x".repeat(FIRST_PART * 4);
        let mut part = first_part(&data);
        let mut read = part.len();
        while let Some(next) = part_after(&data, &part) {
            assert!(next.start + 1 == part.end && next.end > part.end);
            read += next.len() - 1;
            part = next;
        }
        assert_eq!(read, data.len());
    }
}
