//! May we type now.

use std::fmt;

use crate::look::{Look, Turn, Unsafe};

/// What the client's own record says of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientSays {
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
pub enum Want {
    /// While a turn is running.
    MidTurn,
    /// Between turns.
    Idle,
    /// At any time.
    Either,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
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
    Wait(Why),
}

/// Why to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The client's record says that a dialog is open.
    ClientWaiting,
    /// The client's record says that a turn is running.
    ClientBusy,
    /// The screen is not safe to type into.
    Unsafe(Unsafe),
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

impl fmt::Display for Why {
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
pub fn may_type(look: &Look, client: ClientSays, want: Want, text: &str) -> Decision {
    if client == ClientSays::Waiting {
        return Decision::Wait(Why::ClientWaiting);
    }
    let (draft, turn, stashed) = match look {
        Look::Input { draft, turn, stashed, agents: _ } => (draft.as_ref(), *turn, *stashed),
        Look::Unsafe(danger) => return Decision::Wait(Why::Unsafe(*danger)),
    };
    match (want, turn) {
        // Notices can cover every sign of a turn on the screen; the client's own word is as good.
        (Want::MidTurn, Turn::Idle) if client != ClientSays::Busy => return Decision::Wait(Why::NoTurn),
        (Want::Idle, Turn::Running) => return Decision::Wait(Why::TurnRunning),
        (Want::Idle, Turn::Idle) if client == ClientSays::Busy => return Decision::Wait(Why::ClientBusy),
        (Want::MidTurn, Turn::Running | Turn::Idle)
        | (Want::Idle, Turn::Idle)
        | (Want::Either, Turn::Running | Turn::Idle) => {}
    }
    let Some(draft) = draft else { return Decision::Type };
    if look.holds(text) {
        return Decision::TypedAlready;
    }
    match want {
        Want::MidTurn => Decision::Wait(Why::Draft),
        Want::Idle | Want::Either if is_completing(draft) => Decision::Wait(Why::Completing),
        Want::Idle | Want::Either if stashed => Decision::Wait(Why::StashTaken),
        Want::Idle | Want::Either => Decision::Stash { draft: draft.clone() },
    }
}

/// Returns whether the client shows a menu for `draft`: of commands after `/`, of files and agents after `@`.
fn is_completing(draft: &str) -> bool {
    let word = draft.rsplit(char::is_whitespace).next().unwrap_or(draft);
    word.starts_with('@') || (word == draft && word.starts_with('/'))
}
