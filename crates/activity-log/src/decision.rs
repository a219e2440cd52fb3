//! Whether to bookmark now: one function, one order, a reason each.

use std::fmt;

use longhaul_core::Millis;
use longhaul_core::config::{Bookmarks, Thresholds};
use longhaul_core::event::Stop;
use longhaul_core::event::predicates;

use crate::Metrics;

/// How long an injection waits for the prompt hook to confirm it.
pub const RECEIPT_MS: u64 = 5_000;

/// How many injections in a row may go unconfirmed before bookmarks rest until the next prompt: one, and one retry.
const MAX_UNCONFIRMED: u64 = 2;

/// Which hook asks.
#[derive(Debug, Clone, Copy)]
pub enum Situation<'a> {
    /// PostToolUse: a turn runs.
    ToolCall,
    /// SubagentStop: in a cascade of agents Stop never fires.
    AgentReturn,
    /// Stop: the turn is over.
    Stop(&'a Stop),
}

/// What was decided, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BookmarkVerdict {
    /// Enough work has passed.
    Inject(ThresholdMet),
    /// Not now.
    Skip(SkipReason),
}

/// Which threshold was met, with what was counted and what the limit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThresholdMet {
    /// What was counted.
    pub what: &'static str,
    /// How much there was.
    pub actual: u64,
    /// How much is enough.
    pub limit: f64,
}

/// Why there is no bookmark now, in the order in which it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// `bookmarks.enabled`, or at a tool call `bookmarks.midTurn`, is off.
    Disabled,
    /// There is no terminal that can be typed into.
    NoTerminal,
    /// The turn stopped because the context is full.
    ContextLimit,
    /// The user stopped the turn.
    UserAbort,
    /// Nothing has been done since the last bookmark.
    NothingSinceBookmark,
    /// The last injection or bookmark is too recent.
    Cooldown { left_ms: u64 },
    /// An injection is on its way and may still be confirmed.
    InFlight,
    /// Two injections in a row were not confirmed: not again before the next prompt.
    Unconfirmed,
    /// Too little has been done.
    BelowThresholds,
}

/// Decides whether to bookmark.
///
/// Three barriers make a loop impossible: the cooldown since the last injection or bookmark, counters that begin at the
/// last bookmark, and nothing after a bookmark but new work.
pub fn decide(
    situation: Situation<'_>,
    config: &Bookmarks,
    has_terminal: bool,
    metrics: &Metrics,
    now: Millis,
) -> BookmarkVerdict {
    let wanted = match situation {
        Situation::ToolCall => config.enabled && config.mid_turn,
        Situation::AgentReturn | Situation::Stop(_) => config.enabled,
    };
    if !wanted {
        return BookmarkVerdict::Skip(SkipReason::Disabled);
    }
    if !has_terminal {
        return BookmarkVerdict::Skip(SkipReason::NoTerminal);
    }
    if let Situation::Stop(stop) = situation {
        if predicates::stopped_at_context_limit(stop) {
            return BookmarkVerdict::Skip(SkipReason::ContextLimit);
        }
        if predicates::stopped_by_user(stop) {
            return BookmarkVerdict::Skip(SkipReason::UserAbort);
        }
    }
    if metrics.last_line_is_bookmark {
        return BookmarkVerdict::Skip(SkipReason::NothingSinceBookmark);
    }
    let newest = metrics.last_injection.max(metrics.last_bookmark);
    if let Some(left_ms) = time_left(newest, config.thresholds.cooldown_seconds.seconds_as_millis(), now) {
        return BookmarkVerdict::Skip(SkipReason::Cooldown { left_ms });
    }
    if metrics.unconfirmed > 0 && time_left(metrics.last_injection, RECEIPT_MS, now).is_some() {
        return BookmarkVerdict::Skip(SkipReason::InFlight);
    }
    if metrics.unconfirmed >= MAX_UNCONFIRMED {
        return BookmarkVerdict::Skip(SkipReason::Unconfirmed);
    }
    match meets_any_threshold(metrics, &config.thresholds) {
        Some(reason) => BookmarkVerdict::Inject(reason),
        None => BookmarkVerdict::Skip(SkipReason::BelowThresholds),
    }
}

/// Returns the first threshold that is met; any one is enough.
pub fn meets_any_threshold(metrics: &Metrics, thresholds: &Thresholds) -> Option<ThresholdMet> {
    [
        ("tokens", metrics.estimated_tokens(), thresholds.min_tokens),
        ("tool calls", metrics.tool_calls, thresholds.min_tool_calls),
        ("seconds", metrics.elapsed_seconds(), thresholds.min_seconds),
        ("subagents", metrics.agent_returns, thresholds.agent_burst),
    ]
    .into_iter()
    .map(|(what, actual, limit)| ThresholdMet { what, actual, limit: limit.0 })
    .find(|reason| metrics.last_activity.is_some() && reason.actual as f64 >= reason.limit)
}

/// Returns how much of `span` since `from` is left at `now`.
///
/// A time further ahead than `span` was written before the clock was set back, and holds up nothing.
pub(crate) fn time_left(from: Option<Millis>, span: u64, now: Millis) -> Option<u64> {
    let from = from?;
    if from.since(now) > span {
        return None;
    }
    let left = from.0.saturating_add(span).saturating_sub(now.0);
    (left > 0).then_some(left)
}

impl fmt::Display for ThresholdMet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.actual, self.what, self.limit)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("bookmarks are switched off"),
            Self::NoTerminal => f.write_str("no terminal that can be typed into"),
            Self::ContextLimit => f.write_str("the turn stopped because the context is full"),
            Self::UserAbort => f.write_str("the user stopped the turn"),
            Self::NothingSinceBookmark => f.write_str("nothing done since the last bookmark"),
            Self::Cooldown { left_ms } => write!(f, "cooling down for another {left_ms} ms"),
            Self::InFlight => f.write_str("a bookmark is on its way"),
            Self::Unconfirmed => f.write_str("the last two were not confirmed; resting until the next prompt"),
            Self::BelowThresholds => f.write_str("below every threshold"),
        }
    }
}
