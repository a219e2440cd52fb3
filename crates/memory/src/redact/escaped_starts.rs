//! Tokens whose first letter looks like an escape: in `\npm_…` the view of the text has a line break and `pm_…`.

use memchr::memchr;

use super::scanner::{self, Secret, SecretKind};

/// Returns the tokens in the original text that begin behind a backslash, the backslashes included: without them, what
/// is left of JSON would be no escape.
pub(crate) fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        at = start + bytes[start..].iter().take_while(|byte| **byte == b'\\').count();
        if may_begin(&bytes[at..])
            && let Some(end) = scanner::token_end(bytes, at)
        {
            secrets.push(Secret { start, end, kind: SecretKind::Run });
            at = end;
        }
    }
    secrets
}

/// Returns whether a token may begin here whose first letter is that of an escape. Nearly every escape ends here: many
/// lines begin with a `t` or an `f` behind a line break.
#[inline]
pub(crate) fn may_begin(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [b'n', b'p', b'm', ..]
            | [b'n', b'f', b'p', ..]
            | [b'n', b't', b'n', ..]
            | [b'n', b'v', b'a', ..]
            | [b'r', b'k' | b'8', b'_', ..]
            | [b'r', b'u', b'b', ..]
            | [b'r', b'd', b'm', ..]
            | [b't', b's', b'k', ..]
            | [b't', b'k', b'-', ..]
            | [b't', b'f', b'p', ..]
            | [b't', b'1', b'.', ..]
            | [b'f', b'i', b'g' | b'o', ..]
            | [b'f', b'm', b'1' | b'2', ..]
            | [b'f', b'o', b'1', ..]
            | [b'b', b'e', b'd', ..]
    )
}

#[cfg(test)]
mod tests {
    use super::super::shapes::SHAPES;
    use super::may_begin;

    #[test]
    fn every_prefix_that_begins_like_an_escape_is_looked_for() {
        for shape in SHAPES.iter().filter(|shape| b"bfnrtu".contains(&shape.prefix[0])) {
            assert!(may_begin(shape.prefix), "{}", String::from_utf8_lossy(shape.prefix));
        }
    }
}
