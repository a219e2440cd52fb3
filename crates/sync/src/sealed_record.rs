//! A record as the engine stores it.

use crate::{HostId, RecordId};

/// A record as the engine stores it: a header in clear text, and the encrypted payload.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedRecord {
    /// Its id.
    pub id: RecordId,
    /// The host that wrote it.
    pub host: HostId,
    /// Its number among the records of its host: 1 for the first, without gaps.
    pub idx: u64,
    /// When it was written, in milliseconds.
    pub time_ms: u64,
    /// The encrypted content. `None` if it was forgotten: the row stays, so that the numbers have no gap.
    pub payload: Option<Vec<u8>>,
}

impl SealedRecord {
    /// Returns a record without a payload.
    pub fn new(id: RecordId, host: HostId, idx: u64, time_ms: u64) -> Self {
        Self { id, host, idx, time_ms, payload: None }
    }

    /// Returns it with an encrypted payload.
    #[must_use]
    pub fn with_payload(self, payload: Option<Vec<u8>>) -> Self {
        Self { payload, ..self }
    }
}
