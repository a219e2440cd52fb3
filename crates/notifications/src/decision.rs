//! The decision whether a change of a session is reported, by its state and by where the user looks, and the reason why
//! not. Pure. How long a state must last first is in `runtime/src/waiting_times.rs`.

use std::fmt;

use longhaul_core::config::{Choice, Notify, NotifyState, OtherSession};
use longhaul_core::{Millis, Status};

use crate::message::duration;

/// A session at the end of the delay in which its state must last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionNow {
    /// Its status.
    pub(crate) status: Status,
    /// When its status last changed.
    pub(crate) changed: Millis,
    /// When its last turn began, if that is known.
    pub(crate) prompted: Option<Millis>,
    /// Which kind of session it is; `None` for one of the user's own.
    pub(crate) other: Option<OtherSession>,
    /// Whether it goes on after what is reported, so that its status says nothing.
    pub(crate) goes_on: bool,
}

impl SessionNow {
    /// Returns a session of the user whose status changed at `changed`.
    pub(crate) fn new(status: Status, changed: Millis) -> Self {
        Self { status, changed, prompted: None, other: None, goes_on: false }
    }

    /// Returns whether the state that began `at` has lasted until now.
    ///
    /// A completed session that the tracker has marked as seen is still one whose turn has ended: tmux may show a pane that
    /// the user does not look at.
    fn still_is(&self, state: NotifyState, at: Millis) -> bool {
        match state {
            _ if self.goes_on => true,
            NotifyState::Completed => {
                matches!(self.status, Status::Completed | Status::Idle)
                    && self.prompted.is_none_or(|prompted| prompted <= at)
            }
            NotifyState::Blocked | NotifyState::Failed | NotifyState::Limit => {
                self.status == Status::Blocked && self.changed == at
            }
        }
    }
}

/// Why a notification is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suppression {
    /// The session has ended.
    Ended,
    /// The state did not last. Holds the status now.
    DidNotLast(Status),
    /// Sessions of this kind are not reported.
    OtherSession(OtherSession),
    /// The turn was shorter than the configuration requires.
    ShortTurn {
        /// The duration of the turn.
        took_ms: u64,
        /// The minimum.
        least_ms: u64,
    },
    /// It is a time without notifications.
    QuietHours,
    /// The user looks at the pane.
    Looking,
    /// The user has typed in the pane since.
    Typed,
}

impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the session has ended"),
            Self::DidNotLast(now) => {
                write!(f, "the state did not last two seconds: the session is {now} or has changed again")
            }
            Self::OtherSession(kind) => {
                write!(f, "the session is of the kind {}, which notify.also does not name", kind.as_str())
            }
            Self::ShortTurn { took_ms, least_ms } => {
                write!(f, "the turn took {}, less than {}", duration(*took_ms), duration(*least_ms))
            }
            Self::QuietHours => f.write_str("it is in notify.quiet_hours"),
            Self::Looking => f.write_str("you were looking at the pane"),
            Self::Typed => f.write_str("you have typed in the pane since"),
        }
    }
}

/// Returns why the change of a session to `state` at the time `at` is not reported; `None` if it is, by every way that the
/// configuration names for the state.
///
/// `session` is read again after the delay; it is `None` if the session has ended. `minute` is the minute of the day in
/// local time.
pub(crate) fn suppression(
    state: NotifyState,
    at: Millis,
    session: Option<&SessionNow>,
    attention: Attention,
    config: &Notify,
    minute: u16,
) -> Option<Suppression> {
    let Some(session) = session else { return Some(Suppression::Ended) };
    if !session.still_is(state, at) {
        return Some(Suppression::DidNotLast(session.status));
    }
    if let Some(kind) = session.other.filter(|kind| !config.also.contains(*kind)) {
        return Some(Suppression::OtherSession(kind));
    }
    let least_ms = config.least_ms(state);
    // A turn whose beginning is not known may have been long.
    if let Some(took_ms) = session.prompted.map(|prompted| at.since(prompted)).filter(|took_ms| *took_ms < least_ms) {
        return Some(Suppression::ShortTurn { took_ms, least_ms });
    }
    match attention {
        Attention::Typed => Some(Suppression::Typed),
        Attention::Looking => Some(Suppression::Looking),
        Attention::Elsewhere => config.quiet_hours.contains(minute).then_some(Suppression::QuietHours),
    }
}

/// What the user does with a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attention {
    /// The user looks at something else, or it is not known.
    Elsewhere,
    /// A focused client shows the pane.
    Looking,
    /// The user has typed in the pane since the session changed.
    Typed,
}

/// Whether the terminal of a tmux client has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    /// It has the focus.
    Focused,
    /// Another window has the focus.
    Unfocused,
    /// tmux does not ask its terminals for the focus.
    NotReported,
}

/// A client that is attached to a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TmuxClient {
    /// The id of the pane that is active in it, such as `%3`.
    pub(crate) pane: String,
    /// Whether its terminal has the focus.
    pub(crate) focus: Focus,
    /// The time of the last key, in seconds since the epoch.
    pub(crate) active_at: u64,
}

/// How long after the last key a user is probably still reading the pane, where tmux does not know the focus. Who wants it
/// exactly sets `focus-events` in tmux.
const LOOKING_MS: u64 = 120_000;

/// Returns what the user does with `pane`, which changed `at`.
///
/// If the focus is not reported, the user counts as looking for [`LOOKING_MS`] after the last key.
pub(crate) fn attention(pane: &str, clients: &[TmuxClient], at: Millis, now: Millis) -> Attention {
    let shows = || clients.iter().filter(|client| client.pane == pane);
    // The time of a key has no fraction: a key in the second of the change may have been before it.
    if shows().any(|client| client.active_at > at.0 / 1000) {
        return Attention::Typed;
    }
    let looks = |client: &TmuxClient| match client.focus {
        Focus::Focused => true,
        Focus::Unfocused => false,
        Focus::NotReported => now.since(Millis(client.active_at.saturating_mul(1000))) <= LOOKING_MS,
    };
    if shows().any(looks) { Attention::Looking } else { Attention::Elsewhere }
}

/// How long a draft that the bridge has reported shows that the user is there.
const DRAFT_MS: u64 = 60_000;

/// Returns what the user does with a session whose input had a draft at the time `draft`. Without a recent draft, that is
/// `otherwise`.
pub(crate) fn attention_by_draft(draft: Option<Millis>, now: Millis, otherwise: Attention) -> Attention {
    let is_recent = draft.is_some_and(|at| now.0.abs_diff(at.0) <= DRAFT_MS);
    if is_recent { Attention::Typed } else { otherwise }
}
