//! Converts text to search terms. The index and the query use the same function, so that both always agree.
//!
//! A term is a lower-case string without white space. A word gives its exact form and its stem; an identifier, path or
//! version gives its parts and the whole; text in a script without spaces, such as Chinese, Japanese, Korean, Thai or Khmer,
//! gives pairs of characters.

mod common_words;
mod language;
mod split;

use std::collections::{BTreeSet, HashMap};

use crate::call::REPLY_CHARS;

pub(crate) use self::language::WordHasher;
pub use self::language::{Language, is_stop_word};
pub(crate) use self::split::is_without_spaces;
pub use self::split::{Form, Piece, split};

/// Maximum number of bytes of a text that are indexed: all of the longest reply, whose characters have up to four bytes.
const INDEXED_BYTES: usize = 4 * REPLY_CHARS;

/// Number of bytes of a text that are read at once. The language is that of the first of these parts.
const PART_BYTES: usize = 256 * 1024;

/// The version of the index: of the terms, and of the rowids that they are stored under. From the first release on, increase it
/// whenever the terms of any text change, or the rowids: rows are removed from the index by what they were added with. Upkeep then
/// builds the index of every memory again.
pub const TERMS_VERSION: u32 = 1;

/// Converts texts to terms, and caches the stems of words.
#[derive(Debug, Default)]
pub struct Terms {
    stems: HashMap<(Language, String), String>,
}

impl Terms {
    /// Returns the distinct terms of some texts, in order, separated by spaces.
    pub fn index<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> String {
        let mut all = BTreeSet::new();
        for text in texts {
            let text = &text[..text.floor_char_boundary(INDEXED_BYTES)];
            let mut part = &text[..text.floor_char_boundary(PART_BYTES)];
            let language = Language::of(part);
            let mut end = part.len();
            loop {
                split(part, |piece| self.add(language, &piece, &mut all));
                if end == text.len() {
                    break;
                }
                // The word that the border parts is read again as a whole.
                let start = word_before(text, end);
                end = text.floor_char_boundary(end + PART_BYTES);
                part = &text[start..end];
            }
        }
        // A character may fold to nothing.
        all.remove("");
        all.into_iter().collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, language: Language, piece: &Piece<'_>, all: &mut BTreeSet<String>) {
        if piece.form == Form::Word {
            let stem = self.stem(language, piece.text);
            if stem != piece.text {
                all.insert(language::fold(stem).into_owned());
            }
        }
        all.insert(language::fold(piece.text).into_owned());
    }

    /// Returns the stem of a lower-case word.
    fn stem(&mut self, language: Language, word: &str) -> &str {
        // A borrowed pair cannot be used as the key, but building the owned one costs less than stemming.
        let key = (language, word.to_owned());
        self.stems.entry(key).or_insert_with(|| language.stem(word).into_owned())
    }
}

/// Returns the start of the word that contains the character before a position; of that character in a script without
/// spaces.
pub(crate) fn word_before(text: &str, position: usize) -> usize {
    /// A path is longer than a word. What is still longer is data.
    const LONGEST: usize = 512;

    let from = text.floor_char_boundary(position.saturating_sub(LONGEST));
    let before = &text[from..position];
    let last = before.char_indices().next_back().map_or(0, |(at, _)| at);
    from + before.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(last, |(at, c)| at + c.len_utf8())
}

/// Returns the forms of a word of a query in the index: the word itself first, then its stems in every language,
/// because the language of a few words is not known, then irregular inflections.
pub fn forms(word: &str) -> Vec<String> {
    forms_in(&Language::ALL, word)
}

/// The same with the stems of some languages only.
pub(crate) fn forms_in(languages: &[Language], word: &str) -> Vec<String> {
    let mut forms = vec![language::fold(word).into_owned()];
    for language in languages {
        let stem = language.stem(word);
        let stem = language::fold(&stem);
        if !forms.iter().any(|form| *form == stem) {
            forms.push(stem.into_owned());
        }
    }
    for other in language::other_forms(word) {
        if !forms.iter().any(|form| form == other) {
            forms.push((*other).to_owned());
        }
    }
    forms
}

/// Returns a word without the accents of Latin letters.
pub fn fold(word: &str) -> std::borrow::Cow<'_, str> {
    language::fold(word)
}
