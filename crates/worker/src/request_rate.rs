//! Limits the rate of requests to the worker: a burst, and then a number per second.

use std::sync::Mutex;
use std::time::Instant;

/// The burst of requests, and the number per second after it.
pub(crate) const REQUESTS: (u32, u32) = (2_000, 1_000);

/// The same for requests without the token.
pub(crate) const STRANGERS: (u32, u32) = (50, 10);

/// A token bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    size: f64,
    per_second: f64,
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    /// Returns a full bucket.
    pub(crate) fn new(size: u32, per_second: u32, now: Instant) -> Self {
        let size = f64::from(size);
        Self { size, per_second: f64::from(per_second), level: Mutex::new((size, now)) }
    }

    /// Takes a token; returns whether there was one.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut level = self.level.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let filled = level.0 + now.saturating_duration_since(level.1).as_secs_f64() * self.per_second;
        *level = (filled.min(self.size), now);
        let has_one = level.0 >= 1.0;
        if has_one {
            level.0 -= 1.0;
        }
        has_one
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Bucket;

    #[test]
    fn a_burst_is_answered_and_then_so_many_a_second() {
        let start = Instant::now();
        let bucket = Bucket::new(3, 2, start);
        let taken = (0..5).filter(|_| bucket.take(start)).count();
        assert_eq!(taken, 3);
        let later = start + Duration::from_secs(1);
        assert_eq!((0..5).filter(|_| bucket.take(later)).count(), 2);
        let much_later = start + Duration::from_secs(100);
        assert_eq!((0..9).filter(|_| bucket.take(much_later)).count(), 3);
    }
}
