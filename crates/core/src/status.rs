//! The statuses of a session: working, blocked, completed, idle, and their names.

use std::fmt;

/// The status of a session's main conversation, as the log and the database store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// A turn is running.
    Working,
    /// A turn is running and waits for the user.
    Blocked,
    /// No turn has run yet, or the user has seen that the last one ended.
    Idle,
    /// The turn has ended, and the user has not looked at the pane since.
    Completed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Working, Self::Blocked, Self::Idle, Self::Completed];

    /// Returns the status called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns the name of the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Idle => "idle",
            Self::Completed => "completed",
        }
    }

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
