//! `bin/SHA256SUMS`: the checksums of every target's executables.

use std::collections::BTreeMap;
use std::fmt;

use crate::Machine;

/// The name of the file, in `bin/`.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// The length of a SHA-256 checksum in hexadecimal digits.
const DIGITS: usize = 64;

/// The checksums of the executables, by target and name.
///
/// They detect a file that is incomplete or damaged. They do not protect against somebody who can change the bundle, and
/// with it this file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checksums(BTreeMap<(String, String), String>);

/// The number of the line that is not a checksum and a path, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    /// The number of the line, from 1.
    pub line: usize,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of {CHECKSUMS} is not a checksum with the path of an executable", self.line)
    }
}

impl std::error::Error for ParseError {}

impl Checksums {
    /// Reads the file, which has the form that `sha256sum --check` reads.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut sums = Self::default();
        for (at, line) in text.lines().enumerate() {
            let error = ParseError { line: at + 1 };
            let (sum, path) = line.split_once("  ").ok_or(error)?;
            let (target, name) = path.split_once('/').ok_or(error)?;
            let is_sum = sum.len() == DIGITS
                && sum.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
            if !is_sum || Machine::of(target).is_none() || !is_name(name) {
                return Err(error);
            }
            sums.insert(target, name, sum);
        }
        Ok(sums)
    }

    /// Adds the checksum of an executable, in lower-case hexadecimal digits.
    pub fn insert(&mut self, target: &str, name: &str, sum: &str) {
        self.0.insert((target.to_owned(), name.to_owned()), sum.to_owned());
    }

    /// Returns the executables of a target with their checksums, sorted by name.
    pub fn of_target<'a>(&'a self, target: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let entries = self.0.iter().filter(move |((of, _), _)| of == target);
        entries.map(|((_, name), sum)| (name.as_str(), sum.as_str()))
    }
}

impl fmt::Display for Checksums {
    /// Writes the text of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|((target, name), sum)| writeln!(f, "{sum}  {target}/{name}"))
    }
}

/// Returns whether `name` can be the name of an executable, and no path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
