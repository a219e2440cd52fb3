//! The two ends of a long text, without secrets, and without reading all that lies between.

use longhaul_core::cut_text::{cut_middle, join_ends};
use memchr::memmem;

use crate::redact::redact;

/// How much is looked at beyond what is kept: a name may stand before its secret.
const MARGIN: usize = 4 * 1024;

/// How many characters beyond what is kept the shorter way must leave: a secret may reach over the border.
const SPARE: usize = 2 * 1024;

/// No secret is longer than this; a private key, which is made of lines, is found by other means.
const LONGEST: usize = 64 * 1024;

/// What opens a private key, in short: any will do to hide what follows up to its end.
const OPENING: &str = "-----BEGIN PRIVATE KEY-----";

/// Returns what [`cut_middle`] makes of a text after [`redact`], at the cost of what is kept.
///
/// Whatever reaches over a border of what is looked at is looked at whole: a secret would otherwise lose the half by which
/// it is known.
pub fn redacted_ends(text: &str, max: usize) -> String {
    // Most text is one byte a character and has few secrets, so that little of it is enough.
    ends_within(text, max, max + MARGIN, SPARE)
        // No character takes more than four bytes.
        .or_else(|| ends_within(text, max, 4 * max + MARGIN, 0))
        .unwrap_or_else(|| cut_middle(&redact(text), max))
}

/// Returns the two ends, made of `reach` bytes each; `None` where that is the whole text, or leaves less than `spare`
/// characters of an end beyond what is kept.
fn ends_within(text: &str, max: usize, reach: usize, spare: usize) -> Option<String> {
    let head_end = border_after(text, reach);
    let tail_start = text.len().checked_sub(reach).map_or(0, |at| border_before(text, at));
    if head_end >= tail_start {
        return None;
    }
    let head = redact(&text[..head_end]);
    let tail = &text[tail_start..];
    let tail = match is_inside_key(&text[..tail_start]) {
        true => redact(&format!("{OPENING}{tail}")).into_owned(),
        false => redact(tail).into_owned(),
    };
    let is_enough = |end: &str| spare == 0 || end.chars().nth(max / 3 * 2 + spare).is_some();
    (is_enough(&head) && is_enough(&tail))
        .then(|| join_ends(&head, &tail, text[head_end..tail_start].chars().count(), max))
}

/// Returns where the run of characters that `at` lies in ends, or some place in it where it is longer than any secret.
fn border_after(text: &str, at: usize) -> usize {
    let last = text.ceil_char_boundary(at.saturating_add(LONGEST));
    let run = text.as_bytes().get(at..last).unwrap_or_default();
    run.iter().position(|byte| is_border(*byte)).map_or(last, |length| at + length)
}

/// Returns where the run of characters that `at` lies in begins, or some place in it where it is longer than any secret.
fn border_before(text: &str, at: usize) -> usize {
    let first = text.floor_char_boundary(at.saturating_sub(LONGEST));
    text.as_bytes()[first..at].iter().rposition(|byte| is_border(*byte)).map_or(first, |back| first + back)
}

/// Returns whether no secret has this byte in its midst. It begins a character, too.
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
