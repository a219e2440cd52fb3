//! Names of records, as somebody types them.

use anyhow::{Context, Result};
use longhaul_store::{RecordId, What};

/// Reads a name; a number alone is an observation.
pub(crate) fn parse(text: &str) -> Result<RecordId> {
    let record = RecordId::parse(text, What::Observation);
    record.with_context(|| format!("{text:?} names no record: {}", RecordId::EXAMPLES))
}

/// Says that there is no such record, and what to do.
pub(crate) fn unknown(record: RecordId) -> String {
    format!("there is no record {record}: it was forgotten, or never was; `longhaul memory search` lists what there is")
}

/// Returns the records without repetitions, in their order: `O1` and `1` are the same.
pub(crate) fn distinct(ids: impl IntoIterator<Item = RecordId>) -> Vec<RecordId> {
    let mut distinct = Vec::new();
    for id in ids {
        if !distinct.contains(&id) {
            distinct.push(id);
        }
    }
    distinct
}
