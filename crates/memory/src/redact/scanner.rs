//! Finds secrets in decoded text: from one anchor byte to the next, in one pass. Also tokens whose first letter looks
//! like an escape: in `\npm_…` the view of the text has a line break and `pm_…`.

use memchr::memchr;

use super::assignments;
use super::places::{self, address_password};
use super::shapes::{self, Body, SHAPES, Shape, may_match, shapes_at};
use super::values::Makeup;
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

/// The byte may be the anchor of a prefix of the table.
const OF_SHAPE: u8 = 1;
/// The byte may be the anchor of another secret.
const OF_OTHER: u8 = 2;

/// What each byte may be the anchor of, as bits.
static ANCHORS: [u8; 256] = {
    let mut anchors = [0; 256];
    let others = b":=>'J|_-.ITKC~";
    let mut at = 0;
    while at < others.len() {
        anchors[others[at] as usize] |= OF_OTHER;
        at += 1;
    }
    let mut at = 0;
    while at < shapes::ANCHORS.len() {
        anchors[shapes::ANCHORS[at] as usize] |= OF_SHAPE;
        at += 1;
    }
    anchors
};

/// Returns the next byte that every kind of secret has one of.
fn next_anchor(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find(|at| {
        let kinds = ANCHORS[usize::from(bytes[*at])];
        kinds != 0 && may_be_secret(bytes, *at, kinds)
    })
}

/// Returns whether the neighbours of an anchor allow for a secret. Most anchors of ordinary text end here.
#[inline]
fn may_be_secret(bytes: &[u8], at: usize, kinds: u8) -> bool {
    let [.., before, last] = bytes[..at] else { return true };
    (kinds & OF_SHAPE != 0 && may_match(before, last, bytes[at]))
        || (kinds & OF_OTHER != 0 && may_be_other(bytes, at, before, last))
}

#[inline]
fn may_be_other(bytes: &[u8], at: usize, before: u8, last: u8) -> bool {
    let next = |distance: usize| bytes.get(at + distance).copied().unwrap_or_default();
    match bytes[at] {
        b'_' => next(1) == b'm' && next(2) == b'm',
        b'-' => next(5) == b'B',
        b'.' => next(7) == b'.' || next(1) == b'a' || next(64).is_ascii_hexdigit() || last == b's',
        b'J' => last == b'y',
        b'I' => before == b'A',
        b'T' => last == b'3',
        b'K' => last == b'S',
        b'C' => last == b'A' || last == b'C',
        b'~' => last == b'Q',
        b'\'' => last == b' ' || last == b'(',
        b'|' => last.is_ascii_digit(),
        b'=' | b'>' => assignments::may_be_named(bytes, at),
        b':' => {
            (next(1) == b'/' && next(2) == b'/')
                || last == b'*'
                || (last.is_ascii_digit() && before.is_ascii_digit())
                || (last != b':' && next(1) != b':' && assignments::may_be_named(bytes, at))
        }
        _ => false,
    }
}

/// Returns the secret that the anchor at `at` belongs to.
fn secret_at(bytes: &[u8], at: usize) -> Option<Secret> {
    if bytes[at] == b'-'
        && let Some((start, end)) = key_block::range(bytes, at)
    {
        return Some(Secret { start, end, kind: SecretKind::KeyBlock });
    }
    let run = prefixed(bytes, at).or_else(|| match bytes[at] {
        b'_' => maxmind_key(bytes, at),
        b'.' => discord_token(bytes, at)
            .or_else(|| terraform_token(bytes, at))
            .or_else(|| airtable_token(bytes, at))
            .or_else(|| authress_key(bytes, at))
            .or_else(|| old_vault_token(bytes, at)),
        b':' if bytes[at..].starts_with(b"://") => address_password(bytes, at),
        b':' => telegram_token(bytes, at)
            .or_else(|| places::pgpass_password(bytes, at))
            .or_else(|| assignments::assigned_value(bytes, at)),
        b'=' => assignments::assigned_value(bytes, at),
        b'>' => places::element_text(bytes, at),
        b'\'' => places::sql_password(bytes, at),
        b'|' => facebook_token(bytes, at),
        b'~' => azure_secret(bytes, at),
        b'I' | b'C' | b'T' => aws_id(bytes, at).or_else(|| twilio_id(bytes, at)),
        b'J' => signed_token(bytes, at),
        b'K' => twilio_id(bytes, at),
        _ => None,
    });
    run.map(|(start, end)| Secret { start, end, kind: SecretKind::Run })
}

/// Returns the token of the table whose anchor is at `at`.
fn prefixed(bytes: &[u8], at: usize) -> Option<Run> {
    shapes_at(bytes, at).find_map(|shape| token(shape, bytes, at))
}

