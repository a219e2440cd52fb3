//! Reads JSON text that may have been cut, without building a tree; and single fields of a tool's input or response.

use longhaul_core::text::NOTE_START;
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

/// JSON text whose fields are read one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a str);

/// A string of the document.
struct Token<'a> {
    inside: &'a str,
    after: &'a str,
    depth: usize,
    is_key: bool,
}

impl<'a> Fields<'a> {
    /// Returns the text of a field; `None` for a number or a list.
    pub(crate) fn text(self, key: &str) -> Option<String> {
        self.value(key)?.strip_prefix('"').map(|value| unescape(inside(value))).filter(|text| !text.trim().is_empty())
    }

    /// Returns the text of the first of these fields that has one.
    pub(crate) fn first_text(self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    pub(crate) fn number(self, key: &str) -> Option<u64> {
        let value = self.value(key)?;
        let digits = value.bytes().take_while(u8::is_ascii_digit).count();
        value[..digits].parse().ok()
    }

    pub(crate) fn flag(self, key: &str) -> bool {
        self.value(key).is_some_and(|value| value.starts_with("true"))
    }

    /// Returns the object in a field; an empty one if there is none.
    pub(crate) fn object(self, key: &str) -> Self {
        Self(self.value(key).filter(|value| value.starts_with('{')).unwrap_or("{}"))
    }

    pub(crate) fn list(self, key: &str) -> Vec<String> {
        let Some(list) = self.value(key).filter(|value| value.starts_with('[')) else { return Vec::new() };
        tokens(list).take_while(|token| token.depth > 0).map(|token| unescape(token.inside)).collect()
    }

    /// Returns the text of every field of this name, at any depth.
    pub(crate) fn every(self, key: &str) -> Vec<String> {
        let values = tokens(self.0).filter(|token| token.is_key && token.inside == key).map(|token| value(token.after));
        values.filter_map(|value| value.strip_prefix('"').map(|value| unescape(inside(value)))).collect()
    }

    /// Returns the readable text of a response of any shape.
    pub(crate) fn said(self) -> String {
        let raw = self.0.trim();
        if let Some(text) = raw.strip_prefix('"') {
            return unescape(inside(text));
        }
        let text = self.first_text(&["result", "content", "text", "message", "output", "stdout", "error"]);
        let text = text.unwrap_or_else(|| self.every("text").join("\n"));
        if text.is_empty() && !matches!(raw, "{}" | "[]" | "null") { raw.to_owned() } else { text }
    }

    /// Returns the value of a field and everything after it.
    fn value(self, key: &str) -> Option<&'a str> {
        let is_it = |token: &Token<'_>| token.is_key && token.inside == key;
        let found = tokens(self.0).find(|token| token.depth == 1 && is_it(token));
        // After a cut, the depth is not known.
        let behind = || tokens(self.0).filter(|token| is_it(token)).last().filter(|token| self.is_behind_cut(token));
        found.or_else(behind).map(|token| value(token.after))
    }

    fn is_behind_cut(self, token: &Token<'_>) -> bool {
        self.0[..self.0.len() - token.after.len()].contains(NOTE_START)
    }
}

/// Returns the text after a key and its colon.
fn value(after: &str) -> &str {
    after.trim_start().trim_start_matches(':').trim_start()
}

/// Returns a string up to its end, or all of it if the end was cut.
fn inside(text: &str) -> &str {
    string_end(text, 0).map_or(text, |end| &text[..end])
}

/// Returns the strings of a document, in order.
fn tokens(json: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = json;
    let mut depth = 0_usize;
    std::iter::from_fn(move || {
        let quote = rest.find('"')?;
        for byte in rest[..quote].bytes() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        let inside = inside(&rest[quote + 1..]);
        let after = rest.get(quote + inside.len() + 2..).unwrap_or_default();
        rest = after;
        Some(Token { inside, after, depth, is_key: is_key(after) })
    })
}
