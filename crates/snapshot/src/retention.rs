//! Which snapshots are dropped, and in which order. How long and how much is kept is a setting (`snapshots` in
//! `core/src/config.rs`).

use longhaul_core::Millis;

/// A snapshot, as far as its age and size matter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Its number.
    pub id: i64,
    /// When it was taken.
    pub at: Millis,
    /// How many bytes it added to the store; `u64::MAX` if that is not known.
    pub bytes: u64,
    /// Whether it goes last: a bookmark with a note, or the state before a restore.
    pub is_pinned: bool,
}

impl Kept {
    /// Returns a snapshot that is not pinned.
    pub fn new(id: i64, at: Millis, bytes: u64) -> Self {
        Self { id, at, bytes, is_pinned: false }
    }
}

/// Returns the numbers of the snapshots that are dropped.
///
/// Dropped are those that are older than `max_age_ms` (0: none) and not pinned. If the store is `excess` bytes too large,
/// more follow: the oldest first, until they have added that many bytes. Pinned ones follow only if nothing else is dropped:
/// otherwise the store is to be measured again first. The newest snapshot always stays, and no age is counted beyond it: the
/// clock may be ahead.
pub fn retention(snapshots: &[Kept], now: Millis, max_age_ms: u64, excess: u64) -> Vec<i64> {
    let mut order: Vec<&Kept> = snapshots.iter().collect();
    order.sort_by_key(|kept| (kept.is_pinned, kept.at, kept.id));
    let newest = snapshots.iter().max_by_key(|kept| (kept.at, kept.id));
    let now = newest.map_or(now, |newest| now.min(newest.at));
    let newest = newest.map(|kept| kept.id);
    let mut has_dropped_others = false;
    let mut freed = 0_u64;
    let mut dropped = Vec::new();
    for kept in order.into_iter().filter(|kept| Some(kept.id) != newest) {
        if kept.is_pinned && has_dropped_others {
            break;
        }
        let is_old = max_age_ms > 0 && !kept.is_pinned && now.since(kept.at) > max_age_ms;
        if is_old || freed < excess {
            freed = freed.saturating_add(kept.bytes);
            has_dropped_others |= !kept.is_pinned;
            dropped.push(kept.id);
        }
    }
    dropped
}
