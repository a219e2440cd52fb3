#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod circle;
mod exchange_plan;
mod ids;
mod record;
mod seal;

pub use crate::circle::{
    CircleError, CircleHeader, CircleKey, JoinCode, JoinCodeError, KeyRing, RECORD_SCHEMA, WordsError,
};
pub use crate::exchange_plan::{
    AFTER_TURN, AT_SESSION_START, ExchangePlan, Heads, IdxRange, Incoming, IncomingContent, Outgoing, OwnRecords,
    OwnRecordsAhead, is_due, is_pause_over, own_records, paused_until, plan,
};
pub use crate::ids::{CircleId, EntityId, HostId, IdError, ProjectId, RecordId, host_name, normalised_url};
pub use crate::record::{
    Body, BookmarkBody, DecodeError, Entry, ObservationBody, PromptBody, RECORD_KINDS, Record, SealedRecord,
    SummaryBody,
};
pub use crate::seal::{MAX_PAYLOAD, NONCE_RANDOM, OpenError, SEAL_RANDOM, open, open_host_name, seal, seal_host_name};

#[cfg(test)]
mod tests;
