//! How long a query of another program's database may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long a query may run without returning a row. Checking a database of many gigabytes takes minutes.
const LIMIT: Duration = Duration::from_secs(300);

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
                waited > LIMIT
            }),
        )?;
        Ok(patience)
    }

    /// Records that a query begins, or has returned a row.
    pub(super) fn renew(&self) {
        self.newest.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }
}
