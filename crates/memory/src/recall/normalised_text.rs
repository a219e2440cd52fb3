//! A text in NFKC, as it is split into words, with the positions of its characters in the original.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, decompose_compatible, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::{clusters, original_position};

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
}
