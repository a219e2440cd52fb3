//! Text as BERT's uncased models see it: lower case, without accents, words and punctuation apart.

use std::iter;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most characters of a text that are looked at: more than [`crate::MAX_TOKENS`] tokens of ordinary text have.
const MAX_CHARS: usize = 8_192;

/// Returns the words of a text. Every punctuation character, symbol and Chinese character is a word of its own.
///
/// The reference implementation keeps symbols that are not ASCII inside their word. A vocabulary has few such words:
/// taken apart, `a→b` still counts as `a` and `b`.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut chars = text.chars().take(MAX_CHARS).flat_map(char::to_lowercase).nfd().filter(|c| !is_combining_mark(*c));
    let mut next: Option<char> = None;
    iter::from_fn(move || {
        let mut word = String::new();
        while let Some(c) = next.take().or_else(|| chars.next()) {
            match kind(c) {
                Kind::Nothing => {}
                Kind::Space if word.is_empty() => {}
                Kind::Space => return Some(word),
                Kind::Alone if word.is_empty() => return Some(c.to_string()),
                Kind::Alone => {
                    next = Some(c);
                    return Some(word);
                }
                Kind::Letter => word.push(c),
            }
        }
        (!word.is_empty()).then_some(word)
    })
}

enum Kind {
    Letter,
    Space,
    Alone,
    Nothing,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | '0'..='9' => Kind::Letter,
        _ if c.is_whitespace() => Kind::Space,
        '\u{fffd}' => Kind::Nothing,
        _ if c.is_control() || is_invisible(c) => Kind::Nothing,
        _ if is_chinese(c) => Kind::Alone,
        _ if c.is_alphanumeric() => Kind::Letter,
        _ => Kind::Alone,
    }
}

/// Characters that only format: they are no part of a word, and do not end one either.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ebef}')
}
