//! The beginnings of the forms of a query's terms, by which most words of a text are excluded without a stemmer.

use crate::beginning_set::Beginnings;

/// The beginnings of the forms, which exclude nearly every word of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct FormBeginnings {
    /// The forms of one byte.
    ones: Beginnings,
    /// The first two bytes of each longer form.
    twos: Beginnings,
    /// The first three bytes of each form that has so many.
    threes: Beginnings,
    /// The first four bytes of each form that has so many.
    fours: Beginnings,
    /// The first two bytes of each form that has fewer than three, or fewer than four.
    below_three: Beginnings,
    below_four: Beginnings,
}

/// The stem of a word of fewer bytes may differ in its third byte already, and of fewer than the second number in its fourth.
const COMPARED_BY_THREE: usize = 6;
const COMPARED_BY_FOUR: usize = 8;

impl FormBeginnings {
    /// Adds a form.
    pub(super) fn add(&mut self, form: &str) {
        if form.len() < 2 {
            return self.ones.insert(first_bytes::<1>(form));
        }
        let two = first_bytes::<2>(form);
        self.twos.insert(two);
        match form.len() {
            ..3 => self.below_three.insert(two),
            _ => self.threes.insert(first_bytes::<3>(form)),
        }
        match form.len() {
            ..4 => self.below_four.insert(two),
            _ => self.fours.insert(first_bytes::<4>(form)),
        }
    }

    /// Returns whether a word can be one of the forms, begin with one, or have one as its stem.
    pub(super) fn has(&self, word: &str) -> bool {
        let two = first_bytes::<2>(word);
        if self.ones.contains(first_bytes::<1>(word)) {
            return true;
        }
        self.twos.contains(two)
            && (word.len() < COMPARED_BY_THREE
                || self.threes.contains(first_bytes::<3>(word))
                || self.below_three.contains(two))
            && (word.len() < COMPARED_BY_FOUR
                || self.fours.contains(first_bytes::<4>(word))
                || self.below_four.contains(two))
    }
}

/// Returns a hash of the first bytes of a word. `y` counts as `i`, as in stems.
fn first_bytes<const COUNT: usize>(word: &str) -> u16 {
    let byte = |at: usize| match word.as_bytes().get(at).copied().unwrap_or_default() {
        b'y' => u32::from(b'i'),
        byte => u32::from(byte),
    };
    let joined = (0..COUNT).fold(0, |joined, at| joined << 8 | byte(at));
    (joined.wrapping_mul(0x9e37_79b1) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::FormBeginnings;
    use crate::terms::{Language, fold, forms};

    #[test]
    fn no_word_is_ruled_out_whose_stem_is_wanted() {
        let words = [
            "importers",
            "importing",
            "imported",
            "cries",
            "skies",
            "flies",
            "tries",
            "tying",
            "running",
            "used",
            "uses",
            "use",
            "going",
            "goes",
            "generously",
            "universities",
            "buying",
            "es",
            "add",
            "adding",
            "added",
            "häuser",
            "läuft",
            "gehen",
            "verschoben",
            "eaux",
            "chevaux",
            "irían",
            "andare",
            "cantavano",
            "leggere",
            "gelopen",
            "brood",
            "groot",
            "работает",
            "импорта",
        ];
        for word in words {
            for wanted in forms(word) {
                let mut beginnings = FormBeginnings::default();
                beginnings.add(&wanted);
                let is_stem = |language: &Language| fold(&language.stem(word)) == wanted;
                if wanted == fold(word) || Language::ALL.iter().any(is_stem) {
                    assert!(beginnings.has(&fold(word)), "{word}: {wanted}");
                }
            }
        }
    }
}
