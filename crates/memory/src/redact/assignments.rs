//! Secrets that are known by what stands before them: `PASSWORD=…`, `"api_key": "…"`, `Authorization: …`.

use super::base64_runs;
use super::names::{self, kind_of};
use super::shapes::Body;
use super::values::{Assigned, Writing, looks_secret};

/// How much of a value decides whether it is a secret.
const LOOKED_AT: usize = 200;

/// How far before or behind a value the name is looked for that it belongs to.
const PAIR_BYTES: usize = 240;

/// A name before a sign.
struct Name<'a> {
    text: &'a [u8],
    start: usize,
    is_spaced: bool,
}

/// Returns whether the name before the sign at `at` may have a secret value. Nearly every sign of ordinary text ends here.
#[inline]
pub(crate) fn may_be_named(bytes: &[u8], at: usize) -> bool {
    names::may_be_secret(name_before(bytes, at).text)
}

/// Returns the value behind the `:` or `=` at `at`, where the name before it and the value itself say that it is secret.
pub(crate) fn assigned_value(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let name = name_before(bytes, at);
    let before = bytes[..at].last().copied().unwrap_or_default();
    // Comparisons and paths assign nothing.
    if b"=!<>+:~".contains(&before) || bytes[..name.start].ends_with(b"::") {
        return None;
    }
    let mut start = at + 1;
    match bytes[at..] {
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b'=', b'>', ..] | [b':', b'=', ..] => start += 1,
        _ => {}
    }
    let spaces = bytes[start..].iter().take(8).take_while(|byte| is_blank(**byte)).count();
    start += spaces;
    let is_close = bytes[at] == b'=' && spaces == 0 && !name.is_spaced;
    let is_constant = name.text.iter().all(|byte| Body::Upper.has(*byte) || *byte == b'_');
    let is_environment = is_close && (is_constant || name.text.starts_with(b"ansible_"));
    let mut assigned = kind_of(name.text)?;
    match assigned {
        Assigned::Cookie => return cookie(bytes, start, name.text),
        Assigned::Signature if !is_close => return None,
        Assigned::OfPair => assigned = kind_of(paired_name(bytes, name.start, start)?)?,
        _ => {}
    }
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
    let line = line_indent(bytes, name.start);
    if bytes[at] == b':'
        && let Some(indent) = line
        && let Some(block) = value_below(bytes, start, indent)
    {
        return looks_secret(&bytes[block.0..block.1], assigned, Writing::Line).then_some(block);
    }
    let near = &bytes[start..bytes.len().min(start + LOOKED_AT)];
    let writing = match (is_environment, quotes > 0) {
        (true, _) => Writing::Environment,
        (false, true) => Writing::Quoted,
        (false, false) if line.is_some() && fills_line(near) => Writing::Line,
        (false, false) => Writing::Bare,
    };
    // Only a secret is read to its end, and then passed over: otherwise one value might be read again and again.
    if quotes > 0 {
        // The quote may be the one that ends a text, `"Password:"`, unless the name has quotes of its own.
        let has_plain_name = bytes[at] == b':' && !is_quote(before);
        if has_plain_name && near.first().is_some_and(|byte| ends_quoted(*byte)) {
            return None;
        }
        let quote = bytes[start - 1];
        if is_environment
            && let Some(length) = quoted_length(near, quote)
            && looks_secret(&near[..length], assigned, writing)
        {
            return Some((start, start + length));
        }
        let word = &near[..quoted_word_length(near, quote)];
        let is_secret = looks_secret(word, assigned, writing) && is_login(word, assigned);
        return is_secret.then(|| (start, start + quoted_end(&bytes[start..], quote)));
    }
    let value = &near[..value_length(near, writing)];
    let is_called = writing == Writing::Bare && near.get(value.len()).is_some_and(|byte| matches!(byte, b'(' | b'['));
    if is_called || !looks_secret(value, assigned, writing) || !is_login(value, assigned) {
        return None;
    }
    let end = start + value_length(&bytes[start..], writing);
    let is_separator = |byte: &&u8| writing == Writing::Line && matches!(byte, b',' | b';');
    Some((start, end - bytes[start..end].iter().rev().take_while(is_separator).count()))
}

