//! The decisions that follow from the activity of a session: to set a bookmark, also after one that was not confirmed, and
//! what to do about a context that is nearly full. Every outcome has a reason.

use longhaul_core::Millis;
use longhaul_core::config::{Bookmarks, BookmarksOn, Guard, Thresholds};
use longhaul_core::event::{Stop, predicates};

use crate::Metrics;

/// How long a typed bookmark may take to be confirmed by the prompt hook.
pub const RECEIPT_MS: u64 = 5_000;

/// The number of unconfirmed injections in a row after which no bookmark is typed until the next prompt.
const MAX_UNCONFIRMED: u64 = 2;

/// The hook that asks for a decision.
#[derive(Debug, Clone, Copy)]
pub enum Situation<'a> {
    /// PostToolUse: a turn is running.
    ToolCall,
    /// SubagentStop: while subagents start further ones, Stop does not fire.
    AgentReturn,
    /// Stop: the turn is over.
    Stop(&'a Stop),
}

/// The decision, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BookmarkVerdict {
    /// A bookmark is due: this threshold is met.
    Inject(ThresholdMet),
    /// No bookmark is due, for this reason.
    Skip(SkipReason),
}

/// A threshold that is met.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{actual} {what} of {limit}")]
pub struct ThresholdMet {
    /// What is counted, such as `tool calls`.
    pub what: &'static str,
    /// The number that was counted.
    pub actual: u64,
    /// The number at which the threshold is met.
    pub limit: f64,
}

/// Why no bookmark is due, in the order in which the reasons are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// `bookmarks.enabled` is off, or at a tool call `turn_end`.
    #[error("bookmarks are switched off")]
    Disabled,
    /// There is no terminal to type into.
    #[error("no terminal that can be typed into")]
    NoTerminal,
    /// The turn stopped because the context is full.
    #[error("the turn stopped because the context is full")]
    ContextLimit,
    /// The user stopped the turn.
    #[error("the user stopped the turn")]
    UserAbort,
    /// Nothing has been done since the last bookmark.
    #[error("nothing done since the last bookmark")]
    NothingSinceBookmark,
    /// The last injection or bookmark is too recent.
    #[error("cooling down for another {left_ms} ms")]
    #[expect(missing_docs, reason = "the message says it")]
    Cooldown { left_ms: u64 },
    /// A bookmark was typed and may still be confirmed.
    #[error("a bookmark was typed and is not confirmed yet")]
    InFlight,
    /// Two injections in a row were not confirmed. The next one is tried after the next prompt.
    #[error("the last two bookmarks were not confirmed; the next one is typed after the next prompt")]
    Unconfirmed,
    /// No threshold is met.
    #[error("below every threshold")]
    BelowThresholds,
}

/// Decides whether a bookmark is due.
///
/// Bookmarks cannot cause further bookmarks: there is a cooldown after each injection and bookmark, the metrics begin at
/// the last bookmark, and there must be work after it.
pub fn decide(
    situation: Situation<'_>,
    config: &Bookmarks,
    has_terminal: bool,
    metrics: &Metrics,
    now: Millis,
) -> BookmarkVerdict {
    let wanted = match situation {
        Situation::ToolCall => config.enabled == BookmarksOn::Always,
        Situation::AgentReturn | Situation::Stop(_) => config.is_on(),
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
    if let Some(left_ms) = time_left(newest, config.thresholds.cooldown_seconds.as_millis(), now) {
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

/// Returns the first threshold that is met; `None` where none is, or where nothing has been done.
pub fn meets_any_threshold(metrics: &Metrics, thresholds: &Thresholds) -> Option<ThresholdMet> {
    [
        ("tokens", metrics.estimated_tokens(), thresholds.min_tokens.0 as f64),
        ("tool calls", metrics.tool_calls, thresholds.min_tool_calls.0 as f64),
        ("seconds", metrics.elapsed_seconds(), thresholds.min_seconds.get()),
        ("subagents", metrics.agent_returns, thresholds.agent_burst_threshold.0 as f64),
    ]
    .into_iter()
    .map(|(what, actual, limit)| ThresholdMet { what, actual, limit })
    .find(|reason| metrics.last_activity.is_some() && reason.actual as f64 >= reason.limit)
}

/// Returns how much of the time `span` after `from` is left at `now`, in milliseconds; `None` where it is over.
///
/// A `from` that lies more than `span` in the future was written before the clock was set back: it counts as over.
fn time_left(from: Option<Millis>, span: u64, now: Millis) -> Option<u64> {
    let from = from?;
    if from.since(now) > span {
        return None;
    }
    let left = from.0.saturating_add(span).saturating_sub(now.0);
    (left > 0).then_some(left)
}

/// The share of the context window that is used, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Pressure(pub f64);

/// The number of subagents that must return within [`BURST_MS`] to count as a burst.
pub(crate) const BURST: u64 = 5;

/// The time before the last return in which other returns belong to the same burst.
pub(crate) const BURST_MS: u64 = 10_000;

/// The factor that lowers the threshold during a burst, when the context fills faster than turns end.
const BURST_FACTOR: f64 = 0.8;

/// The time between two compactions. In less, a session cannot do enough for a compaction to gain anything.
const COMPACT_COOLDOWN_MS: u64 = 120_000;

/// The share of a full window that is tool and subagent output, for the estimate without usage figures.
const OUTPUT_SHARE: f64 = 0.25;

impl Pressure {
    /// Returns the pressure of `tokens` tokens in a window of `window` tokens.
    pub fn of(tokens: u64, window: u64) -> Self {
        Self((tokens as f64 / window.max(1) as f64).min(1.0))
    }

    /// Returns an estimate from the activity log alone, for when the transcript has no usage figures.
    pub fn estimate(metrics: &Metrics, window: u64) -> Self {
        Self((metrics.estimated_tokens() as f64 / (window.max(1) as f64 * OUTPUT_SHARE)).min(1.0))
    }
}

/// Returns whether `/compact` is due.
///
/// It is not due shortly after another compaction or after a text was typed: two texts must not be typed into the same
/// input at once.
pub fn should_compact(config: &Guard, pressure: Pressure, metrics: &Metrics, now: Millis) -> bool {
    let factor = if metrics.agent_burst >= BURST { BURST_FACTOR } else { 1.0 };
    let newest = metrics.last_compaction.max(metrics.last_injection);
    config.compact_percent.is_some_and(|limit| pressure.0 >= limit.0 * factor)
        && time_left(newest, COMPACT_COOLDOWN_MS, now).is_none()
}

/// Returns whether `tool` starts a subagent.
pub fn starts_subagent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

/// Returns the text for the model by which a new subagent is denied; `None` if it may start.
pub fn denial(config: &Guard, pressure: Pressure) -> Option<String> {
    let limit = config.deny_percent.filter(|limit| pressure.0 >= limit.0)?;
    Some(format!(
        "The context window is {:.0} % full, above the limit of {:.0} % for new subagents: what they bring back may not \
         fit. Finishing in the main conversation or compacting first makes room.",
        pressure.0 * 100.0,
        limit.0 * 100.0
    ))
}
