//! Session ids, made safe to be a file name.

use std::fmt;

/// The longest file stem that a session id may become.
const MAX_CHARS: usize = 200;

/// A session id in the form in which it names files: only `[A-Za-z0-9_-]`, at most 200 characters, never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Returns the id made of `raw`, or `None` where there is nothing to make one of.
    ///
    /// Every other character becomes `_`, so `../../etc/x` cannot leave the directory that it is put into.
    pub fn new(raw: &str) -> Option<Self> {
        let safe: String = raw.chars().take(MAX_CHARS).map(safe_char).collect();
        (!safe.is_empty()).then_some(Self(safe))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn safe_char(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
