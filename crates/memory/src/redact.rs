//! Finds secrets in text by their shape or by the name before them, and replaces them.
//!
//! The text is searched as a reader would see it: escapes, terminal sequences and encodings are decoded first.

mod address_password;
mod assignments;
mod base64_runs;
mod command_options;
mod decoded_view;
mod escaped_starts;
mod names;
mod placeholder;
mod places;
mod scanner;
mod shapes;
mod terminal_sequences;
mod values;

use std::borrow::Cow;

pub use self::command_options::{redact_command, redact_input_commands};
use self::decoded_view::DecodedView;
use self::scanner::{Secret, SecretKind};
use crate::key_block;

/// The replacement for a secret.
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
    let escaped = escaped_starts::secrets_in(text.as_bytes());
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
