//! Cutting a long text in the middle: its beginning and its end stay, with a note between them.
//!
//! A cut parts no character, no escape of a JSON string (`\n`, `\u00e9`), and no character from the marks that belong to
//! it (accents, skin tones, joined emoji).

use crate::grouped;

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
