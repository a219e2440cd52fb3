//! Reads JSON text that may have been cut, without building a tree.

use memchr::memchr;

/// Returns the position of the closing quote of the string whose content begins at `start`.
pub(crate) fn string_end(text: &str, start: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let quote = from + memchr(b'"', text.as_bytes().get(from..)?)?;
        let escapes = text.as_bytes()[start..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(quote);
        }
        from = quote + 1;
    }
}

/// Returns whether the text after a string makes it the key of an object.
pub(crate) fn is_key(after: &str) -> bool {
    after.trim_start_matches([' ', '\t', '\r', '\n']).starts_with(':')
}

/// Returns the content of a JSON string as text.
///
/// Never fails: half of a surrogate pair becomes a replacement character, an incomplete escape is dropped.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let Some(sign) = escape.chars().next() else { return text };
        rest = &escape[sign.len_utf8()..];
        match sign {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => rest = unescape_unicode(rest, &mut text),
            other => text.push(other),
        }
    }
    text.push_str(rest);
    text
}

/// Parses the digits after `\u`, and the second half of a surrogate pair. Returns the rest.
fn unescape_unicode<'a>(rest: &'a str, text: &mut String) -> &'a str {
    let Some(unit) = hex(rest) else { return rest };
    let rest = &rest[4..];
    let low = rest.strip_prefix("\\u").and_then(hex).filter(|low| (0xdc00..0xe000).contains(low));
    match (unit, low) {
        (0xd800..0xdc00, Some(low)) => {
            let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            &rest["\\u".len() + 4..]
        }
        _ => {
            text.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest
        }
    }
}

fn hex(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}
