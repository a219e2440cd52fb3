//! Whether a text contains anything that was not shown before, by hashes of its sentences.

use std::collections::HashSet;

use longhaul_core::hash::fnv1a;

/// Returns whether a character ends a part of a text: of a page's line, too, which joins what was asked and what came of it.
fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';' | ':' | ']' | '\n' | '→' | '。' | '！' | '？')
}

/// Shorter parts are ignored.
const SHORTEST: usize = 8;

/// Returns the hashes of a text's parts. Only letters and digits count, so that line breaks and punctuation do not
/// matter.
pub fn said_parts(text: &str) -> HashSet<u32> {
    parts(text).collect()
}

/// Returns whether all parts of a text were shown before.
pub fn is_said_already(text: &str, shown: &HashSet<u32>) -> bool {
    if shown.is_empty() {
        return false;
    }
    let mut parts = parts(text).peekable();
    parts.peek().is_some() && parts.all(|part| shown.contains(&part))
}

fn parts(text: &str) -> impl Iterator<Item = u32> {
    text.split(is_end).filter_map(|part| match part.is_ascii() {
        true => hash(part.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())),
        false => {
            let kept: String = part.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
            hash(kept.bytes())
        }
    })
}

/// Returns the hash of a part; `None` if it is too short.
fn hash(bytes: impl Iterator<Item = u8>) -> Option<u32> {
    let mut length = 0;
    let hash = fnv1a(bytes.inspect(|_| length += 1)) as u32;
    (length >= SHORTEST).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::{is_said_already, said_parts};

    #[test]
    fn what_a_page_quotes_is_said_already() {
        let shown = said_parts(
            "- P1 2026-01-02 why does it stall? → The exchange rates hold the lock. (#12)\nLearned: Chunks cured it!",
        );
        assert!(is_said_already("The exchange  rates hold the lock.", &shown));
        assert!(is_said_already("The exchange rates hold the lock; chunks cured it", &shown));
        assert!(!is_said_already("The exchange rates hold the lock. Rows are read in fives.", &shown));
        assert!(!is_said_already("", &shown) && !is_said_already("yes", &shown));
    }
}
