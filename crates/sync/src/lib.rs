#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod automatic_exchange;
mod circle_header;
mod circle_key;
mod host_name;
mod ids;
mod join_code;
mod missing_records;
mod project_identity;
mod record;
mod record_encoding;
mod seal;
mod sealed_record;
mod transfer;

pub use crate::automatic_exchange::{AFTER_TURN, AT_SESSION_START, is_due, is_pause_over, paused_until};
pub use crate::circle_header::{CircleError, CircleHeader, KeyRing, RECORD_SCHEMA};
pub use crate::circle_key::{CircleKey, WordsError};
pub use crate::host_name::host_name;
pub use crate::ids::{CircleId, EntityId, HostId, IdError, RecordId};
pub use crate::join_code::{JoinCode, JoinCodeError};
pub use crate::missing_records::{ExchangePlan, Heads, IdxRange, OwnRecords, OwnRecordsAhead, own_records, plan};
pub use crate::project_identity::{ProjectId, normalised_url};
pub use crate::record::{
    Body, BookmarkBody, DecodeError, Entry, ObservationBody, PromptBody, RECORD_KINDS, Record, SummaryBody,
};
pub use crate::seal::{MAX_PAYLOAD, NONCE_RANDOM, OpenError, SEAL_RANDOM, open, open_host_name, seal, seal_host_name};
pub use crate::sealed_record::SealedRecord;
pub use crate::transfer::{Incoming, IncomingContent, Outgoing};

#[cfg(test)]
mod tests;
