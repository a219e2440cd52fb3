//! Finds secrets in decoded text: from one anchor byte to the next, in one pass.

use super::address_password::address_password;
use super::assignments;
use super::shapes::{AnchorFilter, Body, DASH, DOT, LETTER_Z, SHAPES, Shape, UNDERSCORE};
use crate::key_block;

/// A secret's place in the decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: SecretKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretKind {
    /// Characters without quotes.
    Run,
    /// A private key, which may reach over the strings of a document.
    KeyBlock,
}

type Run = (usize, usize);

/// Returns the secrets of `bytes`, in order and without overlaps.
pub(crate) fn scan(bytes: &[u8]) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let (mut at, mut done) = (0, 0);
    while let Some(anchor) = next_anchor(bytes, at) {
        at = anchor + 1;
        if let Some(secret) = secret_at(bytes, anchor).filter(|secret| secret.start >= done) {
            done = secret.end;
            at = at.max(done);
            secrets.push(secret);
        }
    }
    secrets
}

/// Returns the next byte that every kind of secret has one of.
fn next_anchor(bytes: &[u8], from: usize) -> Option<usize> {
    const ANCHORS: [bool; 256] = {
        let mut table = [false; 256];
        let signs = b"-_.:=~zIJKC";
        let mut at = 0;
        while at < signs.len() {
            table[signs[at] as usize] = true;
            at += 1;
        }
        table
    };
    let mut from = from;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| ANCHORS[usize::from(*byte)])?;
        if may_be_secret(bytes, at) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Returns whether the neighbours of an anchor allow for a secret. Most anchors of ordinary text end here.
#[inline]
fn may_be_secret(bytes: &[u8], at: usize) -> bool {
    let next = |distance: usize| bytes.get(at + distance).copied().unwrap_or_default();
    let [.., before, last] = bytes[..at] else { return true };
    match bytes[at] {
        b'_' => UNDERSCORE.has(before, last),
        b'-' => DASH.has(before, last) || next(5) == b'B',
        b'.' => DOT.has(before, last) || next(7) == b'.',
        b'z' => LETTER_Z.has(before, last),
        b'J' => last == b'y',
        b'I' => before == b'A',
        b'K' => last == b'S',
        b'C' => last == b'A',
        b'~' => last == b'Q',
        b'=' => assignments::name_end(bytes, at).is_some(),
        b':' => {
            (next(1) == b'/' && next(2) == b'/')
                || (last.is_ascii_digit() && before.is_ascii_digit())
                || assignments::name_end(bytes, at).is_some()
        }
        _ => true,
    }
}

/// Returns the secret that the anchor at `at` belongs to.
fn secret_at(bytes: &[u8], at: usize) -> Option<Secret> {
    let run = match bytes[at] {
        b'-' => {
            if let Some(end) = key_block::end(bytes, at) {
                return Some(Secret { start: at, end, kind: SecretKind::KeyBlock });
            }
            prefixed(&DASH, bytes, at)
        }
        b'_' => prefixed(&UNDERSCORE, bytes, at),
        b'.' => prefixed(&DOT, bytes, at).or_else(|| discord_token(bytes, at)),
        b':' if bytes[at..].starts_with(b"://") => address_password(bytes, at),
        b':' => telegram_token(bytes, at).or_else(|| assignments::assigned_value(bytes, at)),
        b'=' => assignments::assigned_value(bytes, at),
        b'~' => azure_secret(bytes, at),
        b'z' => prefixed(&LETTER_Z, bytes, at),
        b'I' => aws_id(bytes, at),
        b'J' => signed_token(bytes, at),
        b'K' | b'C' => twilio_id(bytes, at),
        _ => None,
    };
    run.map(|(start, end)| Secret { start, end, kind: SecretKind::Run })
}

/// Returns the token of the table whose anchor is at `at`.
fn prefixed(filter: &AnchorFilter, bytes: &[u8], at: usize) -> Option<Run> {
    filter.shapes(bytes, at).find_map(|shape| token(shape, bytes, at))
}

/// Returns the end of the token of the table that begins at `start`.
pub(crate) fn token_end(bytes: &[u8], start: usize) -> Option<usize> {
    let fits = |shape: &&Shape| bytes[start..].starts_with(shape.prefix);
    SHAPES.iter().filter(fits).find_map(|shape| token(shape, bytes, start + shape.anchor)).map(|(_, end)| end)
}

