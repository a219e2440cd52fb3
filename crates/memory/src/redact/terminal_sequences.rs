//! Sequences that colour a terminal's text or move its cursor, as bytes and as programs spell them.

use super::scanner;

/// A longer title of a terminal, or address of a link, is text like any other.
const LONGEST_TITLE: usize = 2_048;

/// How much of a text after a sequence is looked at for a secret, in bytes.
const LOOKED_AT: usize = 512;

/// How programs spell the escape character: `cat -v`, and strings of Python, C and the shell.
const SPELLINGS: [&[u8]; 6] = [b"^[", b"\\x1b", b"\\x1B", b"\\033", b"\\e", b"\\0033"];

/// Returns the length of a terminal sequence without its escape character; a quote ends it in any case.
///
/// `backslash` is how a backslash is written: an escape character and a backslash end a title.
pub(crate) fn sequence_length(rest: &[u8], backslash: &[u8]) -> usize {
    match rest.first() {
        Some(b'[') => 1 + control_sequence_length(&rest[1..]),
        Some(b']') => {
            let ends = |byte: &u8| matches!(byte, 0x07 | 0x1b | b'\n' | b'"' | b'\\');
            let title = rest.iter().take(LONGEST_TITLE).position(ends).unwrap_or_default();
            // A title or a link is stored as well, and may hold a secret itself.
            if scanner::scan(&rest[..title]).is_empty() { title } else { 0 }
        }
        Some(b'(' | b')') => {
            let has_charset = rest.get(1).is_some_and(u8::is_ascii_alphanumeric);
            let has_charset = has_charset && secret_around(&rest[1..], 0).is_none();
            1 + usize::from(has_charset)
        }
        Some(b'\\') if rest.starts_with(backslash) => backslash.len(),
        _ => 0,
    }
}

/// Returns the length of the parameters and the last letter of a control sequence.
pub(crate) fn control_sequence_length(rest: &[u8]) -> usize {
    let is_parameter = |byte: &u8| (0x20..0x40).contains(byte) && *byte != b'"';
    let parameters = rest.iter().take_while(|byte| is_parameter(byte)).count();
    let last = rest.get(parameters).copied().unwrap_or_default();
    // Without parameters only what programs really print is a sequence: a word may follow a stray escape.
    let is_last = if parameters == 0 { b"mKHJ".contains(&last) } else { (0x40..0x7f).contains(&last) };
    if !is_last || last == b'\\' {
        return parameters;
    }
    match secret_around(rest, parameters) {
        Some(start) => start,
        None => parameters + 1,
    }
}

/// Returns where the secret begins that the byte at `at` belongs to, which is then no part of a sequence.
///
/// Colours are not looked at: there may be thousands of them.
fn secret_around(rest: &[u8], at: usize) -> Option<usize> {
    if matches!(rest.get(at), None | Some(b'm' | b'K')) {
        return None;
    }
    let end = rest.len().min(at + LOOKED_AT);
    // A letter before it, as the last one of the parameters would be, hides the beginning of a secret.
    if scanner::scan(&rest[at..end]).first().is_some_and(|secret| secret.start == 0) {
        return Some(at);
    }
    let found = scanner::scan(&rest[..end]);
    found.into_iter().find(|secret| (secret.start..secret.end).contains(&at)).map(|secret| secret.start)
}

/// Returns the length of a colour that is spelled out, as `^[[01;31m` or `\x1b[K`.
///
/// Only what colours text or clears a line counts: `^[[:alpha:]]` is a pattern.
pub(crate) fn spelled_sequence_length(rest: &[u8]) -> Option<usize> {
    let spelling = SPELLINGS.iter().find(|spelling| rest.starts_with(spelling))?;
    let sequence = rest[spelling.len()..].strip_prefix(b"[")?;
    let parameters = sequence.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let is_colour = matches!(sequence.get(parameters), Some(b'm' | b'K'));
    is_colour.then_some(spelling.len() + 1 + parameters + 1)
}
