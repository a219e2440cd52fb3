//! The states of a plan, and how it asks for a handoff, as they are stored.

use std::fmt;

/// The state of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// No handoff has been asked for.
    #[default]
    Armed,
    /// The model was asked for a handoff.
    Asked,
    /// The handoff has arrived, and the session is being cleared.
    Clearing,
    /// The new session has started and is being prompted.
    Prompting,
    /// The new session works.
    Done,
    /// The continuation failed.
    Failed,
    /// The user took over, or cancelled it.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::Armed, Self::Asked, Self::Clearing, Self::Prompting, Self::Done, Self::Failed, Self::Cancelled];

    /// Returns the stored name of the state.
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

    /// Returns the state with the stored name `text`.
    pub fn from_stored(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns whether a continuation is in progress.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Asked | Self::Clearing | Self::Prompting)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The stored name of this state says nothing to a user.
        f.write_str(if *self == Self::Armed { "ready" } else { self.as_str() })
    }
}

/// How a handoff is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Question {
    /// At the end of a turn, which then goes on and answers it.
    #[default]
    AtTurnEnd,
    /// By a prompt that has not arrived yet.
    PromptToType,
    /// By a prompt that has arrived. The turn that it began answers it.
    Prompt,
    /// By a prompt that reminds the model of the question after a pause, and that has not arrived yet.
    ReminderToType,
    /// By such a reminder that has arrived.
    Reminder,
}

impl Question {
    const ALL: [Self; 5] = [Self::AtTurnEnd, Self::PromptToType, Self::Prompt, Self::ReminderToType, Self::Reminder];

    /// Returns the stored number.
    pub fn number(self) -> i64 {
        match self {
            Self::AtTurnEnd => 0,
            Self::Prompt => 1,
            Self::PromptToType => 2,
            Self::Reminder => 3,
            Self::ReminderToType => 4,
        }
    }

    /// Returns the question with the stored number `number`.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.number() == number)
    }

    /// Returns whether the question waits to be typed.
    pub fn is_to_type(self) -> bool {
        matches!(self, Self::PromptToType | Self::ReminderToType)
    }

    /// Returns whether a prompt has asked, so that a turn of its own answers.
    pub fn is_asked_by_prompt(self) -> bool {
        matches!(self, Self::Prompt | Self::Reminder)
    }
}
