//! Names of records: `P12` is a prompt, `O345` an observation, `S6` a summary.

use std::fmt;

use super::What;

/// The name of a record. In each table a number is given once, and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId {
    /// The kind of the record.
    pub what: What,
    /// Its number in the table of that kind.
    pub id: i64,
}

impl RecordId {
    /// How a name is written, for error messages.
    pub const EXAMPLES: &str = "write O345 or 345 (observation), P12 (prompt) or S6 (summary)";

    /// Reads a name; a number alone is of the kind `what`. Returns `None` if the text is no name.
    pub fn parse(text: &str, what: What) -> Option<Self> {
        let name = text.trim().trim_start_matches('#');
        let (what, number) = match name.as_bytes().first() {
            Some(b'P' | b'p') => (What::Prompt, &name[1..]),
            Some(b'O' | b'o') => (What::Observation, &name[1..]),
            Some(b'S' | b's') => (What::Summary, &name[1..]),
            _ => (what, name),
        };
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|id| *id > 0 && is_plain).map(|id| Self { what, id })
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.what {
            What::Prompt => 'P',
            What::Observation => 'O',
            What::Summary => 'S',
        };
        write!(f, "{letter}{}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordId, What};

    fn name(text: &str, what: What) -> Option<String> {
        RecordId::parse(text, what).map(|record| record.to_string())
    }

    #[test]
    fn a_name_says_what_a_record_is() {
        for (text, expected) in [("345", "O345"), ("O345", "O345"), ("p12", "P12"), (" #S6 ", "S6"), ("#7", "O7")] {
            assert_eq!(name(text, What::Observation).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(name("7", What::Prompt).as_deref(), Some("P7"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "O", "x1", "-3", "+3", "0", "O1x", "1.5", "99999999999999999999", "P", "é1", "O٣"] {
            assert_eq!(name(text, What::Observation), None, "{text}");
        }
    }
}
