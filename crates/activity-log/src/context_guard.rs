//! The decisions of the context guard: when to compact, and when to deny new subagents, with what text. Typing is in
//! `runtime/src/context.rs`.

use longhaul_core::Millis;
use longhaul_core::config::Guard;

use crate::Metrics;
use crate::decision::time_left;

/// The share of the context window that is used, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Pressure(pub f64);

/// The number of subagents that must return within [`BURST_MS`] to count as a burst.
const BURST: u64 = 5;

/// The time before the last return in which other returns belong to the same burst.
pub(crate) const BURST_MS: u64 = 10_000;

/// The factor that lowers the threshold during a burst, when the context fills faster than turns end.
const BURST_FACTOR: f64 = 0.8;

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

/// Returns whether subagents return so fast that the guard must act earlier.
pub(crate) fn is_agent_burst(metrics: &Metrics) -> bool {
    metrics.agent_burst >= BURST
}

/// Returns whether `/compact` is due.
///
/// It is not due shortly after another compaction or after a text was typed: two texts must not be typed into the same
/// input at once.
pub fn should_compact(config: &Guard, pressure: Pressure, metrics: &Metrics, now: Millis) -> bool {
    let factor = if is_agent_burst(metrics) { BURST_FACTOR } else { 1.0 };
    let cooldown = config.compact_cooldown_seconds.as_millis();
    let newest = metrics.last_compaction.max(metrics.last_injection);
    config.enabled && pressure.0 >= config.compact_percent.0 * factor && time_left(newest, cooldown, now).is_none()
}

/// Returns whether new subagents must be denied.
pub fn should_deny_agents(config: &Guard, pressure: Pressure) -> bool {
    config.enabled && pressure.0 >= config.deny_percent.0
}

/// Returns whether `tool` starts a subagent.
pub fn starts_subagent(tool: &str) -> bool {
    matches!(tool, "Agent" | "Task")
}

/// Returns the text for the model by which a new subagent is denied.
pub fn denial(config: &Guard, pressure: Pressure) -> String {
    format!(
        "The context window is {:.0} % full, above the limit of {:.0} % for new subagents: what they bring back may not \
         fit. Finishing in the main conversation or compacting first makes room.",
        pressure.0 * 100.0,
        config.deny_percent.0 * 100.0
    )
}
