//! How a session starts, and why it ends, as Claude Code names it.

/// How a session starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartSource {
    /// A new process.
    Startup,
    /// A session that was resumed.
    Resume,
    /// After `/clear`.
    Clear,
    /// After a compaction; the session is the same.
    Compact,
    /// A copy of another session.
    Fork,
    /// A name that this version does not know, or none.
    Other(String),
}

impl StartSource {
    /// Returns the source of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "startup" => Self::Startup,
            "resume" => Self::Resume,
            "clear" => Self::Clear,
            "compact" => Self::Compact,
            "fork" => Self::Fork,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Fork => "fork",
            Self::Other(name) => name,
        }
    }
}

/// Why a session ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// `/clear`: the client goes on with a new session.
    Clear,
    /// Another session is resumed in its place.
    Resume,
    /// The user has logged out.
    Logout,
    /// The user has left the prompt.
    PromptInputExit,
    /// A name that this version does not know, or none; `other` among them.
    Other(String),
}

impl EndReason {
    /// Returns the reason of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "clear" => Self::Clear,
            "resume" => Self::Resume,
            "logout" => Self::Logout,
            "prompt_input_exit" => Self::PromptInputExit,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Logout => "logout",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EndReason, StartSource};

    #[test]
    fn every_name_is_kept_as_it_came() {
        for name in ["startup", "resume", "clear", "compact", "fork", "something new", ""] {
            let source = StartSource::from_name(name);
            assert_eq!(source.as_str(), name);
            assert_eq!(matches!(source, StartSource::Other(_)), matches!(name, "something new" | ""), "{name}");
        }
        for name in ["clear", "resume", "logout", "prompt_input_exit", "other", "something new"] {
            let reason = EndReason::from_name(name);
            assert_eq!(reason.as_str(), name);
            assert_eq!(matches!(reason, EndReason::Other(_)), matches!(name, "other" | "something new"), "{name}");
        }
    }
}
