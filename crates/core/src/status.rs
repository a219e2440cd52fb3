//! What a session does.

use std::fmt;

/// What a session's main loop does, as the log and the database write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// A turn runs.
    Working,
    /// A turn runs and waits for a person.
    Blocked,
    /// No turn has run yet, or a person has seen that it ended.
    Idle,
    /// The turn is over, and nobody has looked yet.
    Completed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Working, Self::Blocked, Self::Idle, Self::Completed];

    /// Returns the status called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns the status's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Idle => "idle",
            Self::Completed => "completed",
        }
    }

    /// Returns whether a turn runs.
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
