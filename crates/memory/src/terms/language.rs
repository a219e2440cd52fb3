//! Languages: detection, stems, irregular inflections, and words without meaning for the subject.
//!
//! Only a query is extended by irregular forms, so the index does not depend on their table.

use std::borrow::Cow;
use std::hash::Hasher;
use std::ops::RangeInclusive;

use rust_stemmers::{Algorithm, Stemmer};

use super::common_words;

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

/// How long the words are that decide it, in bytes.
const LENGTHS: RangeInclusive<usize> = 2..=16;

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
        let mut count = |word: &str| {
            let languages = common_words::languages(word).unwrap_or_default();
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += usize::from(languages >> bit & 1);
            }
        };
        let is_short = |word: &&str| LENGTHS.contains(&word.len());
        if text.is_ascii() {
            let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(is_short);
            let mut lower = [0; *LENGTHS.end()];
            for word in words.take(LOOKED_AT) {
                let lower = &mut lower[..word.len()];
                lower.copy_from_slice(word.as_bytes());
                lower.make_ascii_lowercase();
                count(std::str::from_utf8(lower).unwrap_or_default());
            }
        } else {
            let words = text.split(|c: char| !c.is_alphabetic()).filter(is_short);
            let mut lower = String::new();
            for word in words.take(LOOKED_AT) {
                lower.clear();
                lower.extend(word.chars().flat_map(char::to_lowercase));
                count(&lower);
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
}

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
    common_words::languages(word).is_some() || is_single_letter(word) || is_particle(word)
}

fn is_single_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [letter] if letter.is_ascii_alphabetic())
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

/// Forms of the same word. Words as common as `have` are not searched for and not listed.
const GROUPS: &[&[&str]] = &[
    &["arise", "arisen", "arose"],
    &["awake", "awoke", "awoken", "woke", "woken"],
    &["beat", "beaten"],
    &["become", "became"],
    &["begin", "began", "begun"],
    &["bend", "bent"],
    &["bite", "bitten"],
    &["bleed", "bled"],
    &["blow", "blew", "blown"],
    &["break", "broke", "broken"],
    &["bring", "brought"],
    &["build", "built"],
    &["burn", "burnt"],
    &["buy", "bought"],
    &["catch", "caught"],
    &["child", "children"],
    &["choose", "chose", "chosen"],
    &["come", "came"],
    &["creep", "crept"],
    &["deal", "dealt"],
    &["dig", "dug"],
    &["draw", "drawn", "drew"],
    &["dream", "dreamt"],
    &["drink", "drank", "drunk"],
    &["drive", "driven", "drove"],
    &["eat", "ate", "eaten"],
    &["fall", "fallen", "fell"],
    &["feed", "fed"],
    &["feel", "felt"],
    &["fight", "fought"],
    &["flee", "fled"],
    &["fly", "flew", "flown", "flies"],
    &["foot", "feet"],
    &["forget", "forgot", "forgotten"],
    &["forgive", "forgave", "forgiven"],
    &["freeze", "froze", "frozen"],
    &["give", "gave", "given"],
    &["go", "gone", "went", "goes"],
    &["grow", "grew", "grown"],
    &["hang", "hung"],
    &["hear", "heard"],
    &["hide", "hid", "hidden"],
    &["hold", "held"],
    &["index", "indices"],
    &["keep", "kept"],
    &["know", "knew", "known"],
    &["lay", "laid"],
    &["lead", "led"],
    &["lean", "leant"],
    &["leap", "leapt"],
    &["learn", "learnt"],
    &["leave", "left"],
    &["lend", "lent"],
    &["life", "lives"],
    &["light", "lit"],
    &["lose", "lost"],
    &["make", "made"],
    &["man", "men"],
    &["matrix", "matrices"],
    &["mean", "meant"],
    &["meet", "met"],
    &["mouse", "mice"],
    &["overwrite", "overwritten", "overwrote"],
    &["pay", "paid"],
    &["person", "people"],
    &["rebuild", "rebuilt"],
    &["ride", "ridden", "rode"],
    &["ring", "rang", "rung"],
    &["rise", "risen", "rose"],
    &["run", "ran"],
    &["seek", "sought"],
    &["sell", "sold"],
    &["send", "sent"],
    &["shake", "shaken", "shook"],
    &["shine", "shone"],
    &["shoot", "shot"],
    &["shrink", "shrank", "shrunk"],
    &["sing", "sang", "sung"],
    &["sink", "sank", "sunk"],
    &["sit", "sat"],
    &["sleep", "slept"],
    &["slide", "slid"],
    &["speak", "spoke", "spoken"],
    &["spend", "spent"],
    &["spin", "spun"],
    &["stand", "stood"],
    &["steal", "stole", "stolen"],
    &["stick", "stuck"],
    &["sting", "stung"],
    &["strike", "struck"],
    &["swear", "swore", "sworn"],
    &["sweep", "swept"],
    &["swim", "swam", "swum"],
    &["swing", "swung"],
    &["take", "taken", "took"],
    &["teach", "taught"],
    &["tear", "tore", "torn"],
    &["throw", "threw", "thrown"],
    &["tooth", "teeth"],
    &["understand", "understood"],
    &["vertex", "vertices"],
    &["wear", "wore", "worn"],
    &["weave", "wove", "woven"],
    &["wife", "wives"],
    &["win", "won"],
    &["wind", "wound"],
    &["woman", "women"],
    &["write", "written", "wrote"],
];

/// Returns all irregular forms of a lower-case word, itself included; empty for most words.
///
/// Regular inflections count as the word: `buying` has the forms of `buy`.
pub(super) fn other_forms(word: &str) -> &'static [&'static str] {
    let begins_like = |form: &&&str| form.as_bytes().first() == word.as_bytes().first();
    let is_of = |group: &&&[&str]| group.iter().filter(begins_like).any(|form| *form == word || is_regular(form, word));
    GROUPS.iter().find(is_of).copied().unwrap_or_default()
}

/// Returns whether a word is `form` with `s` or `ing`.
fn is_regular(form: &str, word: &str) -> bool {
    if let Some(stem) = word.strip_suffix("ing") {
        // `running` doubles a letter, `taking` drops one.
        let is_doubled = stem.strip_prefix(form).is_some_and(|rest| rest.len() == 1 && form.ends_with(rest));
        return stem == form || is_doubled || form.strip_suffix('e') == Some(stem);
    }
    word.strip_suffix('s') == Some(form)
}

#[cfg(test)]
mod tests {
    use super::other_forms;

    #[test]
    fn every_form_of_a_word_finds_the_others() {
        for word in ["buy", "buys", "buying", "bought"] {
            assert_eq!(other_forms(word), ["buy", "bought"], "{word}");
        }
        assert_eq!(other_forms("running"), ["run", "ran"]);
        assert_eq!(other_forms("taking"), ["take", "taken", "took"]);
        assert_eq!(other_forms("importer"), <[&str; 0]>::default());
    }
}
