//! Secrets that are known by the place where they stand: an element of XML, a line of `.pgpass` or `.netrc`, a
//! statement of SQL, a secret of Kubernetes, a key of PuTTY, behind `Bearer`, and in addresses: `scheme://user:…@host`.

use memchr::memmem;

use super::assignments::{ends_quoted, is_quote};
use super::names::kind_of;
use super::scanner::{Secret, SecretKind};
use super::shapes::Body;
use super::values::{Assigned, Makeup, Writing, is_placeholder, looks_secret};

type Run = (usize, usize);

/// Returns the text of the element of XML whose tag ends at `at`: `<password>…</password>`.
pub(crate) fn element_text(bytes: &[u8], at: usize) -> Option<Run> {
    let first = at.saturating_sub(120);
    let open = first + bytes[first..at].iter().rposition(|byte| matches!(byte, b'<' | b'>'))?;
    let tag = &bytes[open + 1..at];
    let name = &tag[..tag.iter().position(u8::is_ascii_whitespace).unwrap_or(tag.len())];
    let name = name.rsplit(|byte| *byte == b':').next()?;
    let assigned = kind_of(name)?;
    let text = &bytes[at + 1..bytes.len().min(at + 401)];
    let end = text.iter().position(|byte| matches!(byte, b'<' | b'"' | b'\n' | b'\r'))?;
    let is_text = bytes[open] == b'<' && text[end..].starts_with(b"</");
    (is_text && looks_secret(text.get(..end)?, assigned, Writing::Quoted)).then_some((at + 1, at + 1 + end))
}

/// Returns the password of a statement of SQL whose quote is at `at`: `PASSWORD '…'`, `IDENTIFIED BY '…'`.
pub(crate) fn sql_password(bytes: &[u8], at: usize) -> Option<Run> {
    let before = bytes[..at].trim_ascii_end();
    let before = before.strip_suffix(b"PASSWORD(").map_or(before, |_| &before[..before.len() - 1]);
    let ends =
        |word: &[u8]| before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word);
    if !ends(b"password") && !ends(b"identified by") {
        return None;
    }
    let value = &bytes[at + 1..bytes.len().min(at + 201)];
    let end = value.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'\n'))?;
    (end > 0 && looks_secret(&value[..end], Assigned::Password, Writing::Quoted)).then_some((at + 1, at + 1 + end))
}

/// Returns the password of a line of `.pgpass`, `host:port:database:user:password`; `at` is the second colon.
pub(crate) fn pgpass_password(bytes: &[u8], at: usize) -> Option<Run> {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"');
    let line = bytes[..at].iter().rev().take(100).take_while(|byte| !is_break(byte)).count();
    let mut before = bytes[at - line..at].split(|byte| *byte == b':');
    let (host, port) = (before.next()?, before.next()?);
    let is_port = port == b"*" || ((2..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit));
    let is_word = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| Body::Dotted.has(*byte) || *byte == b'*');
    if !is_port || !is_word(host) || before.next().is_some() {
        return None;
    }
    let rest = &bytes[at + 1..bytes.len().min(at + 301)];
    // A longer line is none of that file.
    let rest = &rest[..rest.iter().position(is_break).or_else(|| (rest.len() < 300).then_some(rest.len()))?];
    let mut fields = rest.splitn(3, |byte| *byte == b':');
    let (database, user, password) = (fields.next()?, fields.next()?, fields.next()?);
    let is_name = |text: &[u8]| is_word(text) && !text[0].is_ascii_digit();
    let is_line = is_name(database)
        && is_name(user)
        && password.len() >= 4
        && !password.contains(&b':')
        && !password.contains(&b' ')
        && !is_placeholder(password);
    is_line.then(|| (at + 1 + rest.len() - password.len(), at + 1 + rest.len()))
}

