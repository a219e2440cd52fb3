//! Text split into words, identifiers with their parts, and pairs of characters.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Maximum length of a word. Longer ones are data, such as hashes or encoded bytes, and are not searched for.
const LONGEST: usize = 64;

/// The kind of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A word, or a part of an identifier.
    Word,
    /// An identifier, file name, path or version as a whole, without its separators.
    Whole,
    /// A pair of characters of a script that does not separate words.
    Pair,
}

/// A piece of text, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece<'a> {
    /// The text.
    pub text: &'a str,
    /// The kind.
    pub form: Form,
    /// The index of the word in the text, from 0. A whole has the index of its first part.
    pub position: usize,
    /// Its start in the text, in bytes; correct only if the text is in NFKC.
    pub start: usize,
    /// Its end, likewise.
    pub end: usize,
}

/// Calls `take` with every piece of a text, in order.
pub fn split(text: &str, take: impl FnMut(Piece<'_>)) {
    split_with(text, take, plain_word);
}

/// Splits a text; `plain_word` finds words that need no further checks, and may find none.
fn split_with(text: &str, mut take: impl FnMut(Piece<'_>), plain_word: impl Fn(&[u8], usize) -> Option<usize>) {
    let text: Cow<'_, str> = match text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        true => text.into(),
        false => text.nfkc().collect::<String>().into(),
    };
    let mut splitter = Splitter { text: &text, position: 0, take: &mut take, lower: String::new() };
    let mut rest = 0;
    while let Some(byte) = text.as_bytes().get(rest) {
        if BYTES[usize::from(*byte)] == ByteKind::Apart {
            rest += 1;
            continue;
        }
        let Some(c) = text[rest..].chars().next() else { break };
        rest = if let Some(end) = plain_word(text.as_bytes(), rest) {
            splitter.plain(rest, end)
        } else if is_without_spaces(c) {
            splitter.pairs(rest)
        } else if is_word(c) {
            splitter.compound(rest)
        } else {
            rest + c.len_utf8()
        };
    }
}

/// Returns the end of a plain word: ASCII letters and digits, at most the first in upper case, with nothing after it
/// that would join it with more.
///
/// Most words of a text are plain, and need none of the work for identifiers and paths.
fn plain_word(text: &[u8], start: usize) -> Option<usize> {
    let rest = &text[start..];
    if !rest.first()?.is_ascii_alphanumeric() {
        return None;
    }
    let length = 1 + rest[1..].iter().take_while(|byte| BYTES[usize::from(**byte)] == ByteKind::Plain).count();
    let ends = match (rest.get(length), rest.get(length + 1)) {
        (None | Some(b' ' | b'\n'), _) => true,
        (Some(b'.' | b'/' | b'\\' | b':'), next) => next.is_none_or(u8::is_ascii_whitespace),
        (Some(b'-'), _) => false,
        (Some(byte), _) => BYTES[usize::from(*byte)] == ByteKind::Apart,
    };
    (ends && length <= LONGEST).then_some(start + length)
}

/// What a byte can be in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteKind {
    /// A lower-case letter or a digit, in ASCII.
    Plain,
    /// Any other ASCII character that is not part of a word.
    Apart,
    /// An upper-case letter, `_`, or a part of a character beyond ASCII.
    Other,
}

/// The kinds of all bytes, in a table: every byte of every text that is ranked is looked up.
static BYTES: [ByteKind; 256] = {
    let mut kinds = [ByteKind::Other; 256];
    let mut byte: u8 = 0;
    while byte.is_ascii() {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => ByteKind::Plain,
            b'A'..=b'Z' | b'_' => ByteKind::Other,
            _ => ByteKind::Apart,
        };
        byte += 1;
    }
    kinds
};

struct Splitter<'t, F> {
    text: &'t str,
    position: usize,
    take: &'t mut F,
    lower: String,
}

