//! The form in which the origins of a file's lines are stored: a hash of six bytes for each line, and runs of origins.

use std::collections::HashMap;

use super::decision::{Attribution, Bare, Origin, OriginId, Runs, runs, unrolled};

const HASH_BYTES: usize = 6;

/// Writes the lines and their origins.
pub(super) fn to_bytes(known: &Attribution) -> (Vec<u8>, String) {
    let mut bytes = Vec::with_capacity(known.lines.len() * HASH_BYTES + 64);
    put(&mut bytes, known.lines.len() as u64);
    for line in &known.lines {
        bytes.extend_from_slice(&line.bare.0.to_le_bytes()[..HASH_BYTES]);
    }
    // Only the origins that a line has are stored.
    let mut used = Used::default();
    put_runs(&mut bytes, &runs(&known.origins), &mut used);
    // What the file was before: a checkout or an undo may bring it back.
    let recent: Vec<_> = known.recent(RECENT).collect();
    put(&mut bytes, recent.len() as u64);
    for (id, runs) in recent {
        bytes.extend_from_slice(&id.to_le_bytes());
        put_runs(&mut bytes, runs, &mut used);
    }
    let origins: Vec<&Origin> = used.all.iter().map(|id| known.origin(*id)).collect();
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
    let found = take_runs(&mut rest, table.len())?;
    if found.iter().map(|(lines, _)| u64::from(*lines)).sum::<u64>() != count as u64 {
        return None;
    }
    let origins = table.len();
    let mut known = Attribution::resume(&bare, unrolled(&found), table);
    for _ in 0..take(&mut rest)? {
        let id = u64::from_le_bytes(rest.get(..8)?.try_into().ok()?);
        rest = &rest[8..];
        known.recall(id, take_runs(&mut rest, origins)?);
    }
    Some(known)
}

/// How many earlier versions are stored.
const RECENT: usize = 32;

/// The most lines of a version; more can only be damage.
const MAX_LINES: u64 = 100_000_000;

/// The origins that are stored, in the order of their new numbers.
#[derive(Default)]
struct Used {
    all: Vec<OriginId>,
    places: HashMap<OriginId, usize>,
}

fn put_runs(bytes: &mut Vec<u8>, runs: &Runs, used: &mut Used) {
    put(bytes, runs.len() as u64);
    for (count, id) in runs {
        let at = *used.places.entry(*id).or_insert_with(|| {
            used.all.push(*id);
            used.all.len() - 1
        });
        put(bytes, u64::from(*count));
        put(bytes, at as u64);
    }
}

fn take_runs(rest: &mut &[u8], origins: usize) -> Option<Runs> {
    let mut runs = Runs::new();
    let mut lines = 0_u64;
    for _ in 0..take(rest)? {
        let (count, id) = (take(rest)?, take(rest)?);
        lines = lines.saturating_add(count);
        if lines > MAX_LINES || id >= origins as u64 {
            return None;
        }
        runs.push((u32::try_from(count).ok()?, OriginId::try_from(id).ok()?));
    }
    Some(runs)
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
