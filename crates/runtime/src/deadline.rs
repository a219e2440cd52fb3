//! How long a hook may still take.

use std::time::{Duration, Instant};

/// The moment at which a process must have answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the moment `after` from now.
    pub fn after(after: Duration) -> Self {
        Self(Instant::now() + after)
    }

    /// Returns how much time is left.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
