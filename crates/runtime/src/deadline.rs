//! The deadline of a hook.

use std::time::{Duration, Instant};

/// The time by which a process must have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline that is `after` from now.
    pub fn after(after: Duration) -> Self {
        Self(Instant::now() + after)
    }

    /// Returns the time left.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
