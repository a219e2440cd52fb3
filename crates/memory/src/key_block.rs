//! Private key blocks, in plain text and in the strings of a document.

use memchr::memmem;

use crate::json::{is_key, string_end};
use crate::redact::REDACTED;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Maximum length of the kind of key that a block names: `ENCRYPTED`, `PGP`, `OPENSSH` and similar.
const LABEL_BYTES: usize = 60;

/// Returns the end of the private key block that begins at `at`, or the end of the text if the block is not closed.
pub(crate) fn end(text: &[u8], at: usize) -> Option<usize> {
    let body = at + header(&text[at..], BEGIN)?;
    let ends = memmem::find_iter(&text[body..], END).map(|found| body + found);
    let closing = ends.into_iter().find_map(|found| header(&text[found..], END).map(|length| found + length));
    Some(closing.unwrap_or(text.len()))
}

/// Returns the length of the line that opens or closes a private key.
fn header(text: &[u8], opening: &[u8]) -> Option<usize> {
    let label = text.strip_prefix(opening)?;
    let length = label
        .iter()
        .take(LABEL_BYTES)
        .take_while(|byte| byte.is_ascii_uppercase() || matches!(byte, b' ' | b'0'..=b'9'))
        .count();
    let is_private = [&b"PRIVATE KEY"[..], b"PRIVATE KEY BLOCK"].iter().any(|kind| label[..length].ends_with(kind));
    let closes = label[length..].starts_with(DASHES);
    (is_private && closes).then_some(opening.len() + length + DASHES.len())
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
