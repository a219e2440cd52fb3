//! Languages: detection, stems, and words without meaning for the subject.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::common_words::{ASKING, CHINESE, DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, RUSSIAN, SPANISH};

/// A language that has a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Dutch.
    Dutch,
    /// Russian.
    Russian,
}

/// Number of words of a text that determine its language.
const LOOKED_AT: usize = 400;

impl Language {
    /// Every language, English first.
    pub const ALL: [Self; 8] = [
        Self::English,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Italian,
        Self::Portuguese,
        Self::Dutch,
        Self::Russian,
    ];

    /// Returns the language with the most common words in a text; English if there are none, or as many.
    pub fn of(text: &str) -> Self {
        let mut counts = [0_usize; Self::ALL.len()];
        let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| (2..=16).contains(&word.len()));
        let mut lower = String::new();
        for word in words.take(LOOKED_AT) {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            let Some(languages) = COMMON.get(lower.as_str()) else { continue };
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += usize::from(languages >> bit & 1);
            }
        }
        let most = counts.iter().copied().max().unwrap_or_default();
        let found = Self::ALL.into_iter().zip(counts).find(|(_, count)| *count == most);
        found.map_or(Self::English, |(language, _)| language)
    }

    /// Returns the stem of a lower-case word.
    pub fn stem(self, word: &str) -> Cow<'_, str> {
        // A number has no stem, and a very short word is one.
        if word.len() < 3 || word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.into();
        }
        Stemmer::create(self.algorithm()).stem(word)
    }

    fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
            Self::Italian => Algorithm::Italian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Dutch => Algorithm::Dutch,
            Self::Russian => Algorithm::Russian,
        }
    }

    /// Returns the language's commonest words.
    fn common(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
            Self::Italian => ITALIAN,
            Self::Portuguese => PORTUGUESE,
            Self::Dutch => DUTCH,
            Self::Russian => RUSSIAN,
        }
    }
}

/// Common words, each with a bit for every language that has it. Words that only ask have no bit.
///
/// One look-up instead of one for each language: every word of every text that is indexed or ranked is looked up.
static COMMON: LazyLock<HashMap<&str, u16, BuildHasherDefault<WordHasher>>> = LazyLock::new(|| {
    let mut common = HashMap::with_capacity_and_hasher(1_500, BuildHasherDefault::default());
    for (bit, language) in Language::ALL.into_iter().enumerate() {
        for word in language.common() {
            *common.entry(*word).or_default() |= 1 << bit;
        }
    }
    for word in ASKING.iter().chain(CHINESE) {
        common.entry(*word).or_default();
    }
    common
});

/// FNV-1a, for maps of words that the program or the asking person chose: no stored text can make them collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordHasher(u64);

impl Default for WordHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns whether a lower-case word has no meaning for the subject in any language: a question word, an article, a
/// polite phrase.
pub fn is_stop_word(word: &str) -> bool {
    COMMON.contains_key(word) || is_single_letter(word) || is_particle(word)
}

fn is_single_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [one] if one.is_ascii_alphabetic())
}

/// Returns whether a pair of characters consists of Hiragana only, as particles and endings do.
fn is_particle(pair: &str) -> bool {
    let is_hiragana = |c: char| matches!(c, '\u{3040}'..='\u{309f}');
    pair.chars().all(is_hiragana) && pair.chars().count() == 2
}

/// Returns a word without the accents of Latin letters: `ü` is found by `u`.
pub(crate) fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() || !word.chars().any(is_accented) {
        return word.into();
    }
    use unicode_normalization::UnicodeNormalization;
    word.nfd().filter(|c| !matches!(c, '\u{300}'..='\u{36f}')).collect::<String>().into()
}

/// Returns whether a character may have an accent that is dropped. Characters of Asian scripts keep their marks.
fn is_accented(c: char) -> bool {
    matches!(c, '\u{c0}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}')
}
