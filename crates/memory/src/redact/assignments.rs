//! Secrets that are known by what stands before them: `PASSWORD=…`, `"api_key": "…"`, `Authorization: …`.

use super::shapes::Body;
use super::values::{Assigned, Writing, looks_secret};

/// How far back a name is read.
const NAME_BYTES: usize = 64;

/// How much of a value decides whether it is a secret.
const LOOKED_AT: usize = 200;

/// What a name that has a secret value ends with, in small letters and without `_` and `-`.
const NAMES: &[(&[u8], Assigned)] = &[
    (b"password", Assigned::Password),
    (b"passwd", Assigned::Password),
    (b"passphrase", Assigned::Password),
    (b"pwd", Assigned::Password),
    (b"pass", Assigned::Key),
    (b"secret", Assigned::Secret),
    (b"secretkey", Assigned::Secret),
    (b"secretkeybase", Assigned::Secret),
    (b"secretaccesskey", Assigned::Secret),
    (b"privatekey", Assigned::Secret),
    (b"token", Assigned::Key),
    (b"apikey", Assigned::Key),
    (b"appkey", Assigned::Key),
    (b"applicationkey", Assigned::Key),
    (b"accesskey", Assigned::Key),
    (b"accountkey", Assigned::Key),
    (b"authkey", Assigned::Key),
    (b"encryptionkey", Assigned::Key),
    (b"masterkey", Assigned::Key),
    (b"signingkey", Assigned::Key),
    (b"sharedkey", Assigned::Key),
    (b"credential", Assigned::Key),
    (b"credentials", Assigned::Key),
    (b"authorization", Assigned::Header),
    (b"sig", Assigned::Signature),
];

/// The last two letters of [`NAMES`], folded to five bits each, so that capitals are the same.
const ENDINGS: [u32; 32] = {
    let mut pairs = [0; 32];
    let mut at = 0;
    while at < NAMES.len() {
        let name = NAMES[at].0;
        let (before, last) = (name[name.len() - 2], name[name.len() - 1]);
        pairs[(last & 31) as usize] |= 1 << (before & 31);
        at += 1;
    }
    pairs
};

/// Returns where the name ends that may stand before the sign at `at`, by its last two letters.
///
/// Nearly every sign of ordinary text ends here.
#[inline]
pub(crate) fn name_end(bytes: &[u8], at: usize) -> Option<usize> {
    const BETWEEN: [bool; 256] = {
        let mut table = [false; 256];
        let signs = b"\"'` \t]";
        let mut at = 0;
        while at < signs.len() {
            table[signs[at] as usize] = true;
            at += 1;
        }
        table
    };
    // An escaped quote takes up several bytes.
    let nearest = at.saturating_sub(12);
    let mut end = at;
    while end > nearest && BETWEEN[usize::from(bytes[end - 1])] {
        end -= 1;
    }
    let [.., before, last] = bytes[..end] else { return None };
    (ENDINGS[usize::from(last & 31)] >> (before & 31) & 1 == 1).then_some(end)
}

/// Returns the value behind the `:` or `=` at `at`, where the name before it and the value itself say that it is secret.
pub(crate) fn assigned_value(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let (name, is_spaced_before) = name_before(bytes, at)?;
    let mut assigned = kind_of(name)?;
    let mut start = at + 1;
    match bytes[at..] {
        // Comparisons and paths assign nothing.
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => start += 1,
        _ => {}
    }
    let spaces = bytes[start..].iter().take(8).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    start += spaces;
    let mut scheme = if assigned == Assigned::Header { scheme_length(&bytes[start..]) } else { 0 };
    start += scheme;
    let quotes = bytes[start..].iter().take(8).take_while(|byte| is_quote(**byte)).count();
    start += quotes;
    if assigned == Assigned::Header && scheme == 0 {
        scheme = scheme_length(&bytes[start..]);
        start += scheme;
        // Without a scheme the value may be anything, as it is for other names.
        assigned = if scheme == 0 { Assigned::Key } else { assigned };
    }
    let is_environment = bytes[at] == b'='
        && spaces == 0
        && !is_spaced_before
        && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_');
    let writing = match (is_environment, quotes > 0) {
        (true, _) => Writing::Environment,
        (false, true) => Writing::Quoted,
        (false, false) => Writing::Bare,
    };
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    if is_environment
        && quotes > 0
        && let Some(length) = quoted_length(near, bytes[start - 1])
        && looks_secret(&near[..length], assigned, writing)
    {
        return Some((start, start + length));
    }
    let end = start + value_length(near, writing);
    let is_called = bytes.get(end).is_some_and(|byte| matches!(byte, b'(' | b'[')) && writing == Writing::Bare;
    // Only a secret is read to its end, and then passed over: otherwise one value might be read again and again.
    if is_called || !looks_secret(&bytes[start..end], assigned, writing) {
        return None;
    }
    let end = start + value_length(&bytes[start..], writing);
    // Of a passphrase the first word has decided.
    Some((start, if quotes > 0 { end + further_words(&bytes[end..]) } else { end }))
}