/// Returns the end of the token of the table that begins at `start`.
fn token_end(bytes: &[u8], start: usize) -> Option<usize> {
    let fits = |shape: &&Shape| bytes[start..].starts_with(shape.prefix);
    SHAPES.iter().filter(fits).find_map(|shape| token(shape, bytes, start + shape.anchor)).map(|(_, end)| end)
}

fn token(shape: &Shape, bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(shape.anchor)?;
    let body = bytes[start..].strip_prefix(shape.prefix)?;
    let least = body.get(..shape.least)?;
    let is_token =
        begins_word(bytes, start) && least.iter().all(|byte| shape.body.has(*byte)) && is_made_by_program(shape, body);
    // Whatever is joined to a token is taken as a part of it.
    let joined = if matches!(shape.body, Body::Alnum | Body::Hex) { Body::Token } else { shape.body };
    is_token.then(|| (start, start + shape.prefix.len() + run(body, |byte| joined.has(byte))))
}

/// Returns whether the body of a token is not made of words: it has a digit early, or both cases, or no gap.
fn is_made_by_program(shape: &Shape, body: &[u8]) -> bool {
    /// Words that are joined by dashes have no digit within this length.
    const DIGIT_WITHIN: usize = 80;
    /// No word and no name without a gap is as long.
    const UNBROKEN: usize = 30;

    let length = body.iter().take(DIGIT_WITHIN).take_while(|byte| shape.body.has(**byte)).count();
    let makeup = Makeup::of(&body[..length]);
    let unbroken = body.iter().take(UNBROKEN).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // A short prefix of letters begins many texts in base64.
    let has_sign = shape.prefix.iter().any(|byte| !byte.is_ascii_alphanumeric());
    match has_sign {
        true => makeup.digits > 0 || makeup.has_both_cases() || unbroken == UNBROKEN,
        false => makeup.looks_random(),
    }
}

