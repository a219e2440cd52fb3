//! The last failure of the embeddings endpoint, which only the worker calls.
//!
//! It is stored in a file, so that `longhaul doctor` and `longhaul memory stats` can report it.

use std::fs;

use longhaul_core::Millis;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files};

/// `worker-embeddings.json`. It is removed when the endpoint answers again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointTrouble {
    /// The time of the failure, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Number of failures in a row.
    pub failures: u32,
    /// The reason. It names only the host of the endpoint.
    pub error: String,
}

impl EndpointTrouble {
    /// Returns the last failure, if the endpoint has not answered since.
    pub fn read(home: &Home) -> Option<Self> {
        serde_json::from_slice(&bounded_read::bytes(&home.endpoint_trouble(), bounded_read::SMALL).ok()?).ok()
    }

    /// Records a failure.
    pub fn write(home: &Home, now: Millis, failures: u32, error: &str) -> Result<(), Error> {
        let trouble = Self { at: now.0, failures, error: error.to_owned() };
        files::replace(&home.endpoint_trouble(), &serde_json::to_vec(&trouble).unwrap_or_default())
    }

    /// Records that the endpoint answers.
    pub fn clear(home: &Home) {
        // Usually there is none.
        let _ = fs::remove_file(home.endpoint_trouble());
    }
}
