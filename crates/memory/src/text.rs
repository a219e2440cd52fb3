//! Text for people: one line, or a few, without control characters.

use std::borrow::Cow;

use longhaul_core::text::{cut_middle, visible};

/// Returns a text without control characters, terminal sequences and invisible characters; line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => cleaned.push(c),
            // A progress bar returns to the start of the line.
            '\r' if chars.peek() != Some(&'\n') => cleaned.push('\n'),
            '\u{1b}' => skip_sequence(&mut chars),
            c if c.is_control() => {}
            c => cleaned.push(c),
        }
    }
    match visible(&cleaned) {
        Cow::Borrowed(_) => cleaned,
        Cow::Owned(shown) => shown,
    }
}

/// Skips the rest of a terminal sequence after its escape character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
            chars.next_if(|c| ('@'..='~').contains(c));
        }
        Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {},
        Some('(' | ')') => {
            chars.next();
            chars.next_if(char::is_ascii_alphanumeric);
        }
        _ => {}
    }
}

/// Returns a text as one line of at most `chars` characters.
pub(crate) fn one_line(text: &str, chars: usize) -> String {
    // A limit above the visible length, so that a long text does not cost more than a short one.
    let start = first_chars(text, chars.saturating_mul(3).max(1_000));
    let is_cut = !text[start.len()..].trim().is_empty();
    let line = longhaul_core::one_line(&clean(start), chars);
    if is_cut && !line.ends_with('…') { longhaul_core::one_line(&format!("{line}…"), chars) } else { line }
}

fn first_chars(text: &str, chars: usize) -> &str {
    match text.as_bytes().get(..chars) {
        Some(start) if start.is_ascii() => &text[..chars],
        Some(_) => text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end]),
        None => text,
    }
}

/// Returns a text of at most `chars` characters, cut in the middle.
pub(crate) fn passage(text: &str, chars: usize) -> String {
    cut_middle(clean(text).trim(), chars)
}

/// Returns at most `lines` lines that are not empty.
pub(crate) fn first_lines(text: &str, lines: usize) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(lines).collect::<Vec<_>>().join(" ")
}

/// Returns a count with its noun: `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let number_text = longhaul_core::grouped(number);
    if number == 1 { format!("{number_text} {noun}") } else { format!("{number_text} {noun}s") }
}
