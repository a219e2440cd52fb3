//! The decision whether to type now.

use crate::screen_state::{ScreenState, TurnSign, UnsafeScreen};

/// What Claude Code's own record says about its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientActivity {
    /// A dialog is open.
    Waiting,
    /// A turn is running.
    Busy,
    /// Nothing is running.
    Idle,
    /// There is no record, or it cannot be trusted.
    Unknown,
}

/// When a text may be submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeWhen {
    /// Only while a turn is running.
    MidTurn,
    /// Only between turns.
    Idle,
    /// At any time.
    Either,
}

/// What to do now to submit a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypingDecision {
    /// Type the text.
    Type,
    /// Stash the draft, check on the screen that it is stashed, then decide again.
    ///
    /// The caller must make sure that the user is not typing: the draft must not have changed for a while.
    Stash {
        /// The text in the input.
        draft: String,
    },
    /// The text is already in the input: only submit it.
    TypedAlready,
    /// Do not type now, for this reason.
    Wait(WaitReason),
}

/// Why nothing is typed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WaitReason {
    /// Claude Code's record says that a dialog is open.
    #[error("Claude Code waits for an answer")]
    ClientWaiting,
    /// Claude Code's record says that a turn is running.
    #[error("Claude Code reports that it is busy")]
    ClientBusy,
    /// The screen is not safe to type into.
    #[error(transparent)]
    Unsafe(UnsafeScreen),
    /// The text is for a running turn, and no turn is running.
    #[error("no turn is running")]
    NoTurn,
    /// The text is for the time between turns, and a turn is running.
    #[error("a turn is running")]
    TurnRunning,
    /// A subagent is running and may open a dialog at any moment.
    #[error("a subagent is running and may ask something at any moment")]
    Agents,
    /// The user's draft is in the input.
    #[error("a draft is in the input")]
    Draft,
    /// The user is typing a command or a file name, and a menu is open.
    #[error("a command or a file name is being completed in the input")]
    Completing,
    /// The user's draft is in the input, and stashing it would discard the draft that is already stashed.
    #[error("a draft is in the input and another one is stashed")]
    StashTaken,
}

/// Returns what to do to submit `text`, given the state of the screen and of Claude Code's own record.
///
/// Running subagents are not considered here: whether they can open a dialog depends on the permission mode.
pub fn may_type(look: &ScreenState, client: ClientActivity, want: TypeWhen, text: &str) -> TypingDecision {
    if client == ClientActivity::Waiting {
        return TypingDecision::Wait(WaitReason::ClientWaiting);
    }
    let (draft, turn, stashed) = match look {
        ScreenState::Input { draft, turn, stashed, agents: _ } => (draft.as_ref(), *turn, *stashed),
        ScreenState::Unsafe(danger) => return TypingDecision::Wait(WaitReason::Unsafe(*danger)),
    };
    let is_running = turn == TurnSign::Running;
    match want {
        // Notices can hide every sign of a turn on the screen; then the record counts.
        TypeWhen::MidTurn if !is_running && client != ClientActivity::Busy => {
            return TypingDecision::Wait(WaitReason::NoTurn);
        }
        TypeWhen::Idle if is_running => return TypingDecision::Wait(WaitReason::TurnRunning),
        TypeWhen::Idle if client == ClientActivity::Busy => return TypingDecision::Wait(WaitReason::ClientBusy),
        TypeWhen::MidTurn | TypeWhen::Idle | TypeWhen::Either => {}
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

/// Returns whether Claude Code shows a menu for `draft`: of commands after `/`, of files and agents after `@`.
fn is_completing(draft: &str) -> bool {
    let word = draft.rsplit(char::is_whitespace).next().unwrap_or(draft);
    word.starts_with('@') || (word == draft && word.starts_with('/'))
}
