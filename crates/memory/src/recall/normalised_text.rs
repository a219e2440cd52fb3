//! A text as it is read: in NFKC, as it is split into words, with the positions of its characters in the original; and
//! a long one in parts, of which the first is always read, and the others only while a word is missing.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::terms::word_before;

/// A text in NFKC, with the positions of its characters in the original.
pub(super) struct NormalisedText<'t> {
    pub(super) text: Cow<'t, str>,
    /// Offsets in `text` and in the original at which a character with its marks begins; empty if they are equal.
    places: Vec<(usize, usize)>,
}

impl<'t> NormalisedText<'t> {
    pub(super) fn new(original: &'t str) -> Self {
        if is_normalised(original) {
            return Self { text: original.into(), places: Vec::new() };
        }
        let mut text = String::with_capacity(original.len());
        let mut places = Vec::new();
        // Marks before the first character are not part of the text: no word begins with them.
        for (start, cluster) in clusters(original).skip_while(|(_, cluster)| !cluster.starts_with(begins_cluster)) {
            places.push((text.len(), start));
            text.extend(cluster.nfkc());
        }
        places.push((text.len(), original.len()));
        Self { text: text.into(), places }
    }

    /// Returns the range in the original of a range of the text.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let (Some(first), Some(last)) = (self.places.first(), self.places.last()) else { return range };
        let before = self.places.partition_point(|place| place.0 <= range.start);
        let after = self.places.partition_point(|place| place.0 < range.end);
        let start = before.checked_sub(1).map_or(first.1, |at| self.places[at].1);
        let end = self.places.get(after).map_or(last.1, |place| place.1);
        start..end.max(start)
    }
}

/// Returns the position in a text of a position in its NFKC form, as [`crate::split`] reports it.
///
/// Only the text up to it is read.
pub(super) fn original_position(original: &str, position: usize) -> usize {
    if is_normalised(&original[..original.floor_char_boundary(position)]) {
        return position.min(original.len());
    }
    let mut length = 0;
    for (start, cluster) in clusters(original) {
        length += if cluster.is_ascii() { cluster.len() } else { cluster.nfkc().map(char::len_utf8).sum() };
        if position < length {
            return start;
        }
    }
    original.len()
}

fn is_normalised(text: &str) -> bool {
    text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes
}

/// Returns the parts of a text that can be normalised separately, each with its position.
fn clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    iter::from_fn(move || {
        let mut chars = text[rest..].char_indices();
        let start = rest;
        chars.next()?;
        let length = chars.find(|(_, c)| begins_cluster(*c)).map_or(text.len() - start, |(at, _)| at);
        rest += length;
        Some((start, &text[start..rest]))
    })
}

/// Returns whether a character is neither a mark nor composed with the one before it, as parts of a Korean syllable are.
fn begins_cluster(c: char) -> bool {
    if c.is_ascii() {
        return true;
    }
    if is_combining_mark(c) {
        return false;
    }
    let mut first = None;
    decompose_compatible(c, |part| {
        first.get_or_insert(part);
    });
    let first = first.unwrap_or(c);
    canonical_combining_class(first) == 0 && is_nfkc_quick(iter::once(first)) != IsNormalized::Maybe
}

/// Number of bytes of a text that are always read. Longer texts are rare.
pub(super) const FIRST_PART: usize = 24 * 1024;

const FURTHER_PART: usize = 32 * 1024;

/// Number of bytes of further parts that are read for one query, of all texts together.
pub(super) const READ_ON: usize = 2 * 1024 * 1024;

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

    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::{FIRST_PART, clusters, first_part, original_position, part_after};
    use crate::split;

    #[track_caller]
    fn check(original: &str, word: &str) {
        let normal: String = original.nfkc().collect();
        let at = normal.find(&word.nfkc().collect::<String>()).unwrap();
        assert_eq!(original_position(original, at), original.find(word).unwrap(), "{word:?} in {original:?}");
    }

    #[test]
    fn a_position_is_mapped_to_the_original() {
        check("plain importer", "importer");
        check("，，，，经纬度，抄错", "经纬度");
        check("a\u{a0}b ﬁﬂ importer", "importer");
        check("ｶﾞｶﾞ importer", "importer");
        check("\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af} importer", "importer");
        check("\u{301}cafe\u{301} importer", "importer");
        assert_eq!(original_position("½", 99), 2, "after the end");
    }

    proptest! {
        #[test]
        fn clusters_are_normalised_as_the_whole_text_is(
            text in "(\\PC|[가-힣ᄀ-ᇿｦ-ﾟ\u{300}-\u{36f}\u{e31}-\u{e3a}\u{17b4}-\u{17d3}，ﬁ½]){0,40}"
        ) {
            let whole: String = text.nfkc().collect();
            let parts: String = clusters(&text).flat_map(|(_, cluster)| cluster.nfkc().collect::<Vec<_>>()).collect();
            prop_assert_eq!(parts, whole);
        }
    }

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