/// Returns the name that ends before the sign at `at`; empty if there is none.
fn name_before(bytes: &[u8], at: usize) -> Name<'_> {
    /// How far back a name is read.
    const NAME_BYTES: usize = 64;

    // An escaped quote takes up several bytes, and names may be aligned.
    let nearest = at.saturating_sub(48);
    let mut end = at;
    while end > nearest && matches!(bytes[end - 1], b'"' | b'\'' | b'`' | b' ' | b'\t' | b']') {
        end -= 1;
    }
    let first = end.saturating_sub(NAME_BYTES);
    let mut start = end;
    while start > first && Body::Dotted.has(bytes[start - 1]) {
        start -= 1;
    }
    Name { text: &bytes[start..end], start, is_spaced: bytes[end..at].contains(&b' ') }
}

/// Returns the name that a `value` belongs to: that of the pair, or of the object that holds it.
///
/// The value's own name begins at `start`; its value at `value`.
fn paired_name(bytes: &[u8], start: usize, value: usize) -> Option<&[u8]> {
    let is_name = |name: &[u8]| name.eq_ignore_ascii_case(b"name") || name.eq_ignore_ascii_case(b"key");
    let word = |from: usize| {
        let skipped = bytes[from..].iter().take(12).take_while(|byte| is_quote(**byte) || is_blank(**byte)).count();
        let length = bytes[from + skipped..].iter().take(64).take_while(|byte| Body::Dotted.has(**byte)).count();
        &bytes[from + skipped..from + skipped + length]
    };
    let first = start.saturating_sub(PAIR_BYTES);
    for at in (first..start).rev() {
        match bytes[at] {
            b':' | b'=' if is_name(name_before(bytes, at).text) => return Some(word(at + 1)),
            b'{' => {
                let end = at - bytes[first..at].iter().rev().take_while(|byte| b"\"' :=\t".contains(byte)).count();
                let name = name_before(bytes, end).text;
                if !name.is_empty() {
                    return Some(name);
                }
                break;
            }
            b'}' | b'<' => return None,
            _ => {}
        }
    }
    // `{"value": …, "name": …}`
    let behind = &bytes[value..bytes.len().min(value + PAIR_BYTES)];
    let closing = behind.iter().position(|byte| matches!(byte, b'}' | b'\n'))?;
    let sign = behind[..closing].iter().rposition(|byte| *byte == b':')?;
    is_name(name_before(bytes, value + sign).text).then(|| word(value + sign + 1))
}

/// Returns the first value of a `Cookie` or `Set-Cookie` header that identifies a session, up to the end of all of them.
fn cookie(bytes: &[u8], start: usize, name: &[u8]) -> Option<(usize, usize)> {
    let quotes = bytes[start..].iter().take(8).take_while(|byte| is_quote(**byte)).count();
    let start = start + quotes;
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\'' | b'\n' | b'\r');
    let line = &bytes[start..bytes.len().min(start + 4_096)];
    let line = &line[..line.iter().position(is_end).unwrap_or(line.len())];
    let is_session = |value: &[u8]| !value.contains(&b' ') && looks_secret(value, Assigned::Signature, Writing::Bare);
    let mut at = 0;
    for pair in line.split(|byte| *byte == b';') {
        let equals = pair.iter().position(|byte| *byte == b'=');
        if let Some(equals) = equals.filter(|equals| is_session(&pair[equals + 1..])) {
            let value = start + at + equals + 1;
            // Only a secret is read to its end.
            let is_last = |byte: &u8| is_end(byte) || (name.len() > b"cookie".len() && *byte == b';');
            return Some((value, value + bytes[value..].iter().position(is_last).unwrap_or(bytes.len() - value)));
        }
        at += pair.len() + 1;
    }
    None
}

