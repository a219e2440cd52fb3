//! Finds secrets in text by their shape or by the name before them, and replaces them.
//!
//! The text is searched as a reader would see it: escapes, terminal sequences and encodings are decoded first. Of a
//! long text, the two ends are found without reading the text in between.

mod assignments;
mod base64_runs;
mod command_options;
mod decoded_view;
mod names;
mod places;
mod scanner;
mod shapes;
mod values;

use std::borrow::Cow;

use longhaul_core::text::{cut_middle, join_ends};
use memchr::memmem;

use self::decoded_view::DecodedView;
use self::scanner::{Secret, SecretKind};
use crate::key_block;

pub use self::command_options::{redact_command, redact_input_commands};

pub(crate) const REDACTED: &str = "[redacted]";

/// Returns `text` with every recognised secret replaced by `[redacted]`.
///
/// The text may be plain or JSON. A replaced range never contains a quote that ends a JSON string, nor a part of an
/// escape, so valid JSON stays valid. The time is linear in the length of the text.
pub fn redact(text: &str) -> Cow<'_, str> {
    let view = DecodedView::of(text);
    let mut secrets = secrets_in(view.bytes());
    for secret in &mut secrets {
        (secret.start, secret.end) = (view.start(secret.start), view.end(secret.end));
    }
    let escaped = scanner::escaped_secrets(text.as_bytes());
    if !escaped.is_empty() {
        secrets.extend(escaped);
        secrets.sort_by_key(|secret| secret.start);
    }
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        // Two adjacent encoded secrets share a group of characters, so that the second begins inside the first.
        // Where a limit has cut a secret, it goes on to the end of the character.
        let (start, end) = (text.floor_char_boundary(secret.start).max(copied), text.ceil_char_boundary(secret.end));
        if start >= end {
            continue;
        }
        kept.push_str(&text[copied..start]);
        match secret.kind {
            SecretKind::Run => kept.push_str(REDACTED),
            SecretKind::KeyBlock => key_block::hide(&text[start..end], &mut kept),
        }
        copied = end;
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// Returns the secrets of decoded text in the order of their starts.
fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    let mut secrets = scanner::scan(bytes);
    let mut others = base64_runs::secrets_in(bytes);
    others.extend(places::secrets_in(bytes));
    if !others.is_empty() {
        secrets.extend(others);
        secrets.sort_by_key(|secret| (secret.start, std::cmp::Reverse(secret.end)));
    }
    secrets
}

/// Number of bytes that are read beyond the part that is kept, because a name may precede its secret.
const MARGIN: usize = 4 * 1024;

/// Number of characters that must remain beyond the part that is kept, because a secret may extend over the border.
const SPARE: usize = 2 * 1024;

/// Maximum length of a secret. A private key, which has several lines, is found separately.
const LONGEST: usize = 64 * 1024;

/// The first line of a private key. Any of them hides the lines of the key that follow.
const OPENING: &str = "-----BEGIN PRIVATE KEY-----\n";

/// Returns the result of [`cut_middle`] after [`redact`], at a cost that depends only on the part that is kept.
///
/// A word at the border of the part that is read is read as a whole, because half of a secret could not be recognised.
pub fn redacted_ends(text: &str, max: usize) -> String {
    // Most texts have one byte per character and few secrets, so that a small part is enough.
    ends_within(text, max, max + MARGIN, SPARE)
        // A character has at most four bytes.
        .or_else(|| ends_within(text, max, 4 * max + MARGIN, 0))
        .unwrap_or_else(|| cut_middle(&redact(text), max))
}

/// Returns the two ends, from `reach` bytes each; `None` if that is the whole text, or if less than `spare` characters
/// remain beyond the part that is kept.
fn ends_within(text: &str, max: usize, reach: usize, spare: usize) -> Option<String> {
    let head_end = border_after(text, reach);
    let tail_start = text.len().checked_sub(reach).map_or(0, |at| border_before(text, at));
    if head_end >= tail_start {
        return None;
    }
    let head = redact(&text[..head_end]);
    let tail = &text[tail_start..];
    let tail = match is_inside_key(&text[..tail_start]) {
        true => {
            let redacted = redact(&format!("{OPENING}{tail}")).into_owned();
            // The line that opens a key stays where no line of a key follows.
            redacted.strip_prefix(OPENING).map(str::to_owned).unwrap_or(redacted)
        }
        false => redact(tail).into_owned(),
    };
    let is_enough = |end: &str| spare == 0 || end.chars().nth(max / 3 * 2 + spare).is_some();
    (is_enough(&head) && is_enough(&tail))
        .then(|| join_ends(&head, &tail, text[head_end..tail_start].chars().count(), max))
}

/// Returns the end of the run of characters around `at`, or a position inside it if it is longer than any secret.
fn border_after(text: &str, at: usize) -> usize {
    let last = text.ceil_char_boundary(at.saturating_add(LONGEST));
    let run = text.as_bytes().get(at..last).unwrap_or_default();
    run.iter().position(|byte| is_border(*byte)).map_or(last, |length| at + length)
}

/// Returns the start of the run of characters around `at`, or a position inside it if it is longer than any secret.
fn border_before(text: &str, at: usize) -> usize {
    let first = text.floor_char_boundary(at.saturating_sub(LONGEST));
    text.as_bytes()[first..at].iter().rposition(|byte| is_border(*byte)).map_or(first, |back| first + back)
}

/// Returns whether no secret contains this byte. It is also the start of a character.
fn is_border(byte: u8) -> bool {
    matches!(byte, b' ' | b'"' | b',' | b'\n' | b'\t' | b'{' | b'}' | b'(' | b')' | b'<' | b'>')
}

/// Returns whether a text ends inside a private key.
fn is_inside_key(text: &str) -> bool {
    let mut ends = memmem::find_iter(text.as_bytes(), "PRIVATE KEY");
    let last = ends.by_ref().last();
    last.is_some_and(|at| {
        let line = &text.as_bytes()[at.saturating_sub(80)..at];
        memmem::rfind(line, b"-----BEGIN ") > memmem::rfind(line, b"-----END ")
    })
}
