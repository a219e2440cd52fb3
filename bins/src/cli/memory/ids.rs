//! Ids of records, as users type them.

use anyhow::{Context, Result};
use longhaul_store::{RecordId, What};

/// Parses an id. A number alone is an observation.
pub(crate) fn parse(text: &str) -> Result<RecordId> {
    let record = RecordId::parse(text, What::Observation);
    record.with_context(|| format!("{text:?} is not the id of a record: {}", RecordId::EXAMPLES))
}

/// Returns the message that a record does not exist.
pub(crate) fn unknown(record: RecordId) -> String {
    format!("there is no record {record}: it was deleted or never existed; `longhaul memory search` lists records")
}

/// Returns the ids without duplicates, in their order. `O1` and `1` are the same.
pub(crate) fn distinct(ids: impl IntoIterator<Item = RecordId>) -> Vec<RecordId> {
    let mut distinct = Vec::new();
    for id in ids {
        if !distinct.contains(&id) {
            distinct.push(id);
        }
    }
    distinct
}
