//! Common words of all languages in one table, which the compiler makes: nothing is built when the program starts.
//!
//! One look-up instead of one for each language: every word of every text that is indexed or ranked is looked up.

use super::common_words::{ASKING, CHINESE, DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, RUSSIAN, SPANISH};

/// The languages' words, in the order of [`Language::ALL`](super::Language::ALL).
const BY_LANGUAGE: [&[&str]; 8] = [ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, RUSSIAN];

/// Words of no language: those that only ask, or join.
const OF_NONE: [&[&str]; 2] = [ASKING, CHINESE];

/// Slots of the table, a power of two. About a third are used.
const SLOTS: usize = 4_096;

/// Bytes of all words, those of several languages counted again.
const BYTES: usize = bytes_of(&BY_LANGUAGE) + bytes_of(&OF_NONE);

static TABLE: Table = Table::new();

/// Returns the languages that have a lower-case word among their common ones, a bit for each in the order of
/// [`Language::ALL`](super::Language::ALL); `None` if it is not a common word.
pub(super) fn languages(word: &str) -> Option<u8> {
    let slot = &TABLE.slots[TABLE.place(word.as_bytes())];
    (slot.length > 0).then_some(slot.languages)
}

/// A hash table of words. It has offsets instead of references, which the program would have to relocate when it starts.
struct Table {
    slots: [Slot; SLOTS],
    text: [u8; BYTES],
}

#[derive(Clone, Copy)]
struct Slot {
    /// Where the word begins in the text.
    start: u16,
    /// Its bytes; 0 for an empty slot.
    length: u8,
    languages: u8,
}

impl Table {
    const fn new() -> Self {
        let empty = Slot { start: 0, length: 0, languages: 0 };
        let mut table = Self { slots: [empty; SLOTS], text: [0; BYTES] };
        let mut used = 0;
        let mut language = 0;
        while language < BY_LANGUAGE.len() {
            used = table.add(BY_LANGUAGE[language], 1 << language, used);
            language += 1;
        }
        let mut list = 0;
        while list < OF_NONE.len() {
            used = table.add(OF_NONE[list], 0, used);
            list += 1;
        }
        table
    }

    /// Adds words to a table whose text has `used` bytes; returns how many it has then.
    const fn add(&mut self, words: &[&str], languages: u8, mut used: usize) -> usize {
        let mut index = 0;
        while index < words.len() {
            let word = words[index].as_bytes();
            let place = self.place(word);
            if self.slots[place].length == 0 {
                self.slots[place] = Slot { start: used as u16, length: word.len() as u8, languages: 0 };
                let mut at = 0;
                while at < word.len() {
                    self.text[used + at] = word[at];
                    at += 1;
                }
                used += word.len();
            }
            self.slots[place].languages |= languages;
            index += 1;
        }
        used
    }

    /// Returns the slot that a word has, or would have.
    const fn place(&self, word: &[u8]) -> usize {
        let mut place = hash(word) as usize % SLOTS;
        while self.slots[place].length > 0 && !self.is_at(place, word) {
            place = (place + 1) % SLOTS;
        }
        place
    }

    const fn is_at(&self, place: usize, word: &[u8]) -> bool {
        let slot = self.slots[place];
        if slot.length as usize != word.len() {
            return false;
        }
        let mut at = 0;
        while at < word.len() {
            if self.text[slot.start as usize + at] != word[at] {
                return false;
            }
            at += 1;
        }
        true
    }
}

/// FNV-1a with 32 bits.
const fn hash(word: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash ^ hash >> 15
}

const fn bytes_of(lists: &[&[&str]]) -> usize {
    let mut sum = 0;
    let mut list = 0;
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            sum += lists[list][index].len();
            index += 1;
        }
        list += 1;
    }
    assert!(sum < u16::MAX as usize, "offsets have 16 bits");
    sum
}

#[cfg(test)]
mod tests {
    use super::{BY_LANGUAGE, OF_NONE, languages};

    #[test]
    fn every_word_is_found_with_every_language_that_has_it() {
        for (bit, words) in BY_LANGUAGE.iter().enumerate() {
            for word in *words {
                assert_eq!(languages(word).map(|languages| languages >> bit & 1), Some(1), "{word}");
            }
        }
        for word in OF_NONE.iter().copied().flatten() {
            let having = BY_LANGUAGE.iter().enumerate().filter(|(_, words)| words.contains(word));
            assert_eq!(languages(word), Some(having.map(|(bit, _)| 1 << bit).sum()), "{word}");
        }
        for other in ["", "importer", "thee", "wär", "\u{0}", &"long".repeat(100)] {
            assert_eq!(languages(other), None, "{other}");
        }
    }
}
