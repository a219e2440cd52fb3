//! Texts for people and for models: how a long one is cut, how numbers are written, what is invisible, how much fits.
//!
//! A text that is cut in the middle keeps its beginning and its end, with a note between them. A cut parts no character, no
//! escape of a JSON string (`\n`, `\u00e9`), and no character from the marks that belong to it (accents, skin tones, joined
//! emoji).

use std::borrow::Cow;
use std::error::Error;

/// The beginning of the note that stands where text was left out.
pub const NOTE_START: &str = "[… ";

/// Returns `text` in at most `chars` characters, cut in the middle, with a note of how many characters are missing.
///
/// Two thirds of what stays are the beginning. Where not even the note fits, the first `chars` characters are returned.
pub fn cut_middle(text: &str, chars: usize) -> String {
    // A text has no more characters than bytes, and most texts are short: those are not counted.
    let total = if text.len() <= chars { 0 } else { text.chars().count() };
    if total <= chars {
        return text.to_owned();
    }
    join(text, text, total, chars)
}

/// Returns the beginning of `head` and the end of `tail` in at most `chars` characters, with a note between them.
///
/// `between` is the number of characters that stood between the two and have been left out already.
pub fn join_ends(head: &str, tail: &str, between: usize, chars: usize) -> String {
    join(head, tail, head.chars().count() + between + tail.chars().count(), chars)
}

fn join(head: &str, tail: &str, total: usize, chars: usize) -> String {
    // The length of the note depends on the number in it: reserve room for the longest.
    let Some(room) = chars.checked_sub(note(total).chars().count()) else {
        return head.chars().take(chars).collect();
    };
    let tail_chars = room / 3;
    let head_end = head.char_indices().nth(room - tail_chars).map_or(head.len(), |(at, _)| at);
    let tail_start = tail.char_indices().rev().take(tail_chars).last().map_or(tail.len(), |(at, _)| at);
    let (head, tail) = (&head[..back_to_border(head, head_end)], &tail[on_to_border(tail, tail_start)..]);
    let missing = total - head.chars().count() - tail.chars().count();
    format!("{head}{}{tail}", note(missing))
}

fn note(missing: usize) -> String {
    format!(" {NOTE_START}{} characters left out …] ", grouped(missing as u64))
}

/// Moves a cut back to the nearest place where it parts nothing.
fn back_to_border(text: &str, mut at: usize) -> usize {
    loop {
        let moved = match escape_around(text, at) {
            Some((start, _)) => start,
            None if is_inside_cluster(text, at) => text.floor_char_boundary(at - 1),
            None => return at,
        };
        at = moved;
    }
}

/// Moves a cut forward to the nearest place where it parts nothing.
fn on_to_border(text: &str, mut at: usize) -> usize {
    loop {
        let moved = match escape_around(text, at) {
            Some((_, end)) => end,
            None if is_inside_cluster(text, at) => text.ceil_char_boundary(at + 1),
            None => return at,
        };
        at = moved;
    }
}

/// Returns whether the characters before and after `at` are shown as one.
fn is_inside_cluster(text: &str, at: usize) -> bool {
    let (before, after) = (text[..at].chars().next_back(), text[at..].chars().next());
    before.is_some_and(|before| after.is_some_and(joins) || (before == '\u{200d}' && after.is_some()))
}

/// Returns whether a character changes the one before it: combining marks, joiners, variation selectors, skin tones.
fn joins(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns the beginning and the end of the JSON escape that a cut at `at` would part.
fn escape_around(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let starts = (at.saturating_sub(5)..at).filter(|start| bytes[*start] == b'\\' && begins_escape(bytes, *start));
    starts.map(|start| (start, escape_end(text, start))).find(|(_, end)| *end > at)
}

/// Returns the end of the escape whose backslash is at `start`.
fn escape_end(text: &str, start: usize) -> usize {
    let escape = &text[start + 1..];
    let is_unicode = escape.starts_with('u')
        && escape.get(1..5).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    start + 1 + if is_unicode { 5 } else { escape.chars().next().map_or(0, char::len_utf8) }
}

/// Returns whether the backslash at `at` is not itself escaped.
fn begins_escape(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0
}

// Texts as one line of limited length.

/// Returns a text as one line of at most `chars` characters.
///
/// Every run of white space becomes one space. A text that is longer is cut and ends in `…`. The cost does not grow with the
/// part that is cut off.
pub fn one_line(text: &str, chars: usize) -> String {
    if text.len() <= chars && is_plain_line(text) {
        return text.to_owned();
    }
    let mut line = String::new();
    let mut left = chars;
    for (index, word) in text.split_whitespace().enumerate() {
        let gap = usize::from(index > 0);
        let length = word.chars().take(left.saturating_add(1)).count() + gap;
        if length > left {
            let kept = left.saturating_sub(gap + 1);
            line.push_str(if kept > 0 && gap > 0 { " " } else { "" });
            line.extend(word.chars().take(kept));
            line.push('…');
            return line.chars().take(chars).collect();
        }
        line.push_str(if gap > 0 { " " } else { "" });
        line.push_str(word);
        left -= length;
    }
    line
}

/// Returns whether a text is ASCII words with one space between them. Most texts are, and need no second look.
fn is_plain_line(text: &str) -> bool {
    let mut before = b' ';
    let is_plain = text.bytes().all(|byte| {
        let is_word = byte.is_ascii_graphic() || (byte == b' ' && before != b' ');
        before = byte;
        is_word
    });
    is_plain && (text.is_empty() || before != b' ')
}

/// Returns an error and its causes on one line, with a colon between them.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

// Numbers as text: `2 files`, `1,234,567`.

/// Returns a number with the name of what is counted: `1 turn`, `2 turns`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a number with a comma after every three digits: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut grouped = digits[..first].to_owned();
    for start in (first..digits.len()).step_by(3) {
        grouped.push_str(if grouped.is_empty() { "" } else { "," });
        grouped.push_str(&digits[start..start + 3]);
    }
    grouped
}

