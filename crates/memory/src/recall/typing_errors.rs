//! Typing errors in a search: the words that a word of the query may be meant for, and how many words are corrected.

use std::collections::HashSet;

/// The maximum number of unknown words that are corrected. Each is searched for in hundreds of forms.
pub const MAX_CORRECTED_WORDS: usize = 2;

/// A query of more words is a quotation, whose words are not corrected.
pub const MAX_WORDS_TO_CORRECT_ONE: usize = 12;

/// Among more words than this, only the most common typing errors are corrected.
pub const MAX_WORDS_FOR_ALL_ERRORS: usize = 4;

/// The minimum length of an unknown word that is searched for as the beginning of others: too many begin with a shorter one.
pub const MIN_BEGINNING_CHARS: usize = 4;

/// The letters that a correction may insert.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Returns the words that differ from `word` by one typing error, in two groups: first those with two letters exchanged
/// or one too many, which are few, then those with a letter missing or wrong, which are hundreds.
pub fn spelled_like(word: &str) -> [Vec<String>; 2] {
    let letters: Vec<char> = word.chars().collect();
    // A short word is similar to too many others, and a number is not a typing error.
    if !(5..=24).contains(&letters.len()) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return [Vec::new(), Vec::new()];
    }
    let join = |parts: [&[char]; 3]| parts.concat().into_iter().collect::<String>();
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for at in 0..letters.len() - 1 {
        few.push(join([&letters[..at], &[letters[at + 1], letters[at]], &letters[at + 2..]]));
    }
    for at in 0..letters.len() {
        few.push(join([&letters[..at], &[], &letters[at + 1..]]));
    }
    for at in 0..=letters.len() {
        many.extend(LETTERS.chars().map(|letter| join([&letters[..at], &[letter], &letters[at..]])));
    }
    for at in 0..letters.len() {
        many.extend(LETTERS.chars().map(|letter| join([&letters[..at], &[letter], &letters[at + 1..]])));
    }
    let mut seen = HashSet::new();
    [few, many].map(|mut words| {
        words.retain(|one| one != word && seen.insert(one.clone()));
        words
    })
}
