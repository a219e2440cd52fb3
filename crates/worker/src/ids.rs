//! Names of records, as requests give them.

use longhaul_store::{RecordId, What};

use crate::response::Problem;

/// Reads a name; a number alone is an observation.
pub(crate) fn parse(text: &str) -> Result<RecordId, Problem> {
    parse_as(text, What::Observation)
}

/// Reads a name; a number alone is a `what`.
pub(crate) fn parse_as(text: &str, what: What) -> Result<RecordId, Problem> {
    let unreadable = || Problem::unreadable(format!("{text:?} names no record"), RecordId::EXAMPLES);
    RecordId::parse(text, what).ok_or_else(unreadable)
}

/// Refuses to find a record.
pub(crate) fn unknown(record: RecordId) -> Problem {
    Problem::missing(format!("there is no record {record}"), "it was forgotten, or never was; search for others")
}
