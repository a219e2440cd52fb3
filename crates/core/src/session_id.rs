//! Session ids, made safe to be a file name.

use std::fmt;

/// The longest file stem that a session id may become.
const MAX_CHARS: usize = 200;

/// What the ids of Codex's sessions begin with, so that nobody takes them for the first client's.
const CODEX: &str = "codex:";

/// A session id: only `[A-Za-z0-9_-]`, at most 200 characters, never empty; that of a Codex session begins with `codex:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Returns the id made of `raw`, or `None` where there is nothing to make one of.
    ///
    /// Every other character becomes `_`, so `../../etc/x` cannot leave the directory that it is put into.
    pub fn new(raw: &str) -> Option<Self> {
        match raw.strip_prefix(CODEX) {
            Some(own) => Self::codex(own),
            None => safe(raw, MAX_CHARS).map(Self),
        }
    }

    /// Returns the id of the Codex session that Codex itself calls `own`.
    pub fn codex(own: &str) -> Option<Self> {
        let own = own.strip_prefix(CODEX).unwrap_or(own);
        safe(own, MAX_CHARS - CODEX.len()).map(|own| Self(format!("{CODEX}{own}")))
    }

    /// Returns the id whose [`SessionId::file_stem`] is `stem`.
    ///
    /// Ids of the first client are UUIDs: what begins as a Codex session's does is one.
    pub fn from_file_stem(stem: &str) -> Option<Self> {
        match stem.strip_prefix("codex_") {
            Some(own) => Self::codex(own),
            None => Self::new(stem),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id as it names files: only `[A-Za-z0-9_-]`.
    pub fn file_stem(&self) -> String {
        self.0.replacen(':', "_", 1)
    }

    /// Returns the client whose session it is.
    pub fn client(&self) -> &'static str {
        if self.is_codex() { "codex" } else { "claude" }
    }

    /// Returns whether it is a session of Codex.
    pub fn is_codex(&self) -> bool {
        self.0.starts_with(CODEX)
    }
}

/// Returns enough of a session's id to find it by: the first part of a UUID, with what stands before a colon.
pub fn short_session(id: &str) -> &str {
    let start = id.find(':').map_or(0, |colon| colon + 1);
    let end = id[start..].char_indices().nth(8).map_or(id.len(), |(at, _)| start + at);
    &id[..end]
}

fn safe(raw: &str, most: usize) -> Option<String> {
    let safe: String = raw.chars().take(most).map(safe_char).collect();
    (!safe.is_empty()).then_some(safe)
}

fn safe_char(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