impl<F: FnMut(Piece<'_>)> Splitter<'_, F> {
    /// Takes a plain word. Returns its end.
    fn plain(&mut self, start: usize, end: usize) -> usize {
        let word = &self.text[start..end];
        let (form, position) = (Form::Word, self.position);
        if word.as_bytes()[0].is_ascii_uppercase() {
            self.lower.clear();
            self.lower.push_str(word);
            self.lower.make_ascii_lowercase();
            let lower = std::mem::take(&mut self.lower);
            (self.take)(Piece { text: &lower, form, position, start, end });
            self.lower = lower;
        } else {
            (self.take)(Piece { text: word, form, position, start, end });
        }
        self.position += 1;
        end
    }

    /// Takes a run of characters without spaces, in pairs. Returns its end.
    fn pairs(&mut self, start: usize) -> usize {
        let run = &self.text[start..];
        let length = run.find(|c| !is_without_spaces(c)).unwrap_or(run.len());
        let run = &run[..length];
        let mut before: Option<usize> = None;
        for (at, c) in run.char_indices() {
            if let Some(first) = before {
                let pair = &run[first..at + c.len_utf8()];
                let (form, from) = (Form::Pair, start + first);
                let end = from + pair.len();
                (self.take)(Piece { text: pair, form, position: self.position, start: from, end });
                self.position += 1;
            } else if c.len_utf8() == run.len() {
                let end = start + run.len();
                (self.take)(Piece { text: run, form: Form::Pair, position: self.position, start, end });
                self.position += 1;
            }
            before = Some(at);
        }
        start + length
    }

    /// Takes a word, or several that punctuation joins, such as a path. Returns its end.
    fn compound(&mut self, start: usize) -> usize {
        let mut end = start;
        let mut components: Vec<Component> = Vec::new();
        loop {
            let run = &self.text[end..];
            let length = run.find(|c| !is_word(c) && c != '-' || is_without_spaces(c)).unwrap_or(run.len());
            let length = run[..length].trim_end_matches('-').len();
            components.push(self.component(end, end + length));
            end += length;
            let joint = joint(&self.text[end..]);
            if joint == 0 {
                break;
            }
            if let Some(last) = components.last_mut() {
                last.is_before_dot = self.text[end..].starts_with('.');
            }
            end += joint;
        }
        self.wholes(start, &components);
        end
    }

    /// Takes the parts of one component, `parse_http_url` or `parseHttpUrl`.
    fn component(&mut self, start: usize, end: usize) -> Component {
        let first = self.position;
        let mut whole = String::new();
        let mut parts = 0;
        let text = &self.text[start..end];
        for (from, to) in part_ranges(text) {
            self.lower.clear();
            self.lower.extend(text[from..to].chars().flat_map(char::to_lowercase));
            if self.lower.len() <= LONGEST {
                let lower = std::mem::take(&mut self.lower);
                let (start, end) = (start + from, start + to);
                (self.take)(Piece { text: &lower, form: Form::Word, position: self.position, start, end });
                self.lower = lower;
            }
            self.position += 1;
            parts += 1;
            if whole.len() <= LONGEST {
                whole.push_str(&self.lower);
            }
        }
        if parts > 1 && whole.len() <= LONGEST {
            (self.take)(Piece { text: &whole, form: Form::Whole, position: first, start, end });
        }
        Component { whole, first, start, end, is_before_dot: false }
    }

    /// Takes the whole of several components.
    fn wholes(&mut self, start: usize, components: &[Component]) {
        let [.., before, last] = components else { return };
        let end = last.end;
        let is_number = |component: &Component| component.whole.starts_with(|c: char| c.is_ascii_digit());
        let version = components.iter().map(|component| component.whole.trim_start_matches('v')).collect::<Vec<_>>();
        if components.iter().skip(1).all(is_number) && version[0].starts_with(|c: char| c.is_ascii_digit()) {
            self.whole(&version.join("."), components[0].first, start..end);
            return;
        }
        for pair in components.windows(2) {
            let [name, extension] = pair else { continue };
            if name.is_before_dot {
                let whole = format!("{}{}", name.whole, extension.whole);
                self.whole(&whole, name.first, name.start..extension.end);
            }
        }
        if components.len() > 2 || !before.is_before_dot {
            let all: String = components.iter().map(|component| component.whole.as_str()).collect();
            self.whole(&all, components[0].first, start..end);
        }
    }

    fn whole(&mut self, text: &str, position: usize, Range { start, end }: Range<usize>) {
        if text.len() <= LONGEST {
            (self.take)(Piece { text, form: Form::Whole, position, start, end });
        }
    }
}

/// A component of a path, a version or a qualified name.
struct Component {
    /// Its parts, joined.
    whole: String,
    /// The position of its first part.
    first: usize,
    start: usize,
    end: usize,
    is_before_dot: bool,
}

/// Returns the length of the separator that joins two words here; 0 if there is none.
fn joint(text: &str) -> usize {
    let length = if text.starts_with("::") || text.starts_with("->") { 2 } else { 1 };
    let is_joint = text.starts_with(['.', '/', '\\', ':']) || length == 2;
    let goes_on =
        text.get(length..).and_then(|rest| rest.chars().next()).is_some_and(|c| is_word(c) && !is_without_spaces(c));
    if is_joint && goes_on { length } else { 0 }
}

/// Returns the ranges of the parts of an identifier, which are separated by `_`, `-` and changes of case.
fn part_ranges(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_separator = matches!(c, '_' | '-');
        let begins = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase() || (before.is_uppercase() && next.is_some_and(char::is_lowercase))
            });
        if (is_separator || begins) && at > start {
            ranges.push((start, at));
            start = at;
        }
        if is_separator {
            start = at + c.len_utf8();
        }
        before = Some(c);
    }
    if start < text.len() {
        ranges.push((start, text.len()));
    }
    ranges
}

/// Returns whether a character belongs to a script that does not separate words by spaces.
pub(crate) fn is_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'           // Thai, Lao
        | '\u{1000}'..='\u{1049}' | '\u{104c}'..='\u{109f}' // Myanmar, with the signs that join letters
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{1780}'..='\u{17d3}' | '\u{17d7}' | '\u{17db}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}' // Khmer, likewise
        | '\u{3005}' | '\u{3007}'
        | '\u{3040}'..='\u{30ff}'       // Hiragana, Katakana
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{9fff}'       // Han
        | '\u{ac00}'..='\u{d7af}'       // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
        && c != '・'
        && c != '゠'
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{plain_word, split_with};

    proptest! {
        /// Rows are removed from the index by the terms that they were added with, so the terms must not change.
        #[test]
        fn a_plain_word_is_what_a_closer_look_makes_of_it(
            text in "([a-zA-Z0-9]{1,6}|[ .,:/\\\\_'>é\u{301}あ\n-]){0,24}"
        ) {
            let pieces = |plain: fn(&[u8], usize) -> Option<usize>| {
                let mut all = Vec::new();
                split_with(&text, |piece| {
                    all.push((piece.text.to_owned(), piece.form, piece.position, piece.start, piece.end));
                }, plain);
                all
            };
            prop_assert_eq!(pieces(plain_word), pieces(|_, _| None));
        }
    }
}