fn token(shape: &Shape, bytes: &[u8], at: usize) -> Option<Run> {
    /// A token has a digit early: words that are joined by dashes have none.
    const DIGIT_WITHIN: usize = 80;

    let start = at.checked_sub(shape.anchor)?;
    let body = bytes[start..].strip_prefix(shape.prefix)?;
    let least = body.get(..shape.least)?;
    let is_token = begins_word(bytes, start)
        && least.iter().all(|byte| shape.body.has(*byte))
        && body.iter().take(DIGIT_WITHIN).take_while(|byte| shape.body.has(**byte)).any(u8::is_ascii_digit);
    // Whatever is joined to a token is taken as a part of it.
    let joined = if shape.body == Body::Alnum { Body::Token } else { shape.body };
    is_token.then(|| (start, start + shape.prefix.len() + run(body, |byte| joined.has(byte))))
}

/// `AKIA…` and `ASIA…` of AWS; `at` is the I.
fn aws_id(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(2).filter(|start| matches!(&bytes[*start..at], b"AK" | b"AS" | b"AB"))?;
    let end = start + 20;
    let is_id = bytes.get(at + 1) == Some(&b'A')
        && bytes.get(start..end)?.iter().all(|byte| Body::Upper.has(*byte))
        && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (is_id && begins_word(bytes, start)).then_some((start, end))
}

/// `SK` or `AC` and 32 hexadecimal digits of Twilio; `at` is the second letter.
fn twilio_id(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(1).filter(|start| matches!(&bytes[*start..=at], b"SK" | b"AC"))?;
    let end = start + 34;
    let is_id = bytes.get(at + 1..end)?.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    (is_id && begins_word(bytes, start)).then_some((start, end))
}

/// A client secret of Azure, `abc8Q~…`; `at` is the tilde.
fn azure_secret(bytes: &[u8], at: usize) -> Option<Run> {
    let is_part = |byte: u8| Body::Dotted.has(byte) || byte == b'~';
    let start = at.checked_sub(5)?;
    let is_secret = matches!(bytes[start..at], [.., b'0'..=b'9', b'Q'])
        && bytes[start..at].iter().all(|byte| is_part(*byte))
        && bytes.get(at + 1..at + 29)?.iter().all(|byte| is_part(*byte));
    is_secret.then(|| (start, at + run(&bytes[at..], is_part)))
}

/// A bot's token of Discord, `M….….…`; `at` is the first dot.
fn discord_token(bytes: &[u8], at: usize) -> Option<Run> {
    const USER: std::ops::RangeInclusive<usize> = 23..=28;
    const TIME: usize = 6;

    if bytes.get(at + TIME + 1) != Some(&b'.') {
        return None;
    }
    let user = bytes[..at].iter().rev().take(USER.end() + 1).take_while(|byte| Body::Token.has(**byte)).count();
    let start = at - user;
    let is_token = USER.contains(&user)
        && matches!(bytes[start], b'M'..=b'O')
        && bytes[at + 1..=at + TIME].iter().all(|byte| Body::Token.has(*byte));
    let last = run(&bytes[at + TIME + 2..], |byte| Body::Token.has(byte));
    (is_token && last >= 27).then_some((start, at + TIME + 2 + last))
}

/// A bot's token of Telegram, `123456789:AA…`; `at` is the colon.
fn telegram_token(bytes: &[u8], at: usize) -> Option<Run> {
    let digits = bytes[..at].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    let start = at - digits;
    let body = bytes.get(at + 1..at + 36)?;
    let is_token = (8..=11).contains(&digits)
        && body.iter().all(|byte| Body::Token.has(*byte))
        && body.iter().any(u8::is_ascii_alphabetic);
    // In an address the word `bot` is joined to the number.
    let begins = begins_word(bytes, start) || bytes[..start].ends_with(b"bot");
    (is_token && begins).then(|| (start, at + 1 + run(&bytes[at + 1..], |byte| Body::Token.has(byte))))
}

/// `eyJ….eyJ….…`, a signed token; `at` is the J.
fn signed_token(bytes: &[u8], at: usize) -> Option<Run> {
    let is_part = |byte| Body::Token.has(byte);
    let start = at.checked_sub(2).filter(|start| &bytes[*start..at] == b"ey")?;
    // A token holds more of these: each would be read anew if a part of a token might stand before it.
    if bytes[..start].last().is_some_and(|byte| is_part(*byte)) {
        return None;
    }
    let header = start + run(&bytes[start..], is_part);
    let payload = bytes[header..].strip_prefix(b".").filter(|payload| payload.starts_with(b"eyJ"))?;
    let payload_end = header + 1 + run(payload, is_part);
    let signature = bytes[payload_end..].strip_prefix(b".")?;
    Some((start, payload_end + 1 + run(signature, is_part)))
}