/// `AKIA…`, `ASIA…`, `ABIA…`, `ACCA…` and `A3T…` of AWS; `at` is the third letter.
fn aws_id(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(2)?;
    let end = start + 20;
    let is_id = matches!(bytes.get(start..start + 4)?, b"AKIA" | b"ASIA" | b"ABIA" | b"ACCA" | [b'A', b'3', b'T', _])
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

/// A licence key of MaxMind, `abc123_…_mmk`; `at` is the last `_`.
fn maxmind_key(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(36)?;
    let is_key = bytes[at..].starts_with(b"_mmk")
        && bytes[start + 6] == b'_'
        && bytes[start..at].iter().all(|byte| Body::Word.has(*byte))
        && begins_word(bytes, start);
    is_key.then_some((start, at + 4))
}

/// A token of Terraform, `….atlasv1.…`; `at` is the first dot.
fn terraform_token(bytes: &[u8], at: usize) -> Option<Run> {
    const USER: usize = 14;

    let body = bytes[at..].strip_prefix(b".atlasv1.")?;
    let start = at.checked_sub(USER)?;
    let length = run(body, |byte| Body::Base64.has(byte));
    let is_token = length >= 40 && bytes[start..at].iter().all(u8::is_ascii_alphanumeric);
    is_token.then_some((start, at + 9 + length))
}

/// A token of Airtable, `pat….…`; `at` is the dot.
fn airtable_token(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(17)?;
    let length = run(&bytes[at + 1..], |byte| byte.is_ascii_hexdigit());
    let is_token = length == 64
        && bytes[start..].starts_with(b"pat")
        && bytes[start..at].iter().all(u8::is_ascii_alphanumeric)
        && begins_word(bytes, start);
    is_token.then_some((start, at + 1 + length))
}

/// A key of Authress, `sc_….….acc-….…`; `at` is the dot before `acc`.
fn authress_key(bytes: &[u8], at: usize) -> Option<Run> {
    if !matches!(bytes.get(at + 1..at + 5), Some(b"acc-" | b"acc_")) {
        return None;
    }
    let start = at - bytes[..at].iter().rev().take(60).take_while(|byte| Body::Dotted.has(**byte)).count();
    let prefixes: [&[u8]; 4] = [b"sc_", b"ext_", b"scauth_", b"authress_"];
    if !prefixes.iter().any(|prefix| bytes[start..].starts_with(prefix)) {
        return None;
    }
    let length = run(&bytes[at..], |byte| Body::Base64.has(byte) || byte == b'.');
    (length >= 45).then_some((start, at + length))
}

/// A token of Vault before version 1.10, `s.` and 24 characters; `at` is the dot.
fn old_vault_token(bytes: &[u8], at: usize) -> Option<Run> {
    let start = at.checked_sub(1).filter(|start| bytes[*start] == b's' && begins_word(bytes, *start))?;
    let length = run(&bytes[at + 1..bytes.len().min(at + 27)], |byte| Body::Dotted.has(byte));
    let body = &bytes[at + 1..at + 1 + length];
    let is_token = length == 24 && body.iter().all(u8::is_ascii_alphanumeric) && Makeup::of(body).is_varied();
    is_token.then_some((start, at + 1 + length))
}

/// A token of an application of Facebook, `123456789012345|…`; `at` is the line.
fn facebook_token(bytes: &[u8], at: usize) -> Option<Run> {
    let digits = bytes[..at].iter().rev().take(17).take_while(|byte| byte.is_ascii_digit()).count();
    let length = run(&bytes[at + 1..], |byte| Body::Token.has(byte));
    let body = &bytes[at + 1..at + 1 + length];
    let is_token = (15..=16).contains(&digits)
        && (27..=40).contains(&length)
        && begins_word(bytes, at - digits)
        && Makeup::of(body).looks_random();
    is_token.then_some((at - digits, at + 1 + length))
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

/// `eyJ….eyJ….…`, a signed token, or an older key of Grafana in one part; `at` is the J.
fn signed_token(bytes: &[u8], at: usize) -> Option<Run> {
    let is_part = |byte| Body::Token.has(byte);
    let start = at.checked_sub(2).filter(|start| &bytes[*start..at] == b"ey")?;
    // A token holds more of these: each would be read anew if a part of a token might stand before it.
    if bytes[..start].last().is_some_and(|byte| is_part(*byte)) {
        return None;
    }
    let header = start + run(&bytes[start..], is_part);
    if bytes[start..].starts_with(b"eyJrIjoi") && header - start >= 70 {
        return Some((start, header + run(&bytes[header..], |byte| byte == b'=')));
    }
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

/// Returns the tokens in the original text that begin behind a backslash, the backslashes included: without them, what
/// is left of JSON would be no escape.
pub(super) fn escaped_secrets(bytes: &[u8]) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        at = start + bytes[start..].iter().take_while(|byte| **byte == b'\\').count();
        if may_begin_escaped(&bytes[at..])
            && let Some(end) = token_end(bytes, at)
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
fn may_begin_escaped(bytes: &[u8]) -> bool {
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
    use super::{Body, SHAPES, may_begin_escaped, scan};
    use crate::redact;

    #[track_caller]
    fn found(text: &str) -> Vec<&str> {
        scan(text.as_bytes()).iter().map(|secret| &text[secret.start..secret.end]).collect()
    }

    fn body(length: usize) -> String {
        "7A0B".repeat(length)[..length].to_owned()
    }

    #[test]
    fn a_token_of_the_table_has_its_length_and_nothing_joined_before_it() {
        for shape in SHAPES {
            let prefix = String::from_utf8_lossy(shape.prefix);
            let length = shape.least;
            let token = match shape.body {
                Body::Hex => format!("{prefix}{}", "7a0b".repeat(length)[..length].to_owned()),
                Body::Upper | Body::UpperDashed => format!("{prefix}{}", body(length)),
                _ => format!("{prefix}{}", "7aXk9b".repeat(length)[..length].to_owned()),
            };
            assert_eq!(found(&format!("a {token}, b")), [token.as_str()]);
            let (head, tail) = token.split_at(token.len() / 2);
            for (text, expected) in [
                (format!("a {head}\u{1b}[01;31m{tail} b"), "a [redacted] b"),
                (format!("{{\"a\":\"x\\n{token}\\n\"}}"), "{\"a\":\"x\\n[redacted]\\n\"}"),
                (format!("https://h.example/?q={token}&x=1"), "https://h.example/?q=[redacted]&x=1"),
            ] {
                assert_eq!(redact(&text), expected, "{token}");
            }
            for none in [token[..token.len() - 1].to_owned(), format!("x{token}")] {
                assert_eq!(found(&none), [""; 0], "{none}");
            }
        }
    }

    #[test]
    fn a_token_without_a_digit_has_both_cases_or_no_gap() {
        assert_eq!(found("glpat-kzQWvmhjbnrtPLsdfgHk"), ["glpat-kzQWvmhjbnrtPLsdfgHk"]);
        assert_eq!(found("hf_abcdefghijklmnopqrstuvwxyzabcdefgh").len(), 1);
        for none in ["glpat-some-words-that-are-joined", "xapp-common-data-files", "npm_abcdefghijklmnopqrstuvwxyzabc_"]
        {
            assert_eq!(found(none), [""; 0], "{none}");
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

    #[test]
    fn every_prefix_that_begins_like_an_escape_is_looked_for() {
        for shape in SHAPES.iter().filter(|shape| b"bfnrtu".contains(&shape.prefix[0])) {
            assert!(may_begin_escaped(shape.prefix), "{}", String::from_utf8_lossy(shape.prefix));
        }
    }
}
