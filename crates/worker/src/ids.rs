//! Names of records: `P12` is a prompt, `O345` an observation, `S6` a summary; a number alone is an observation.

use longhaul_store::{RecordId, What};

use crate::answer::Problem;

/// Reads a name.
pub(crate) fn parse(text: &str) -> Result<RecordId, Problem> {
    parse_as(text, What::Observation)
}

/// Reads a name; a number alone is a `what`.
pub(crate) fn parse_as(text: &str, what: What) -> Result<RecordId, Problem> {
    let name = text.trim().trim_start_matches('#');
    let (what, number) = match name.as_bytes().first() {
        Some(b'P' | b'p') => (What::Prompt, &name[1..]),
        Some(b'O' | b'o') => (What::Observation, &name[1..]),
        Some(b'S' | b's') => (What::Summary, &name[1..]),
        _ => (what, name),
    };
    match number.parse::<i64>() {
        Ok(id) if id > 0 && number.bytes().all(|byte| byte.is_ascii_digit()) => Ok(RecordId { what, id }),
        _ => Err(Problem::unreadable(
            format!("{text:?} names no record"),
            "write O345 or 345 (observation), P12 (prompt) or S6 (summary)",
        )),
    }
}

/// Writes a name.
pub(crate) fn name(record: RecordId) -> String {
    let letter = match record.what {
        What::Prompt => 'P',
        What::Observation => 'O',
        What::Summary => 'S',
    };
    format!("{letter}{}", record.id)
}

/// Refuses to find a record.
pub(crate) fn unknown(record: RecordId) -> Problem {
    Problem::missing(
        format!("there is no record {}", name(record)),
        "it was forgotten, or never was; search for others",
    )
}