/// Returns whether neither a letter nor a digit stands before `at`.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    !bytes[..at].last().is_some_and(u8::is_ascii_alphanumeric)
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::{Body, SHAPES, scan};

    #[track_caller]
    fn found(text: &str) -> Vec<&str> {
        scan(text.as_bytes()).iter().map(|secret| &text[secret.start..secret.end]).collect()
    }

    fn body(length: usize) -> String {
        "7A0B".repeat(length)[..length].to_owned()
    }

    #[test]
    fn a_token_of_the_table_has_its_length_a_digit_and_nothing_joined_before_it() {
        for shape in SHAPES {
            let prefix = String::from_utf8_lossy(shape.prefix);
            let token = format!("{prefix}{}", body(shape.least));
            assert_eq!(found(&format!("a {token}, b")), [token.as_str()]);
            for none in [token[..token.len() - 1].to_owned(), format!("x{token}")] {
                assert_eq!(found(&none), [""; 0], "{none}");
            }
            if shape.body != Body::Hex && !prefix.contains(|c: char| c.is_ascii_digit()) {
                let letters = format!("{prefix}{}", "ABCD".repeat(shape.least));
                assert_eq!(found(&letters), [""; 0], "{letters}");
            }
        }
    }

    #[test]
    fn ids_of_aws_and_twilio_have_one_length() {
        let aws = |rest: usize| format!("AKIA{}", body(rest));
        assert_eq!(found(&aws(16)), [aws(16)]);
        let hex = |prefix: &str, rest: usize| format!("{prefix}{}", "7a0b".repeat(9)[..rest].to_owned());
        assert_eq!(found(&hex("SK", 32)), [hex("SK", 32)]);
        assert_eq!(found(&hex("AC", 32)), [hex("AC", 32)]);
        assert_eq!(found(&format!("id: {}, {}", hex("AC", 32), hex("SK", 32))), [hex("AC", 32), hex("SK", 32)]);
        let others =
            [aws(15), aws(17), format!("AKIB{}", body(16)), format!("x{}", aws(16)), aws(16).replace('B', "b")];
        let more = [hex("SK", 31), hex("SK", 33), format!("x{}", hex("SK", 32)), format!("SK{}", body(32))];
        for none in others.iter().chain(&more) {
            assert_eq!(found(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_secret_of_azure_has_a_digit_and_a_letter_before_its_tilde() {
        let secret = |before: &str, rest: usize| format!("{before}~{}", body(rest));
        assert_eq!(found(&secret("abC8Q", 28)), [secret("abC8Q", 28)]);
        for none in [secret("abC8Q", 27), secret("abCdQ", 28), secret("abC8R", 28), secret("a,C8Q", 28)] {
            assert_eq!(found(&none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_token_of_discord_has_three_parts() {
        let token = |first: char, user: usize, time: usize, last: usize| {
            format!(
                "{first}{}.{}.{}",
                "Ab".repeat(20)[..user - 1].to_owned(),
                "Xy".repeat(9)[..time].to_owned(),
                body(last)
            )
        };
        for token in [token('M', 23, 6, 27), token('N', 28, 6, 27), token('O', 25, 6, 40)] {
            assert_eq!(found(&token), [token.as_str()]);
        }
        let others = [('M', 22, 6, 27), ('M', 29, 6, 27), ('L', 25, 6, 27), ('P', 25, 6, 27)];
        let more = [('M', 25, 5, 27), ('M', 25, 7, 27), ('M', 25, 6, 26)];
        for (first, user, time, last) in others.into_iter().chain(more) {
            assert_eq!(found(&token(first, user, time, last)), [""; 0], "{first} {user} {time} {last}");
        }
    }

    #[test]
    fn a_token_of_telegram_has_a_number_and_thirty_five_characters() {
        let token = |digits: usize, rest: usize| format!("{}:{}", "12345678901234"[..digits].to_owned(), body(rest));
        for token in [token(8, 35), token(11, 35), token(9, 50)] {
            assert_eq!(found(&token), [token.as_str()]);
            assert_eq!(found(&format!("bot{token}")), [token.as_str()]);
            assert_eq!(found(&format!("x{token}")), [""; 0]);
        }
        for none in [token(7, 35), token(12, 35), token(9, 34), format!("123456789:{}", "7".repeat(35))] {
            assert_eq!(found(&none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_signed_token_has_two_parts_of_json() {
        assert_eq!(found("a eyJhb.eyJzd.sig_-1 b"), ["eyJhb.eyJzd.sig_-1"]);
        for none in ["xeyJhb.eyJzd.sig", "_eyJhb.eyJzd.sig", "eyJhb.abJzd.sig", "eyJhb.eyJzd", "exJhb.eyJzd.sig"] {
            assert_eq!(found(none), [""; 0], "{none}");
        }
    }
}
