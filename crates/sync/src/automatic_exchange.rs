//! When an exchange starts by itself: how often at most, and how long it pauses after failures.

use std::time::Duration;

use longhaul_core::Millis;

/// After a turn, an exchange starts at most once in this time.
pub const AFTER_TURN: Duration = Duration::from_secs(60);

/// At the start of a session, at most once in this time.
pub const AT_SESSION_START: Duration = Duration::from_secs(10 * 60);

/// The pause after the first failure. Each further one doubles it.
const FIRST_PAUSE_MS: u64 = 60_000;

/// The longest pause after a failure.
const LONGEST_PAUSE_MS: u64 = 60 * 60_000;

/// Returns whether an exchange is due that starts at most once in `interval`, if the last one was started at `last`.
pub fn is_due(last: Millis, interval: Duration, now: Millis) -> bool {
    // A clock that was once far ahead must not delay it for years.
    u128::from(last.0.abs_diff(now.0)) >= interval.as_millis()
}

/// Returns the time before which no exchange starts by itself, after one that has failed now and `earlier` ones that have
/// failed in a row before it: the pause doubles, up to the longest one.
pub fn paused_until(now: Millis, earlier: u32) -> Millis {
    Millis(now.0 + FIRST_PAUSE_MS.saturating_mul(1 << earlier.min(16)).min(LONGEST_PAUSE_MS))
}

/// Returns whether a pause until `until` is over.
pub fn is_pause_over(until: Millis, now: Millis) -> bool {
    // A clock that was once far ahead must not delay it for years.
    now >= until || until.since(now) > LONGEST_PAUSE_MS
}
