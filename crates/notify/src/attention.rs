//! Whether the user looks at a pane.

use longhaul_core::Millis;

/// What the user does with a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// The user looks at something else, or it is not known.
    Elsewhere,
    /// A focused client shows the pane.
    Looking,
    /// The user has typed in the pane since the session changed.
    Typed,
}

/// Whether the terminal of a tmux client has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// It has the focus.
    Focused,
    /// Another window has the focus.
    Unfocused,
    /// tmux does not ask its terminals for the focus.
    NotReported,
}

/// A client that is attached to a tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TmuxClient {
    /// The id of the pane that is active in it, such as `%3`.
    pub pane: String,
    /// Whether its terminal has the focus.
    pub focus: Focus,
    /// The time of the last key, in seconds since the epoch.
    pub active_at: u64,
}

/// Returns what the user does with `pane`, which changed `at`.
///
/// If the focus is not reported, the user counts as looking for `away_ms` after the last key.
pub fn attention(pane: &str, clients: &[TmuxClient], at: Millis, now: Millis, away_ms: u64) -> Attention {
    let shows = || clients.iter().filter(|client| client.pane == pane);
    // The time of a key has no fraction: a key in the second of the change may have been before it.
    if shows().any(|client| client.active_at > at.0 / 1000) {
        return Attention::Typed;
    }
    let looks = |client: &TmuxClient| match client.focus {
        Focus::Focused => true,
        Focus::Unfocused => false,
        Focus::NotReported => now.since(Millis(client.active_at.saturating_mul(1000))) <= away_ms,
    };
    if shows().any(looks) { Attention::Looking } else { Attention::Elsewhere }
}

/// How long a draft that the bridge has reported shows that the user is there.
const DRAFT_MS: u64 = 60_000;

/// Returns what the user does with a session whose input had a draft at the time `draft`. Without a recent draft, that is
/// `otherwise`.
pub fn attention_by_draft(draft: Option<Millis>, now: Millis, otherwise: Attention) -> Attention {
    let is_recent = draft.is_some_and(|at| now.0.abs_diff(at.0) <= DRAFT_MS);
    if is_recent { Attention::Typed } else { otherwise }
}