/// Returns the secrets that are known by a word before them, not in order.
pub(crate) fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    let mut runs = Vec::new();
    for at in memmem::find_iter(bytes, b"earer ") {
        runs.extend(bearer(bytes, at + 6));
    }
    for at in memmem::find_iter(bytes, b"password ") {
        runs.extend(netrc_password(bytes, at));
    }
    for word in [&b"setenv "[..], b"set -x ", b"set -gx ", b"ENV "] {
        for at in memmem::find_iter(bytes, word) {
            runs.extend(environment_value(bytes, at + word.len()));
        }
    }
    for at in memmem::find_iter(bytes, b"requirepass ") {
        runs.extend(
            word(bytes, at + 12).filter(|run| looks_secret(&bytes[run.0..run.1], Assigned::Password, Writing::Line)),
        );
    }
    for at in memmem::find_iter(bytes, b"Private-Lines:") {
        runs.extend(putty_key(bytes, at));
    }
    for at in memmem::find_iter(bytes, b"Private-MAC: ") {
        runs.extend(token(bytes, at + 13).filter(|run| run.1 - run.0 >= 32));
    }
    let mut done = 0;
    for at in memmem::find_iter(bytes, b"Secret") {
        if at >= done {
            done = kubernetes_values(bytes, at, done, &mut runs);
        }
    }
    runs.into_iter().map(|(start, end)| Secret { start, end, kind: SecretKind::Run }).collect()
}

/// Returns the token behind `Bearer`.
fn bearer(bytes: &[u8], at: usize) -> Option<Run> {
    let (start, end) = token(bytes, at)?;
    let value = &bytes[start..end];
    let is_token = matches!(bytes[..at - 6].last(), Some(b'B' | b'b')) && value.len() >= 16;
    (is_token && Makeup::of(value).looks_random() && !is_placeholder(value)).then_some((start, end))
}

/// Returns the password behind the word at `at`, if it is that of a `.netrc`: behind a machine and a login.
fn netrc_password(bytes: &[u8], at: usize) -> Option<Run> {
    let before = &bytes[at.saturating_sub(300)..at];
    let login = memmem::rfind(before, b"login ")?;
    memmem::find(&before[..login], b"machine ").or_else(|| memmem::find(&before[..login], b"default "))?;
    let (start, end) = word(bytes, at + b"password ".len())?;
    (end - start >= 4 && !is_placeholder(&bytes[start..end])).then_some((start, end))
}

/// Returns the value behind the name at `at`: `setenv NAME value`.
fn environment_value(bytes: &[u8], at: usize) -> Option<Run> {
    let length = bytes[at..].iter().take(64).take_while(|byte| Body::Word.has(**byte)).count();
    let assigned = kind_of(&bytes[at..at + length])?;
    let quotes = bytes[at + length..].iter().skip(1).take(4).take_while(|byte| is_quote(**byte)).count();
    let (start, end) = word(bytes, at + length + 1 + quotes).filter(|_| bytes[at + length] == b' ')?;
    if quotes > 0 && ends_quoted(bytes[start]) {
        return None;
    }
    looks_secret(&bytes[start..end], assigned, Writing::Environment).then_some((start, end))
}