/// Returns the indentation of the line that begins with the name at `start`; `None` if anything else stands before it.
fn line_indent(bytes: &[u8], start: usize) -> Option<usize> {
    let line = bytes[..start].iter().rev().take(80).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
    if line == 80 {
        return None;
    }
    let before = &bytes[start - line..start];
    // A text in JSON begins behind a quote.
    let before = before.rsplit(|byte| *byte == b'"').next().unwrap_or_default();
    let is_lead = |byte: &u8| is_blank(*byte) || b"+-|>#*'".contains(byte);
    before.iter().all(is_lead).then_some(before.len())
}

/// Returns whether the first word of `near` is all that its line holds, a comment aside.
fn fills_line(near: &[u8]) -> bool {
    let rest = &near[value_length(near, Writing::Line)..];
    let blank = rest.iter().take_while(|byte| is_blank(**byte)).count();
    matches!(rest.get(blank), None | Some(b'\n' | b'\r' | b'"' | b'\\')) || (blank > 0 && rest[blank] == b'#')
}

/// Returns a value of YAML that stands below its name, as a block or alone in its line.
fn value_below(bytes: &[u8], start: usize, indent: usize) -> Option<(usize, usize)> {
    let marks = bytes[start..].iter().take(3).take_while(|byte| b"|>-+".contains(byte)).count();
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if !bytes.get(start + marks).is_some_and(is_end) || (marks > 0 && !matches!(bytes[start], b'|' | b'>')) {
        return None;
    }
    let mut end = start + marks;
    let mut first = None;
    while let Some(line) = bytes.get(end..) {
        let breaks = line.iter().take_while(|byte| is_end(byte)).count();
        let blank = line[breaks..].iter().take_while(|byte| is_blank(**byte)).count();
        let text = &line[breaks + blank..];
        let length = text.iter().take_while(|byte| !is_end(byte) && **byte != b'"').count();
        if breaks == 0 || length == 0 || blank <= indent || (marks == 0 && text[..length].contains(&b' ')) {
            break;
        }
        first.get_or_insert(end + breaks + blank);
        end += breaks + blank + length;
        if marks == 0 {
            break;
        }
    }
    first.map(|first| (first, end))
}

/// Returns whether a value is a user and a password in base64, where the name asks for that.
fn is_login(value: &[u8], assigned: Assigned) -> bool {
    if assigned != Assigned::Login {
        return true;
    }
    let decoded = base64_runs::decoded(value);
    decoded.iter().all(|byte| matches!(byte, 0x20..0x7f)) && decoded[..].iter().position(|byte| *byte == b':') > Some(0)
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

/// Returns the length of the first word of a quoted value.
fn quoted_word_length(bytes: &[u8], quote: u8) -> usize {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == quote || *byte == b'"';
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// Returns where a quoted value ends: at its quote, or else at the first white space.
fn quoted_end(bytes: &[u8], quote: u8) -> usize {
    let word = quoted_word_length(bytes, quote);
    let rest = &bytes[word..bytes.len().min(word + LOOKED_AT)];
    // Of a passphrase the first word has decided.
    word + quoted_length(rest, quote).filter(|length| !rest[..*length].contains(&b'\\')).unwrap_or_default()
}

/// Returns how far a value without quotes reaches. It never holds a double quote, which may end a JSON string.
fn value_length(bytes: &[u8], writing: Writing) -> usize {
    let ends = |byte: &u8| {
        byte.is_ascii_whitespace()
            || match writing {
                Writing::Line => *byte == b'"',
                Writing::Environment | Writing::Quoted => is_quote(*byte),
                Writing::Bare => is_quote(*byte) || b"\\,;&|<>(){}[]".contains(byte),
            }
    };
    bytes.iter().position(ends).unwrap_or(bytes.len())
}

/// Returns whether the byte behind a quote shows that it was the closing one.
pub(super) fn ends_quoted(byte: u8) -> bool {
    b",)]}>:;".contains(&byte)
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
