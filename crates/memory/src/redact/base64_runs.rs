//! Secrets inside base64: long runs are decoded, and searched like any other text.

use super::scanner::{self, Secret, SecretKind};

/// The shortest run that is decoded: it may hold 20 bytes, the shortest token that is known by its shape.
const SHORTEST: usize = 27;

/// The first characters of a run decide whether it holds text.
const PROBE: usize = 24;

/// Longer runs are decoded up to here.
const LONGEST: usize = 64 * 1024;

/// A line of this many characters that ends in a line break goes on in the next line.
const FULL_LINE: usize = 60;

/// Returns the parts of base64 runs that hold secrets.
pub(crate) fn secrets_in(bytes: &[u8]) -> Vec<Secret> {
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
        start = search(bytes, start, end, &mut secrets);
    }
    secrets
}

/// Searches the run from `start` to `end` and the lines that continue it; returns where the search ended.
fn search(bytes: &[u8], start: usize, end: usize, secrets: &mut Vec<Secret>) -> usize {
    // Text that is joined to a run shifts its groups of four.
    let Some(shift) = (0..4).find(|shift| is_text(&bytes[start + shift..end])) else { return end };
    let positions = joined_lines(bytes, start + shift, end);
    let decoded = decode(bytes, &positions);
    for found in scanner::scan(&decoded) {
        let first = found.start / 3 * 4;
        let last = (found.end.div_ceil(3) * 4).min(positions.len());
        if let Some(range) = positions.get(first..last).filter(|range| !range.is_empty()) {
            let mut end = range[range.len() - 1] + 1;
            end += bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            secrets.push(Secret { start: range[0], end, kind: SecretKind::Run });
        }
    }
    positions.last().map_or(end, |last| last + 1)
}

/// Returns whether the beginning of a run decodes to text.
fn is_text(run: &[u8]) -> bool {
    run.len() >= PROBE
        && run[..PROBE].chunks_exact(4).all(|group| group_of(group).iter().all(|byte| is_printable(*byte)))
}

/// Returns the positions of a run's characters, over the line breaks that wrap it.
fn joined_lines(bytes: &[u8], start: usize, end: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (start..end.min(start + LONGEST)).collect();
    let mut line = start;
    let mut at = end;
    while at - line >= FULL_LINE && positions.len() < LONGEST {
        let rest = &bytes[at..];
        let wrap = if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
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
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')
}