/// Returns the lines of a private key of PuTTY; `at` is the word before their number.
fn putty_key(bytes: &[u8], at: usize) -> Option<Run> {
    let head = bytes[at..].iter().take(40).position(|byte| *byte == b'\n')?;
    let start = at + head + bytes[at + head..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let is_line = |byte: &u8| Body::Base64.has(*byte) || matches!(byte, b'\n' | b'\r');
    let body = &bytes[start..];
    let end = memmem::find(body, b"Private-").unwrap_or(body.len());
    let length = body[..end].iter().take_while(|byte| is_line(byte)).count();
    let length = body[..length].trim_ascii_end().len();
    (length > 0).then_some((start, start + length))
}

/// Adds the values of the secret of Kubernetes whose kind stands at `at`, but none before `done`; returns up to where.
fn kubernetes_values(bytes: &[u8], at: usize, done: usize, runs: &mut Vec<Run>) -> usize {
    /// How much of a document is looked at before and behind its kind.
    const DOCUMENT: usize = 8 * 1024;

    let between =
        bytes[..at].iter().rev().take(40).take_while(|byte| is_quote(**byte) || b" :\t".contains(byte)).count();
    let is_kind = bytes[..at - between].ends_with(b"kind") && !bytes.get(at + 6).is_some_and(u8::is_ascii_alphanumeric);
    if !is_kind {
        return done;
    }
    let first = at.saturating_sub(DOCUMENT).max(done);
    let first = memmem::rfind(&bytes[first..at], b"\n---").map_or(first, |border| first + border);
    let last = bytes.len().min(at + DOCUMENT);
    let last = memmem::find(&bytes[at..last], b"\n---").map_or(last, |border| at + border);
    let mut read = first;
    for found in memmem::find_iter(&bytes[first..last], b"ata").map(|found| first + found) {
        let is_text = bytes[..found].ends_with(b"stringD");
        // `metadata` holds names.
        let is_data =
            is_text || matches!(bytes[..found], [b'd'] | [.., b' ' | b'\n' | b'"' | b'\'' | b'\t' | b'\r', b'd']);
        let name_end = found + 3 + bytes[found + 3..].iter().take(4).take_while(|byte| is_quote(**byte)).count();
        if found < read || !is_data || name_end >= last || bytes[name_end] != b':' {
            continue;
        }
        read = values_below(bytes, name_end + 1, last, is_text, runs);
    }
    last
}

/// Adds the values of the map that begins at `from`, in YAML or JSON; returns where it ends.
fn values_below(bytes: &[u8], from: usize, last: usize, is_text: bool, runs: &mut Vec<Run>) -> usize {
    let is_open = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte);
    let start = from + bytes[from..last].iter().take_while(|byte| is_open(byte)).count();
    let is_json = bytes.get(start) == Some(&b'{');
    let mut at = if is_json { start + 1 } else { from };
    while at < last {
        let line = &bytes[at..last];
        let entry_end = line.iter().position(|byte| if is_json { matches!(byte, b',' | b'}') } else { *byte == b'\n' });
        let entry = &line[..entry_end.unwrap_or(line.len())];
        if !is_json && !entry.is_empty() && !matches!(entry[0], b' ' | b'\t' | b'\r') {
            return at;
        }
        if let Some(colon) = entry.iter().position(|byte| *byte == b':') {
            let skipped = entry[colon + 1..].iter().take_while(|byte| is_open(byte)).count();
            let start = at + colon + 1 + skipped;
            // The last value may go on behind the part of the document that is looked at.
            let rest = &bytes[start.min(at + entry.len())..];
            let value = &rest[..rest.iter().position(is_open).unwrap_or(rest.len())];
            let is_value = value.len() >= 4 && (is_text || value.iter().all(|byte| Body::Base64.has(*byte)));
            if start < at + entry.len() && is_value && !is_placeholder(value) {
                runs.push((start, start + value.len()));
            }
        }
        at += entry.len();
        if is_json && bytes.get(at) == Some(&b'}') {
            return at;
        }
        at += 1;
    }
    last
}

/// Returns the word that begins at or behind `at`, without quotes.
fn word(bytes: &[u8], at: usize) -> Option<Run> {
    let rest = bytes.get(at..)?;
    let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let length = rest[blank..].iter().take_while(|byte| !byte.is_ascii_whitespace() && !is_quote(**byte)).count();
    (length >= 4).then_some((at + blank, at + blank + length))
}

/// Returns the run of the characters of a token that begins at `at`.
fn token(bytes: &[u8], at: usize) -> Option<Run> {
    let is_part = |byte: &u8| Body::Base64.has(*byte) || matches!(byte, b'.' | b'~');
    let length = bytes.get(at..)?.iter().take_while(|byte| is_part(byte)).count();
    (length > 0).then_some((at, at + length))
}

/// Maximum length of the user, the password and the host together, in bytes.
const USER_BYTES: usize = 300;

/// Returns the password of the address whose `://` is at `at`.
pub(super) fn address_password(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let start = at + 3;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte) || b"<>\\()".contains(byte);
    let near = &bytes[start..bytes.len().min(start + USER_BYTES)];
    let near = &near[..near.iter().position(ends).unwrap_or(near.len())];
    let plain = near.iter().position(|byte| b"/?#,".contains(byte)).unwrap_or(near.len());
    // A password may hold an `@` that should have been encoded.
    let (user, is_plain) = match near[..plain].iter().rposition(|byte| *byte == b'@') {
        Some(end) => (&near[..end], true),
        // So should `/`, `?`, `#` and `,`. In a path there may be an `@`, too.
        None => (&near[..near.iter().position(|byte| *byte == b'@')?], false),
    };
    let colon = user.iter().position(|byte| *byte == b':')?;
    let (name, password) = (&user[..colon], &user[colon + 1..]);
    let is_port = || password.iter().take_while(|byte| byte.is_ascii_digit()).count() + colon + 1 >= plain;
    if !is_plain && (plain < colon || name.is_empty() || name.contains(&b'.') || name == b"localhost" || is_port()) {
        return None;
    }
    let is_real = password.len() >= 3 && !b"$[{*%".contains(&password[0]) && !is_placeholder(password);
    is_real.then_some((start + colon + 1, start + user.len()))
}
