//! The sentences of a reply, without code, headings, tables, quotations and items that are left to do.

use crate::left_to_do::{heading, is_item, unmarked};

/// Returns the sentences of a text, in order. An item of a list is a separate sentence.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    let (mut in_code, mut under_heading, mut is_first) = (false, false, false);
    for line in text.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= is_fence;
        let is_prose = !in_code && !is_fence && !line.is_empty() && !line.starts_with(['#', '|', '>']);
        if !line.is_empty() && heading(line).is_some() {
            (under_heading, is_first) = (true, true);
            split(&mut paragraph, &mut found);
            continue;
        }
        if under_heading && !line.is_empty() {
            under_heading = is_item(line) || std::mem::take(&mut is_first);
        }
        if !is_prose || under_heading || is_box(line) {
            split(&mut paragraph, &mut found);
            continue;
        }
        if is_item(line) {
            split(&mut paragraph, &mut found);
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(unmarked(line));
    }
    split(&mut paragraph, &mut found);
    found
}

/// Returns whether a line is an item with a checkbox.
fn is_box(line: &str) -> bool {
    let item = line.trim_start_matches(['-', '*', '+', ' ']);
    ["[ ]", "[x]", "[X]", "☐", "☑", "☒", "✅"].iter().any(|mark| item.starts_with(mark))
}

/// Splits a paragraph into sentences.
fn split(paragraph: &mut String, found: &mut Vec<String>) {
    let text = std::mem::take(paragraph).replace("**", "");
    let (mut start, mut in_code) = (0, false);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '`' => {
                in_code = !in_code;
                false
            }
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => !in_code && ends_sentence(&text[start..at], &text[end..]),
            _ => false,
        };
        if is_end {
            push(&text[start..end], found);
            start = end;
        }
    }
    push(&text[start..], found);
}

/// Returns whether a full stop between two texts ends a sentence: not in `e.g. this`, `St. Mary`, `1.5` or `a.rs`.
fn ends_sentence(before: &str, after: &str) -> bool {
    let Some(next) = after.trim_start().chars().next() else { return true };
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let letters = word.chars().take_while(|c| c.is_alphabetic()).count();
    let is_whole = letters == word.chars().count();
    let is_short = is_whole && (letters == 1 || (letters == 2 && word.starts_with(char::is_uppercase)));
    after.starts_with(char::is_whitespace) && !next.is_lowercase() && !is_short
}

fn push(sentence: &str, found: &mut Vec<String>) {
    let sentence = sentence.trim();
    if sentence.chars().any(char::is_alphanumeric) {
        found.push(sentence.to_owned());
    }
}
