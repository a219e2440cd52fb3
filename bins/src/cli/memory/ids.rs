//! Names of records: `P12` is a prompt, `O345` an observation, `S6` a summary; a number alone is an observation.

use anyhow::{Result, bail};
use longhaul_store::{RecordId, What};

/// Reads a name.
pub(crate) fn parse(text: &str) -> Result<RecordId> {
    let name = text.trim().trim_start_matches('#');
    let (what, number) = match name.chars().next() {
        Some('P' | 'p') => (What::Prompt, &name[1..]),
        Some('O' | 'o') => (What::Observation, &name[1..]),
        Some('S' | 's') => (What::Summary, &name[1..]),
        _ => (What::Observation, name),
    };
    match number.parse::<i64>() {
        Ok(id) if id > 0 && number.bytes().all(|byte| byte.is_ascii_digit()) => Ok(RecordId { what, id }),
        _ => bail!("{text:?} names no record: write O345 or 345 (observation), P12 (prompt) or S6 (summary)"),
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

/// Says that there is no such record, and what to do.
pub(crate) fn unknown(record: RecordId) -> String {
    let name = name(record);
    format!("there is no record {name}: it was forgotten, or never was; `longhaul memory search` lists what there is")
}

#[cfg(test)]
mod tests {
    use super::{name, parse};

    #[test]
    fn a_name_says_what_a_record_is() {
        for (text, expected) in [("345", "O345"), ("O345", "O345"), ("p12", "P12"), (" #S6 ", "S6"), ("#7", "O7")] {
            assert_eq!(parse(text).map(name).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_an_example() {
        for text in ["", "O", "x1", "-3", "+3", "0", "O1x", "1.5", "99999999999999999999", "P", "é1", "O٣"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("O345"), "{text}: {error}");
        }
    }
}
