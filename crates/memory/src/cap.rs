//! Text that is too long: its beginning and its end stay, and the cut is said.

/// How much of a tool's input is kept, in characters.
pub const INPUT_CHARS: usize = 4_096;

/// How much of a tool's response is kept, in characters.
pub const RESPONSE_CHARS: usize = 16_384;

/// How much is kept of a prompt or a reply, in characters, wherever it is stored.
pub const SAID_CHARS: usize = 16_384;

/// Returns `text` in at most `max` characters, cut in the middle with a note of how many are missing.
///
/// Two thirds of what stays are the beginning. Neither a character nor an escape of JSON is cut.
pub fn cap(text: &str, max: usize) -> String {
    // No text has more characters than bytes, and most are short.
    let total = if text.len() <= max { 0 } else { text.chars().count() };
    if total <= max {
        return text.to_owned();
    }
    let half = text.char_indices().nth(total / 2).map_or(0, |(at, _)| at);
    // What is cut lies in the middle, but no escape may be parted there.
    let half = escape_over(text, half).map_or(half, |(start, _)| start);
    cut(&text[..half], &text[half..], 0, max)
}

/// Returns the beginning of `head` and the end of `tail`, in at most `max` characters; `between` were left out before.
pub(crate) fn cut(head: &str, tail: &str, between: usize, max: usize) -> String {
    let total = head.chars().count() + between + tail.chars().count();
    let Some(room) = max.checked_sub(note(total).chars().count()) else {
        return head.chars().take(max).collect();
    };
    let last = room / 3;
    let head_end = head.char_indices().nth(room - last).map_or(head.len(), |(at, _)| at);
    let tail_start = last.checked_sub(1).and_then(|last| tail.char_indices().nth_back(last)).map_or(0, |(at, _)| at);
    let tail_start = if last == 0 { tail.len() } else { tail_start };
    let head_end = escape_over(head, head_end).map_or(head_end, |(start, _)| start);
    let tail_start = escape_over(tail, tail_start).map_or(tail_start, |(_, end)| end);
    let shown = head[..head_end].chars().count() + tail[tail_start..].chars().count();
    format!("{}{}{}", &head[..head_end], note(total - shown), &tail[tail_start..])
}

fn note(missing: usize) -> String {
    format!(" {NOTE_START}{} characters left out …] ", grouped(missing as u64))
}

/// What a note of a cut begins with, so that a reader can find it.
pub(crate) const NOTE_START: &str = "[… ";

/// Returns a number with commas, for people.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut grouped = digits[..first].to_owned();
    for start in (first..digits.len()).step_by(3) {
        grouped.push_str(if grouped.is_empty() { "" } else { "," });
        grouped.push_str(&digits[start..start + 3]);
    }
    grouped
}

/// Returns where the escape that a cut at `at` would part begins and ends.
fn escape_over(text: &str, at: usize) -> Option<(usize, usize)> {
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
