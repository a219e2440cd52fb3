use std::time::Duration;

use longhaul_core::Millis;

use crate::{is_due, is_pause_over, paused_until};

#[test]
fn the_pause_after_failures_doubles_up_to_an_hour() {
    let now = Millis(1_000_000);
    let pauses: Vec<u64> = (0..9).map(|earlier| (paused_until(now, earlier).0 - now.0) / 60_000).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(paused_until(now, u32::MAX), paused_until(now, 8));
}

#[test]
fn a_pause_ends_unless_the_clock_was_ahead() {
    let until = paused_until(Millis(1_000_000), 8);
    assert!(!is_pause_over(until, Millis(until.0 - 1)));
    assert!(!is_pause_over(until, Millis(1_000_000)), "the longest pause is kept");
    assert!(is_pause_over(until, until));
    assert!(is_pause_over(until, Millis(999_999)), "the clock was ahead when it failed");
}

#[test]
fn an_exchange_is_due_after_its_interval_or_if_the_clock_was_ahead() {
    let (last, interval) = (Millis(100_000), Duration::from_secs(60));
    for (now, expected) in [(100_000, false), (159_999, false), (160_000, true), (40_001, false), (40_000, true)] {
        assert_eq!(is_due(last, interval, Millis(now)), expected, "{now}");
    }
    assert!(is_due(last, Duration::ZERO, last));
}
