//! Private key blocks, in plain text and in the strings of a document.

use crate::json::{is_key, string_end};
use crate::redact::REDACTED;

/// The dashes around the lines that open and close a key, of PEM and of SSH2.
const DASHES: [(&[u8], &[u8]); 2] = [(b"-----", b"-----"), (b"---- ", b" ----")];

/// Maximum length of the kind of key that a block names: `ENCRYPTED`, `PGP`, `OPENSSH` and similar.
const LABEL_BYTES: usize = 60;

/// Lines of at least this length are lines of a key, whatever follows.
const LONG_LINE: usize = 16;

/// The longest beginning of a line that a program has put before it: a file's name, a number.
const LEAD_BYTES: usize = 200;

/// The fields that may stand above the lines of a key.
const FIELDS: [&[u8]; 7] = [b"Proc-Type", b"DEK-Info", b"Version", b"Comment", b"Hash", b"Charset", b"Subject"];

/// Returns the private key block that begins at `at`: up to the line that closes it, or else to the last line that can be
/// one of a key.
///
/// A text that only mentions the first line has no key.
pub(crate) fn range(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let body = at + header(&text[at..], b"BEGIN ")?;
    key_end(text, body).map(|end| (at, end))
}

/// Returns where the key ends whose lines begin at `at`, behind its first line; `None` if there is no line of a key.
pub(crate) fn key_end(text: &[u8], mut at: usize) -> Option<usize> {
    /// The most fields above the lines of a key.
    const FIELDS_AT_MOST: usize = 20;

    let (mut end, mut fields) = (None, 0);
    loop {
        at += lead(text, at);
        if let Some(length) = header(&text[at..], b"END ") {
            return Some(at + length);
        }
        if let Some(length) = field(&text[at..]).filter(|_| fields < FIELDS_AT_MOST) {
            at += length;
            fields += 1;
            continue;
        }
        let line = &text[at..];
        let length = line.iter().take_while(|byte| is_base64(**byte)).count();
        let behind = line[length..].first();
        // Words are followed by a space or a sign.
        let is_alone =
            !behind.is_some_and(|byte| matches!(byte, b' ' | b'.' | b':' | b';' | b'(' | b')' | b'/' | b'!' | b'?'));
        let is_word = line[..length].iter().skip(1).all(u8::is_ascii_lowercase);
        if length >= LONG_LINE || (is_alone && length >= 4 && !is_word) {
            end = Some(at + length);
        } else if length == 0 || !is_alone || length > 8 {
            return end;
        }
        at += length;
    }
}

/// Returns the length of what stands between two lines of a key: line breaks, also as escapes, quotes and commas, the
/// signs of a patch, and the name and number that a search prints.
fn lead(text: &[u8], at: usize) -> usize {
    let rest = &text[at..];
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,[]|>\\#".contains(byte);
    let mut length = rest.iter().take_while(|byte| is_between(byte)).count();
    // `\n` may be spelled out twice.
    while length > 0 && rest[length - 1] == b'\\' && matches!(rest.get(length), Some(b'n' | b'r')) {
        length += 1;
        length += rest[length..].iter().take_while(|byte| is_between(byte)).count();
    }
    let has_break = at == 0 || rest[..length].iter().any(|byte| matches!(byte, b'\n' | b'"'));
    if !has_break {
        return length;
    }
    let line = &rest[length..rest.len().min(length + LEAD_BYTES)];
    let line = &line[..line.iter().position(|byte| matches!(byte, b'\n' | b'"')).unwrap_or(line.len())];
    let lead = numbered(line);
    length
        + lead
        + if lead > 1 { line[lead..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count() } else { 0 }
}

/// Returns the length of the sign, the number, or the name and number before a line.
fn numbered(line: &[u8]) -> usize {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let number = line.iter().take_while(is_digit).count();
    if number > 0 && line.get(number).is_some_and(|byte| matches!(byte, b'\t' | b':' | b' ' | b'|')) {
        return number + 1;
    }
    for (at, _) in line.iter().enumerate().filter(|(_, byte)| matches!(byte, b':' | b'-')) {
        let digits = line[at + 1..].iter().take_while(is_digit).count();
        if digits > 0 && line.get(at + 1 + digits) == Some(&line[at]) && at > 0 {
            return at + digits + 2;
        }
    }
    // The sign of a patch stands before the dashes or the letters of a line.
    let is_sign = matches!(line, [b'+', ..] | [b'-', b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9', ..])
        || (line.starts_with(b"------") && !line.starts_with(b"-------"));
    usize::from(is_sign)
}

/// Returns the length of a line with a field, `DEK-Info: …`.
fn field(line: &[u8]) -> Option<usize> {
    let name = FIELDS.iter().find(|name| line.starts_with(name) && line.get(name.len()) == Some(&b':'))?;
    let rest = &line[name.len()..];
    let quoted = rest.starts_with(b": \"") || rest.starts_with(b": \"\"");
    let end = rest.iter().take(LEAD_BYTES).position(|byte| *byte == b'\n' || (*byte == b'"' && !quoted));
    Some(name.len() + end.unwrap_or(rest.len().min(LEAD_BYTES)))
}

/// Returns the length of the line that opens or closes a private key; `word` is `BEGIN ` or `END `.
fn header(text: &[u8], word: &[u8]) -> Option<usize> {
    let (before, behind) = DASHES.iter().find(|(before, _)| text.starts_with(before))?;
    let label = text[before.len()..].strip_prefix(word)?;
    let length = label
        .iter()
        .take(LABEL_BYTES)
        .take_while(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9'))
        .count();
    let name = label[..length].trim_ascii_end();
    let is_private = [&b"PRIVATE KEY"[..], b"PRIVATE KEY BLOCK"].iter().any(|kind| name.ends_with(kind));
    let closes = label[name.len()..].starts_with(behind);
    (is_private && closes).then_some(before.len() + word.len() + name.len() + behind.len())
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Appends a replacement for a block: one mark, and another one for every further string that it extends into.
///
/// A patch has a string for every line, so the quotes, keys and other text between the strings of a document are kept.
pub(crate) fn hide(block: &str, kept: &mut String) {
    kept.push_str(REDACTED);
    // In plain text this is only a quote after the key, which contains none.
    let mut rest = match string_end(block, 0) {
        Some(quote) => &block[quote..],
        None => return,
    };
    while let Some(string) = rest[1..].find('"').map(|quote| &rest[quote + 2..]) {
        kept.push_str(&rest[..rest.len() - string.len()]);
        let Some(quote) = string_end(string, 0) else {
            kept.push_str(REDACTED);
            return;
        };
        kept.push_str(if is_key(&string[quote + 1..]) { &string[..quote] } else { REDACTED });
        rest = &string[quote..];
    }
    kept.push_str(rest);
}
