//! Tool JSON without what is private.

use std::borrow::Cow;

use longhaul_core::private_tags::{Stripper, may_begin_tag, may_hold_tag, strip};
use memchr::{memchr, memchr_iter, memmem};

use crate::json::{is_key, string_end, unescape};

/// What stands for JSON text that cannot be read: nothing of it can be told to be harmless.
const NOTHING: &str = "\"\"";

/// Returns JSON text without the private passages inside its strings; it stays valid, and no tree is built.
///
/// A passage left open in one string goes on through the following ones, in the order of the document, until it is
/// closed: a patch has one string for every line. After too many passages every string value is empty. Keys lose only what
/// is private in themselves. A string without a tag stays as it was written, escapes and all.
///
/// Text without any sign that a tag needs is returned as it is, unread. Text with one that is no JSON becomes `""`.
pub fn strip_json(raw: &str) -> Cow<'_, str> {
    let has_escaped_sign = memmem::find(raw.as_bytes(), b"\\u003").is_some();
    if !has_escaped_sign && memchr(b'<', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let may_hold_tag = |inside: &str| match has_escaped_sign {
        true => may_hold_tag(inside),
        // Several times faster, and nearly all text is so.
        false => memchr_iter(b'<', inside.as_bytes()).any(|at| may_begin_tag(&inside.as_bytes()[at + 1..])),
    };
    strip_strings(raw, may_hold_tag).unwrap_or(Cow::Borrowed(NOTHING))
}

/// Strips every string; `None` where the text is no JSON.
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

/// Returns a value without what is private; `None` where nothing of it is.
fn strip_value(inside: &str, may_hold_tag: bool, stripper: &mut Stripper) -> Option<String> {
    if inside.is_empty() || !(stripper.is_open() || may_hold_tag) {
        return None;
    }
    let text = unescape(inside);
    Some(stripper.strip(&text)).filter(|stripped| *stripped != text)
}

/// Returns a key without what is private in itself; `None` where nothing of it is.
fn strip_key(inside: &str, may_hold_tag: bool) -> Option<String> {
    if !may_hold_tag {
        return None;
    }
    let text = unescape(inside);
    Some(strip(&text)).filter(|stripped| *stripped != text)
}

/// Returns whether JSON may have this between its strings: brackets, signs, numbers, `true`, `false` and `null`.
fn is_structure(between: &str) -> bool {
    let allowed = |byte: u8| {
        byte.is_ascii_digit() || matches!(byte, b' ' | b'\t' | b'\r' | b'\n') || b"{}[],:-+.Etruefalsn".contains(&byte)
    };
    between.bytes().all(allowed)
}
