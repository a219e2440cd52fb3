//! Removes private text from the JSON of a tool.

use std::borrow::Cow;

use longhaul_core::private_tags::{Stripper, may_begin_tag, may_hold_tag, strip};
use memchr::{memchr, memchr_iter, memmem};

use crate::json::{is_key, string_end, unescape};

/// The replacement for text that is not valid JSON, because private text cannot be found in it.
const NOTHING: &str = "\"\"";

/// Returns JSON text without the private passages in its strings. It stays valid, and no tree is built.
///
/// A passage that is not closed in one string continues in the following ones, in the order of the document, because a
/// patch has one string for every line. After too many passages, every string value becomes empty. Keys lose only
/// passages inside them. A string without a tag is not changed.
///
/// Text without any character of a tag is returned without parsing it. Other text that is not JSON becomes `""`.
pub fn strip_json(raw: &str) -> Cow<'_, str> {
    let has_escaped_sign = memmem::find(raw.as_bytes(), b"\\u003").is_some();
    if !has_escaped_sign && memchr(b'<', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let may_hold_tag = |inside: &str| match has_escaped_sign {
        true => may_hold_tag(inside),
        // This is several times faster, and applies to nearly all text.
        false => memchr_iter(b'<', inside.as_bytes()).any(|at| may_begin_tag(&inside.as_bytes()[at + 1..])),
    };
    strip_strings(raw, may_hold_tag).unwrap_or(Cow::Borrowed(NOTHING))
}

/// Strips every string; `None` if the text is not JSON.
fn strip_strings(raw: &str, may_hold_tag: impl Fn(&str) -> bool) -> Option<Cow<'_, str>> {
    let mut stripper = Stripper::default();
    let mut kept = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(quote) = memchr(b'"', &raw.as_bytes()[at..]).map(|quote| at + quote) {
        let start = quote + 1;
        let end = string_end(raw, start)?;
        if !is_structure(&raw[at..quote]) {
            return None;
        }
        let inside = &raw[start..end];
        let may_hold_tag = may_hold_tag(inside);
        let stripped = match is_key(&raw[end + 1..]) {
            true => strip_key(inside, may_hold_tag),
            false => strip_value(inside, may_hold_tag, &mut stripper),
        };
        if let Some(stripped) = stripped {
            kept.push_str(&raw[copied..quote]);
            kept.push_str(&serde_json::to_string(&stripped).ok()?);
            copied = end + 1;
        }
        at = end + 1;
    }
    if !is_structure(&raw[at..]) {
        return None;
    }
    if copied == 0 {
        return Some(Cow::Borrowed(raw));
    }
    kept.push_str(&raw[copied..]);
    Some(Cow::Owned(kept))
}

/// Returns a value without private text; `None` if it has none.
fn strip_value(inside: &str, may_hold_tag: bool, stripper: &mut Stripper) -> Option<String> {
    if inside.is_empty() || !(stripper.is_open() || may_hold_tag) {
        return None;
    }
    let text = unescape(inside);
    Some(stripper.strip(&text)).filter(|stripped| *stripped != text)
}

/// Returns a key without private text; `None` if it has none.
fn strip_key(inside: &str, may_hold_tag: bool) -> Option<String> {
    if !may_hold_tag {
        return None;
    }
    let text = unescape(inside);
    Some(strip(&text)).filter(|stripped| *stripped != text)
}

/// Returns whether JSON may have this text between its strings: brackets, signs, numbers, `true`, `false` and `null`.
fn is_structure(between: &str) -> bool {
    let allowed = |byte: u8| {
        byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b'\r' | b'\n') || b"{}[],:-+.Etruefalsn".contains(&byte)
    };
    between.bytes().all(allowed)
}
