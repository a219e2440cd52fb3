//! Secrets inside base64: long runs are decoded, and searched like any other text.

use super::decoded_view::DecodedView;
use super::scanner::{self, Secret, SecretKind};

/// The shortest run that is decoded: it may hold 20 bytes, the shortest token that is known by its shape.
const SHORTEST: usize = 27;

/// The first characters of a run decide whether it holds text.
const PROBE: usize = 24;

/// Longer runs are decoded up to here.
const LONGEST: usize = 64 * 1024;

/// A line of this many characters that ends in a line break goes on in the next line.
const FULL_LINE: usize = 60;

/// Decoded text is searched for base64 again, this many times: a registry's login is base64 inside base64.
const DEEPEST: usize = 2;

/// How much of a run is searched for a sign behind which the base64 may begin, and how many signs are tried.
const JOINED_WITHIN: usize = 256;
const MOST_SIGNS: usize = 16;

/// The longest line break, indentation aside: in escaped text one stands for every byte of its escape.
const LONGEST_BREAK: usize = 8;

/// The deepest indentation of a wrapped line.
const LONGEST_INDENT: usize = 32;

/// Returns the parts of base64 runs that hold secrets, not in order.
pub(crate) fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
    secrets_below(bytes, 0)
}

fn secrets_below(bytes: &[u8], depth: usize) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut start = 0;
    // From the end of the shortest run backwards: in ordinary text a few bytes show that there is none.
    while let Some(window) = bytes.get(start..start + SHORTEST) {
        if let Some(last) = window.iter().rposition(|byte| !is_base64(*byte)) {
            start += last + 1;
            continue;
        }
        let rest = &bytes[start + SHORTEST..];
        let end = start + SHORTEST + rest.iter().take_while(|byte| is_base64(**byte)).count();
        start = search(bytes, start, end, depth, &mut secrets);
    }
    secrets
}

/// Searches the run from `start` to `end` and the lines that continue it; returns where the search ended.
fn search(bytes: &[u8], start: usize, end: usize, depth: usize, secrets: &mut Vec<Secret>) -> usize {
    let Some(begin) = text_start(&bytes[start..end]) else { return end };
    let positions = joined_lines(bytes, start + begin, end);
    let decoded = decode(bytes, &positions);
    // What was encoded may hold escapes, or be UTF-16, in which every other byte is zero.
    let view = DecodedView::of_bytes(&decoded);
    let mut found = scanner::scan(view.bytes());
    if depth + 1 < DEEPEST {
        found.extend(secrets_below(view.bytes(), depth + 1));
    }
    for secret in found {
        let first = view.start(secret.start) / 3 * 4;
        let last = (view.end(secret.end).div_ceil(3) * 4).min(positions.len());
        if let Some(range) = positions.get(first..last).filter(|range| !range.is_empty()) {
            let mut end = range[range.len() - 1] + 1;
            end += bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            secrets.push(Secret { start: range[0], end, kind: SecretKind::Run });
        }
    }
    positions.last().map_or(end, |last| last + 1)
}

/// Returns where in a run the base64 of some text begins.
///
/// Text that is joined to a run shifts its groups of four. A path or a name may be joined to it by a sign that base64 has.
fn text_start(run: &[u8]) -> Option<usize> {
    let signs = run.iter().take(JOINED_WITHIN).enumerate().filter(|(_, byte)| !byte.is_ascii_alphanumeric());
    let behind_signs = signs.map(|(at, _)| at + 1).take(MOST_SIGNS);
    (0..4).chain(behind_signs).find(|start| is_text(&run[*start..]))
}

/// Returns whether the beginning of a run decodes to text: UTF-8, or ASCII in UTF-16.
fn is_text(run: &[u8]) -> bool {
    let Some(probe) = run.get(..PROBE) else { return false };
    let mut decoded = [0; PROBE / 4 * 3];
    for (bytes, group) in decoded.chunks_exact_mut(3).zip(probe.chunks_exact(4)) {
        bytes.copy_from_slice(&group_of(group));
        // Most runs end here.
        if bytes.iter().all(|byte| !is_printable(*byte) && *byte < 0x80) {
            return false;
        }
    }
    is_utf8_text(&decoded) || is_utf16_text(&decoded)
}

fn is_utf8_text(bytes: &[u8]) -> bool {
    let is_whole = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The probe may end within a character.
        Err(error) => error.error_len().is_none(),
    };
    is_whole && bytes.iter().all(|byte| is_printable(*byte) || *byte >= 0x80)
}

fn is_utf16_text(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xff\xfe").unwrap_or(bytes);
    bytes.chunks_exact(2).all(|unit| is_printable(unit[0]) && unit[1] == 0)
}

/// Returns the positions of a run's characters, over the line breaks that wrap it.
fn joined_lines(bytes: &[u8], start: usize, end: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (start..end.min(start + LONGEST)).collect();
    let mut line = start;
    let mut at = end;
    while at - line >= FULL_LINE && positions.len() < LONGEST {
        let wrap = wrap_length(&bytes[at..]);
        let next = at + wrap;
        let length = bytes[next..].iter().take_while(|byte| is_base64(**byte)).count();
        if wrap == 0 || length == 0 {
            break;
        }
        positions.extend(next..next + length);
        (line, at) = (next, next + length);
    }
    positions.truncate(LONGEST);
    positions
}

/// Returns the length of a line break with the indentation behind it.
fn wrap_length(bytes: &[u8]) -> usize {
    let breaks = bytes.iter().take(LONGEST_BREAK).take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let indent = bytes[breaks..].iter().take(LONGEST_INDENT).take_while(|byte| **byte == b' ').count();
    if breaks == 0 { 0 } else { breaks + indent }
}

/// Returns what a run without line breaks decodes to, its padding aside.
pub(crate) fn decoded(run: &[u8]) -> Vec<u8> {
    let length = run.iter().take(LONGEST).take_while(|byte| is_base64(**byte)).count();
    decode(run, &(0..length).collect::<Vec<_>>())
}

fn decode(bytes: &[u8], positions: &[usize]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(positions.len() / 4 * 3 + 3);
    for group in positions.chunks(4) {
        let mut characters = [b'A'; 4];
        for (character, at) in characters.iter_mut().zip(group) {
            *character = bytes[*at];
        }
        let whole = group_of(&characters);
        decoded.extend_from_slice(&whole[..group.len().saturating_sub(1)]);
    }
    decoded
}

/// Returns the three bytes of four characters.
fn group_of(characters: &[u8]) -> [u8; 3] {
    let bits = characters.iter().fold(0_u32, |bits, character| bits << 6 | u32::from(value_of(*character)));
    [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
}

fn value_of(character: u8) -> u8 {
    match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    }
}

#[inline]
fn is_base64(byte: u8) -> bool {
    const ALPHABET: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            let letter = byte as u8;
            table[byte] = letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/' | b'-' | b'_');
            byte += 1;
        }
        table
    };
    ALPHABET[usize::from(byte)]
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r' | 0x1b)
}
