//! Where a continuation stands.

use std::fmt;

/// Where a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// Nothing has been asked yet.
    #[default]
    Armed,
    /// The model was asked for a handoff.
    Asked,
    /// There is a handoff; the session is being cleared.
    Clearing,
    /// The new session is there and is being prompted.
    Prompting,
    /// The new session works.
    Done,
    /// It could not go on.
    Failed,
    /// A person stepped in.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::Armed, Self::Asked, Self::Clearing, Self::Prompting, Self::Done, Self::Failed, Self::Cancelled];

    /// Returns the state as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Armed => "armed",
            Self::Asked => "asked",
            Self::Clearing => "clearing",
            Self::Prompting => "prompting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads a stored state.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns whether something is under way.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Clearing | Self::Prompting)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
