//! May we type now.

use std::fmt;

use crate::screen_state::{ScreenState, TurnSign, UnsafeScreen};

/// What the client's own record says of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientActivity {
    /// A dialog is open.
    Waiting,
    /// A turn is running.
    Busy,
    /// Nothing is running.
    Idle,
    /// There is no record, or none that can be trusted.
    Unknown,
}

/// When the text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeWhen {
    /// While a turn is running.
    MidTurn,
    /// Between turns.
    Idle,
    /// At any time.
    Either,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypingDecision {
    /// Type the text.
    Type,
    /// Stash the draft, see on the screen that it is stashed, then ask again.
    ///
    /// Only a draft that nobody is typing: the caller sees to it that it has not changed for a while.
    Stash {
        /// What has been typed and not submitted.
        draft: String,
    },
    /// The text is already in the input: press Enter only.
    TypedAlready,
    /// Not now.
    Wait(WaitReason),
}

/// Why to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// The client's record says that a dialog is open.
    ClientWaiting,
    /// The client's record says that a turn is running.
    ClientBusy,
    /// The screen is not safe to type into.
    Unsafe(UnsafeScreen),
    /// The text is for a running turn, and none is.
    NoTurn,
    /// The text is for after the turn.
    TurnRunning,
    /// A subagent runs, and may open a dialog at any moment.
    Agents,
    /// Somebody's draft is in the input.
    Draft,
    /// Somebody is typing a command or a file name, and a menu of them is open.
    Completing,
    /// Somebody's draft is in the input, and stashing it would drop the one that is stashed already.
    StashTaken,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientWaiting => f.write_str("the client waits for an answer"),
            Self::ClientBusy => f.write_str("the client says that it is busy"),
            Self::Unsafe(danger) => danger.fmt(f),
            Self::NoTurn => f.write_str("no turn is running"),
            Self::TurnRunning => f.write_str("a turn is running"),
            Self::Agents => f.write_str("a subagent runs and may ask something at any moment"),
            Self::Draft => f.write_str("a draft is in the input"),
            Self::Completing => f.write_str("a command or a file name is being completed in the input"),
            Self::StashTaken => f.write_str("a draft is in the input and another one is stashed"),
        }
    }
}

/// Returns what to do in order to submit `text`, given what the pane shows and what the client says of itself.
///
/// Running subagents do not count here: whether they may ask for anything depends on the permission mode.
pub fn may_type(look: &ScreenState, client: ClientActivity, want: TypeWhen, text: &str) -> TypingDecision {
    if client == ClientActivity::Waiting {
        return TypingDecision::Wait(WaitReason::ClientWaiting);
    }
    let (draft, turn, stashed) = match look {
        ScreenState::Input { draft, turn, stashed, agents: _ } => (draft.as_ref(), *turn, *stashed),
        ScreenState::Unsafe(danger) => return TypingDecision::Wait(WaitReason::Unsafe(*danger)),
    };
    match (want, turn) {
        // Notices can cover every sign of a turn on the screen; the client's own word is as good.
        (TypeWhen::MidTurn, TurnSign::Idle) if client != ClientActivity::Busy => {
            return TypingDecision::Wait(WaitReason::NoTurn);
        }
        (TypeWhen::Idle, TurnSign::Running) => return TypingDecision::Wait(WaitReason::TurnRunning),
        (TypeWhen::Idle, TurnSign::Idle) if client == ClientActivity::Busy => {
            return TypingDecision::Wait(WaitReason::ClientBusy);
        }
        (TypeWhen::MidTurn, TurnSign::Running | TurnSign::Idle)
        | (TypeWhen::Idle, TurnSign::Idle)
        | (TypeWhen::Either, TurnSign::Running | TurnSign::Idle) => {}
    }
    let Some(draft) = draft else { return TypingDecision::Type };
    if look.holds(text) {
        return TypingDecision::TypedAlready;
    }
    match want {
        TypeWhen::MidTurn => TypingDecision::Wait(WaitReason::Draft),
        TypeWhen::Idle | TypeWhen::Either if is_completing(draft) => TypingDecision::Wait(WaitReason::Completing),
        TypeWhen::Idle | TypeWhen::Either if stashed => TypingDecision::Wait(WaitReason::StashTaken),
        TypeWhen::Idle | TypeWhen::Either => TypingDecision::Stash { draft: draft.clone() },
    }
}

/// Returns whether the client shows a menu for `draft`: of commands after `/`, of files and agents after `@`.
fn is_completing(draft: &str) -> bool {
    let word = draft.rsplit(char::is_whitespace).next().unwrap_or(draft);
    word.starts_with('@') || (word == draft && word.starts_with('/'))
}