// Characters that a model reads and a user does not see.

/// Returns whether a character is not shown: one of Unicode's property `Default_Ignorable_Code_Point`, such as joiners,
/// direction marks, variation selectors, fillers and tag characters, or a mark of an annotation between lines.
///
/// Letters may be spelled with tag characters, and bytes with variation selectors, so text can be hidden in them.
pub fn is_invisible(c: char) -> bool {
    // There is none before the soft hyphen, so most text takes one comparison for each character.
    c >= '\u{ad}'
        && matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns `text` without invisible characters, except those that the characters beside them need: a joiner between
/// letters or emoji of a script that joins, and the selector after a character that is shown as an emoji or as text.
///
/// At most one is kept in each place, so that no text can be hidden in a row of them.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !is_invisible(c) || is_needed(before, c, chars.peek().copied()) {
            shown.push(c);
            before = Some(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether the characters beside an invisible one look different without it.
fn is_needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let joins = |c: char| !c.is_ascii() && !c.is_whitespace() && !c.is_control();
    match c {
        // After a joiner or before another invisible character, it would be the second in its place.
        '\u{200c}' | '\u{200d}' => {
            let follows = joins(before) && !matches!(before, '\u{200c}' | '\u{200d}');
            follows && after.is_some_and(|after| joins(after) && !is_invisible(after))
        }
        '\u{fe0e}' | '\u{fe0f}' if matches!(before, '#' | '*' | '0'..='9') => after == Some('\u{20e3}'),
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(before),
        _ => false,
    }
}

/// Returns whether a character is in a block whose characters may be shown as emoji.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
        || matches!(c, '\u{1f000}'..='\u{1faff}')
}

// How much text fits, in characters and in tokens.

/// The number of characters that one hook reply may inject. Claude Code cuts injected text at 10,000.
pub const CONTEXT_CHARS: usize = 9_500;

/// The number of characters that count as one token, in every estimate.
pub const CHARS_PER_TOKEN: usize = 4;

/// Returns an estimate of the tokens in `text`.
pub fn tokens(text: &str) -> u64 {
    tokens_of_chars(text.chars().count() as u64)
}

/// Returns an estimate of the tokens in a text of `chars` characters, rounded up.
pub const fn tokens_of_chars(chars: u64) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN as u64)
}

/// Returns the number of characters that `tokens` tokens hold.
pub const fn chars_of_tokens(tokens: u64) -> u64 {
    tokens.saturating_mul(CHARS_PER_TOKEN as u64)
}

/// Formats a token count compactly: `950`, `12k`, `1.5M`.
pub fn round_tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_500 => format!("{}k", (count + 500) / 1_000),
        _ => format!("{:.1}M", count as f64 / 1_000_000.0).replace(".0M", "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped, one_line};

    #[test]
    fn white_space_becomes_one_space_and_a_long_text_is_cut() {
        for (text, chars, expected) in [
            (" one\n\ttwo  three ", 20, "one two three"),
            ("one two three", 13, "one two three"),
            ("one two three", 12, "one two thr…"),
            ("one two three", 8, "one two…"),
            ("one two three", 9, "one two…"),
            ("ありがとう ございます", 7, "ありがとう…"),
            ("anything", 0, ""),
            ("anything", 4, "any…"),
            (" \n ", 5, ""),
            ("no limit at all", usize::MAX, "no limit at all"),
            ("", 5, ""),
            ("ends in a space ", 20, "ends in a space"),
            (" begins with one", 20, "begins with one"),
            ("two  spaces", 20, "two spaces"),
            ("a\u{a0}b", 20, "a b"),
        ] {
            let line = one_line(text, chars);
            assert_eq!(line, expected, "{text:?} in {chars}");
            assert!(line.chars().count() <= chars, "{text:?} in {chars}");
        }
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "turn")), ["0 turns", "1 turn", "2 turns"]);
    }

    #[test]
    fn numbers_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
