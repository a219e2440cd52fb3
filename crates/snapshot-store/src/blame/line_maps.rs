//! The form in which the origins of a file's lines are stored: a hash of six bytes for each line, and runs of origins.

use super::decision::{Attribution, Bare, Origin, OriginId, runs, unrolled};

/// The bytes of a hash.
const HASH_BYTES: usize = 6;

/// Writes the lines and their origins.
pub(super) fn to_bytes(known: &Attribution) -> (Vec<u8>, String) {
    let mut bytes = Vec::with_capacity(known.lines.len() * HASH_BYTES + 64);
    put(&mut bytes, known.lines.len() as u64);
    for line in &known.lines {
        bytes.extend_from_slice(&line.bare.0.to_le_bytes()[..HASH_BYTES]);
    }
    // Only the origins that a line has are stored.
    let mut used: Vec<OriginId> = Vec::new();
    for (count, id) in runs(&known.origins) {
        let at = used.iter().position(|one| *one == id).unwrap_or_else(|| {
            used.push(id);
            used.len() - 1
        });
        put(&mut bytes, u64::from(count));
        put(&mut bytes, at as u64);
    }
    let origins: Vec<&Origin> = used.iter().map(|id| known.origin(*id)).collect();
    (bytes, serde_json::to_string(&origins).unwrap_or_default())
}

/// Reads what [`to_bytes`] has written; `None` if it is damaged.
pub(super) fn from_bytes(bytes: &[u8], origins: &str) -> Option<Attribution> {
    let table: Vec<Origin> = serde_json::from_str(origins).ok()?;
    let mut rest = bytes;
    let count = usize::try_from(take(&mut rest)?).ok()?;
    let hashes = rest.get(..count.checked_mul(HASH_BYTES)?)?;
    rest = &rest[hashes.len()..];
    let bare = hashes.chunks_exact(HASH_BYTES).map(|chunk| {
        let mut whole = [0; 8];
        whole[..HASH_BYTES].copy_from_slice(chunk);
        Bare(u64::from_le_bytes(whole))
    });
    let bare: Vec<Bare> = bare.collect();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (lines, id) = (take(&mut rest)?, take(&mut rest)?);
        found.push((u32::try_from(lines).ok()?, OriginId::try_from(id).ok()?));
    }
    let total: u64 = found.iter().map(|(lines, _)| u64::from(*lines)).sum();
    if total != count as u64 || found.iter().any(|(_, id)| *id as usize >= table.len()) {
        return None;
    }
    Some(Attribution::resume(&bare, unrolled(&found), table))
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
