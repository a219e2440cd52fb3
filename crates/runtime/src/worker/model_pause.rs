//! The time until which hooks do not start the worker for a model again.
//!
//! A model that does not answer must not cost a process at every turn. The end of the pause and the number of failures
//! in a row are stored in a file, so that a hook can read them without opening the database.

use std::fs;
use std::time::Duration;

use longhaul_core::Millis;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files};

/// Maximum length of a pause. A longer one comes from a clock that was ahead, and is ignored.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// `worker-pause.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPause {
    /// The end of the pause, in milliseconds since the Unix epoch.
    pub until: u64,
    /// Number of failures in a row.
    pub failures: u32,
    /// The reason.
    pub reason: String,
}

impl ModelPause {
    /// Returns the last pause, even if it is over.
    pub fn read(home: &Home) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(&home.worker_pause(), bounded_read::SMALL).ok()?).ok()
    }

    /// Returns the current pause.
    pub fn in_force(home: &Home, now: Millis) -> Option<Self> {
        let is_in_force = |pause: &Self| pause.until > now.0 && pause.until - now.0 <= LONGEST.as_millis() as u64;
        Self::read(home).filter(is_in_force)
    }

    /// Starts a pause.
    pub fn write(home: &Home, now: Millis, time: Duration, failures: u32, reason: &str) -> Result<(), Error> {
        let until = now.0.saturating_add(time.as_millis() as u64);
        let pause = Self { until, failures, reason: reason.to_owned() };
        files::replace(&home.worker_pause(), &serde_json::to_vec(&pause).unwrap_or_default())
    }

    /// Ends the pause.
    pub fn clear(home: &Home) {
        // Usually there is none.
        let _ = fs::remove_file(home.worker_pause());
    }
}
