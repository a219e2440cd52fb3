//! Waits until a condition is true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; reached only by a test that fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Pause between two checks, at least and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// Returns whether `condition` became true before `deadline` had passed.
pub(crate) fn becomes_true(deadline: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        let started = Instant::now();
        if condition() {
            return true;
        }
        let now = Instant::now();
        if now >= end {
            return false;
        }
        // A check that starts a program takes long, and would leave no processor to what it waits for.
        thread::sleep(((now - started) * 2).clamp(PAUSE.0, PAUSE.1));
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
