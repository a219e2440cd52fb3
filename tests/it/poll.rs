//! Waits until a condition is true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; reached only by a test that fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// How much longer than its own limit a program may take on a busy machine, until it has started and ended.
pub(crate) const SLACK: Duration = Duration::from_secs(3);

/// The shortest and the longest pause between two checks.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(100)];

/// Returns whether `condition` became true before `deadline` had passed.
///
/// The longer it has waited, the less often it checks: many checks start a program, which takes time from what they wait for.
pub(crate) fn becomes_true(deadline: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if condition() {
            return true;
        }
        let waited = begun.elapsed();
        if waited >= deadline {
            return false;
        }
        thread::sleep((waited / 10).clamp(PAUSES[0], PAUSES[1]));
    }
}

/// Waits until `look` returns something, and returns it; fails the test after `deadline`.
#[track_caller]
pub(crate) fn wait_for<T>(deadline: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    let came = becomes_true(deadline, || {
        found = look();
        found.is_some()
    });
    assert!(came, "waited {deadline:?} in vain for {what}");
    found.expect("the condition has seen it")
}

/// Waits until `condition` is true; fails the test after `deadline`.
#[track_caller]
pub(crate) fn wait_until(deadline: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(deadline, what, || condition().then_some(()));
}
