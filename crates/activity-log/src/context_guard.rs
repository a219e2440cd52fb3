//! The context guard: compact before the context is full, and launch nothing new when it nearly is.

use longhaul_core::Millis;
use longhaul_core::config::Guard;

use crate::Metrics;
use crate::decision::time_left;

/// How full the context is, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Pressure(pub f64);

/// How many returns in ten seconds are a burst.
const BURST: u64 = 5;

/// In a burst the context fills faster than turns end: the threshold counts from this share of it.
const BURST_FACTOR: f64 = 0.8;

/// The share of the window that tool and subagent output makes up, for the estimate without usage figures.
const OUTPUT_SHARE: f64 = 0.25;

impl Pressure {
    /// Returns the pressure of `tokens` in a window of `window`.
    pub fn of(tokens: u64, window: u64) -> Self {
        Self((tokens as f64 / window.max(1) as f64).min(1.0))
    }

    /// Returns an estimate from the log alone, for when the transcript tells nothing.
    pub fn estimate(metrics: &Metrics, window: u64) -> Self {
        Self((metrics.estimated_tokens() as f64 / (window.max(1) as f64 * OUTPUT_SHARE)).min(1.0))
    }
}

/// Returns whether subagents return faster than the guard's usual margin allows for.
pub(crate) fn is_agent_burst(metrics: &Metrics) -> bool {
    metrics.agent_burst >= BURST
}

/// Returns whether `/compact` is due.
///
/// Not while an injection is recent: two texts must not chase each other into the same input.
pub fn should_compact(config: &Guard, pressure: Pressure, metrics: &Metrics, now: Millis) -> bool {
    let factor = if is_agent_burst(metrics) { BURST_FACTOR } else { 1.0 };
    let cooldown = config.compact_cooldown_seconds.seconds_as_millis();
    let newest = metrics.last_compaction.max(metrics.last_injection);
    config.enabled && pressure.0 >= config.compact_percent.0 * factor && time_left(newest, cooldown, now).is_none()
}

/// Returns whether new subagents are denied.
pub fn should_deny_agents(config: &Guard, pressure: Pressure) -> bool {
    config.enabled && pressure.0 >= config.deny_percent.0
}
