//! A session: its id, which is safe as a file name, and its status.

use std::fmt;

use crate::named;

/// The maximum length of a session id, in characters.
const MAX_CHARS: usize = 200;

/// The agents other than Claude Code. Their session ids begin with the name and a colon, which separates them from Claude
/// Code's.
pub const OTHER_AGENTS: [&str; 4] = ["codex", "gemini", "qwen", "opencode"];

/// The agents of which one process, in one terminal, can run several sessions at the same time.
pub const AGENTS_WITH_SEVERAL_SESSIONS: [&str; 1] = ["opencode"];

/// A session id of 1 to 200 characters out of `[A-Za-z0-9_-]`. Before the id of a session of another agent than Claude Code
/// are the agent's name and a colon, as in `codex:` or `gemini:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Returns `raw` as an id, or `None` where it is empty.
    ///
    /// Every character that is not allowed becomes `_`, so that `../../etc/x` cannot name a file in another directory.
    pub fn new(raw: &str) -> Option<Self> {
        match split(raw, ':') {
            Some((agent, own)) => Self::of_agent(agent, own),
            None => safe(raw, MAX_CHARS).map(Self),
        }
    }

    /// Returns the id of the session of `agent`, one of [`OTHER_AGENTS`], whose own id is `own`; `None` for another agent.
    pub fn of_agent(agent: &str, own: &str) -> Option<Self> {
        let agent = OTHER_AGENTS.into_iter().find(|known| *known == agent)?;
        let own = split(own, ':').filter(|(prefix, _)| *prefix == agent).map_or(own, |(_, own)| own);
        safe(own, MAX_CHARS - agent.len() - 1).map(|own| Self(format!("{agent}:{own}")))
    }

    /// Returns the id of the Codex session whose own id is `own`.
    pub fn codex(own: &str) -> Option<Self> {
        Self::of_agent("codex", own)
    }

    /// Returns the id whose [`SessionId::file_stem`] is `stem`.
    ///
    /// Claude Code's ids are UUIDs, so a stem that begins with `codex_` belongs to a Codex session.
    pub fn from_file_stem(stem: &str) -> Option<Self> {
        match split(stem, '_') {
            Some((agent, own)) => Self::of_agent(agent, own),
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

    /// Returns the client that runs the session: `claude`, or one of [`OTHER_AGENTS`].
    pub fn client(&self) -> &'static str {
        split(&self.0, ':').map_or("claude", |(agent, _)| agent)
    }

    /// Returns the id that the client itself uses, without its name.
    pub fn own(&self) -> &str {
        split(&self.0, ':').map_or(&self.0, |(_, own)| own)
    }
}

/// Returns the agent before a separator, one of [`OTHER_AGENTS`], and what follows.
fn split(text: &str, separator: char) -> Option<(&'static str, &str)> {
    let (name, own) = text.split_once(separator)?;
    let agent = OTHER_AGENTS.into_iter().find(|agent| *agent == name)?;
    Some((agent, own))
}

/// Returns a short form of a session id: its first eight characters; of an id with a prefix such as `codex:`, the prefix
/// and thirteen characters.
///
/// Codex's ids begin with the time: sessions of the same minute have the same first eight characters.
pub fn short_session(id: &str) -> &str {
    let (start, length) = id.find(':').map_or((0, 8), |colon| (colon + 1, 13));
    let end = id[start..].char_indices().nth(length).map_or(id.len(), |(at, _)| start + at);
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

// The statuses of a session: working, blocked, completed, idle, and their names.

named! {
    /// The status of a session's main conversation, as the log and the database store it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
    pub enum Status {
        /// A turn is running.
        Working = "working",
        /// A turn is running and waits for the user.
        Blocked = "blocked",
        /// No turn has run yet, or the user has seen that the last one ended.
        #[default]
        Idle = "idle",
        /// The turn has ended, and the user has not looked at the pane since.
        Completed = "completed",
    }
}

impl Status {
    /// Returns whether a turn is running.
    pub fn is_running(self) -> bool {
        match self {
            Self::Working | Self::Blocked => true,
            Self::Idle | Self::Completed => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
