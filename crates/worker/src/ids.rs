//! Ids of records in requests.

use longhaul_store::{RecordId, What};

use crate::response::Problem;

/// Parses an id. A number alone is an observation.
pub(crate) fn parse(text: &str) -> Result<RecordId, Problem> {
    parse_as(text, What::Observation)
}

/// Parses an id. A number alone is a `what`.
pub(crate) fn parse_as(text: &str, what: What) -> Result<RecordId, Problem> {
    let unreadable = || Problem::unreadable(format!("{text:?} is not the id of a record"), RecordId::EXAMPLES);
    RecordId::parse(text, what).ok_or_else(unreadable)
}

/// Returns the error for a record that does not exist.
pub(crate) fn unknown(record: RecordId) -> Problem {
    Problem::missing(format!("there is no record {record}"), "it was deleted or never existed")
}
