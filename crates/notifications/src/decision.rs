//! The decision whether a change of a session is reported, by its state and by where the user looks, and the reason why
//! not. Pure. How long a state must last first is in `runtime/src/waiting_times.rs`.

use longhaul_core::config::{Notify, NotifyState, OtherSession};
use longhaul_core::{Millis, Status};
use longhaul_runtime::tmux::Client;

use crate::message::duration;

/// A session at the end of the delay in which its state must last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionNow {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Suppression {
    #[error("the session has ended")]
    Ended,
    /// Holds the status now.
    #[error("the state did not last two seconds: the session is {0} or has changed again")]
    DidNotLast(Status),
    #[error("the session is of the kind {}, which notify.also does not name", .0.as_str())]
    OtherSession(OtherSession),
    /// The turn was shorter than the configuration requires.
    #[error("the turn took {}, less than {}", duration(*took_ms), duration(*least_ms))]
    ShortTurn { took_ms: u64, least_ms: u64 },
    #[error("it is in notify.quiet_hours")]
    QuietHours,
    #[error("you were looking at the pane")]
    Looking,
    #[error("you have typed in the pane since")]
    Typed,
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

/// How long after the last key a user is probably still reading the pane, where tmux does not know the focus. Who wants it
/// exactly sets `focus-events` in tmux.
const LOOKING_MS: u64 = 120_000;

/// Returns what the user does with `pane`, which changed `at`.
///
/// If the focus is not reported, the user counts as looking for [`LOOKING_MS`] after the last key.
pub(crate) fn attention(pane: &str, clients: &[Client], at: Millis, now: Millis) -> Attention {
    let shows = || clients.iter().filter(|client| client.pane == pane);
    // The time of a key has no fraction: a key in the second of the change may have been before it.
    if shows().any(|client| client.active_at > at.0 / 1000) {
        return Attention::Typed;
    }
    let looks = |client: &Client| {
        let is_recent = || now.since(Millis(client.active_at.saturating_mul(1000))) <= LOOKING_MS;
        client.focused.unwrap_or_else(is_recent)
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
