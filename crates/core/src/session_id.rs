//! Session ids that are safe as file names.

use std::fmt;

/// The maximum length of a session id, in characters.
const MAX_CHARS: usize = 200;

/// The prefix of Codex's session ids, which separates them from Claude Code's.
const CODEX: &str = "codex:";

/// A session id of 1 to 200 characters out of `[A-Za-z0-9_-]`. The id of a Codex session begins with `codex:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Returns `raw` as an id, or `None` where it is empty.
    ///
    /// Every character that is not allowed becomes `_`, so that `../../etc/x` cannot name a file in another directory.
    pub fn new(raw: &str) -> Option<Self> {
        match raw.strip_prefix(CODEX) {
            Some(own) => Self::codex(own),
            None => safe(raw, MAX_CHARS).map(Self),
        }
    }

    /// Returns the id of the Codex session whose own id is `own`.
    pub fn codex(own: &str) -> Option<Self> {
        let own = own.strip_prefix(CODEX).unwrap_or(own);
        safe(own, MAX_CHARS - CODEX.len()).map(|own| Self(format!("{CODEX}{own}")))
    }

    /// Returns the id whose [`SessionId::file_stem`] is `stem`.
    ///
    /// Claude Code's ids are UUIDs, so a stem that begins with `codex_` belongs to a Codex session.
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

    /// Returns the id as a file name: only `[A-Za-z0-9_-]`.
    pub fn file_stem(&self) -> String {
        self.0.replacen(':', "_", 1)
    }

    /// Returns the client that runs the session: `claude` or `codex`.
    pub fn client(&self) -> &'static str {
        if self.is_codex() { "codex" } else { "claude" }
    }

    /// Returns whether the session belongs to Codex.
    pub fn is_codex(&self) -> bool {
        self.0.starts_with(CODEX)
    }
}

/// Returns a short form of a session id: its first eight characters, after a prefix such as `codex:`.
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
