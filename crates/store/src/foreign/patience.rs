//! Interrupts a query of another program's database that takes too long. How long it may take is in `limits.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::limits::QUERY_TIME;

/// After how many steps of a query the clock is read.
const STEPS: i32 = 10_000;

/// Interrupts a query that does not return its next row in time.
#[derive(Debug)]
pub(super) struct Patience {
    began: Instant,
    /// When the last row was returned, in milliseconds after `began`.
    newest: Arc<AtomicU64>,
}

impl Patience {
    /// Watches every query of a connection from now on.
    pub(super) fn watch(connection: &mut Connection) -> rusqlite::Result<Self> {
        let patience = Self { began: Instant::now(), newest: Arc::default() };
        let (began, newest) = (patience.began, Arc::clone(&patience.newest));
        connection.progress_handler(
            STEPS,
            Some(move || {
                let waited = began.elapsed().saturating_sub(Duration::from_millis(newest.load(Ordering::Relaxed)));
                waited > QUERY_TIME
            }),
        )?;
        Ok(patience)
    }

    /// Records that a query begins, or has returned a row.
    pub(super) fn renew(&self) {
        self.newest.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}