/// Returns how far a quoted value goes on behind its first word: up to the next quote, if that is on the same line.
fn further_words(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(LOOKED_AT)];
    let end = near.iter().position(|byte| is_quote(*byte) || matches!(byte, b'\n' | b'\r' | b'\\'));
    end.filter(|end| is_quote(near[*end])).unwrap_or_default()
}

/// Returns the name that ends before the sign at `at`, and whether a space stands between them.
fn name_before(bytes: &[u8], at: usize) -> Option<(&[u8], bool)> {
    let end = name_end(bytes, at)?;
    if bytes[..at].last().is_some_and(|byte| matches!(byte, b'=' | b'!' | b'<' | b'>' | b'+' | b':' | b'~')) {
        return None;
    }
    let is_name = |byte: &&u8| Body::Token.has(**byte);
    let length = bytes[..end].iter().rev().take(NAME_BYTES).take_while(is_name).count();
    Some((&bytes[end - length..end], bytes[end..at].contains(&b' ')))
}

/// Returns what a name's value is, by how the name ends.
fn kind_of(name: &[u8]) -> Option<Assigned> {
    if matches!(name, b"PWD" | b"OLDPWD" | b"pwd") {
        // The working directory.
        return None;
    }
    let ends_with = |ending: &[u8]| {
        let mut letters = name.iter().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
        ending.iter().rev().all(|letter| letters.next().is_some_and(|byte| byte.eq_ignore_ascii_case(letter)))
    };
    let (ending, found) = NAMES.iter().find(|(ending, _)| ends_with(ending))?;
    let is_name = match *ending {
        b"sig" => name.eq_ignore_ascii_case(b"sig"),
        // A compass, and what a test says, end so, too.
        b"pass" => name.ends_with(b"_PASS"),
        _ => true,
    };
    is_name.then_some(*found)
}

/// Returns the length of the scheme of an `Authorization` header.
fn scheme_length(value: &[u8]) -> usize {
    let schemes: [&[u8]; 5] = [b"basic", b"bearer", b"token", b"apikey", b"negotiate"];
    let starts = |scheme: &&&[u8]| value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let Some(scheme) = schemes.iter().find(starts) else { return 0 };
    let spaces = value[scheme.len()..].iter().take(4).take_while(|byte| **byte == b' ').count();
    if spaces == 0 { 0 } else { scheme.len() + spaces }
}

/// Returns how far a value reaches that was opened by `quote` and is closed on the same line.
///
/// A value may hold spaces then. It never holds a double quote, which may be the one that ends a JSON string.
fn quoted_length(bytes: &[u8], quote: u8) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == quote || matches!(byte, b'"' | b'\n' | b'\r'))?;
    (bytes[end] == quote && end > 0).then_some(end)
}

/// Returns how far a value reaches. It holds neither quotes nor white space, so that it never reaches out of a string.
fn value_length(bytes: &[u8], writing: Writing) -> usize {
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace() || is_quote(*byte) || (writing == Writing::Bare && b"\\,;&|<>(){}[]".contains(byte))
    };
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
