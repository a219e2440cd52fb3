//! Waits until a condition is true, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// Long enough for the slowest machine; reached only by a test that fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// How much longer than its own limit a program may take on a busy machine, until it has started and ended.
pub(crate) const SLACK: Duration = Duration::from_secs(3);

/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Pause between two checks that start a program. Without it, they would leave no processor to what they wait for.
const PAUSE_OF_PROGRAMS: Duration = Duration::from_millis(150);

/// Returns whether `condition` became true before `deadline` had passed.
pub(crate) fn becomes_true(deadline: Duration, condition: impl FnMut() -> bool) -> bool {
    becomes_true_at(PAUSE, deadline, condition)
}

fn becomes_true_at(pause: Duration, deadline: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(pause);
    }
}

/// Waits until `look` returns something, and returns it; fails the test after `deadline`.
#[track_caller]
pub(crate) fn wait_for<T>(deadline: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_at(PAUSE, deadline, what, look)
}

/// Does the same with a `look` that starts a program.
#[track_caller]
pub(crate) fn wait_for_program<T>(deadline: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_at(PAUSE_OF_PROGRAMS, deadline, what, look)
}

#[track_caller]
fn wait_at<T>(pause: Duration, deadline: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    let came = becomes_true_at(pause, deadline, || {
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
