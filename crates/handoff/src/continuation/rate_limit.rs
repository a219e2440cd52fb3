//! The account's rate limit: which error reports it, and when it is lifted.

use longhaul_core::Millis;
use serde_json::{Map, Value};

/// A limit of which this percentage is used is used up.
const USED_UP_PERCENT: f64 = 99.0;

/// Returns whether a turn that ended in `error` has reached the account's rate limit.
pub fn is_rate_limit(error: &str) -> bool {
    error.contains("rate_limit")
}

/// Returns the time at which the account can be used again: the last reset time of the limits that are used up, or the
/// next one of all limits.
///
/// `limits` is the JSON object that Claude Code passes to its status line.
pub fn lifted_at(limits: &str) -> Option<Millis> {
    let limits: Map<String, Value> = serde_json::from_str(limits).ok()?;
    let resets = |limit: &Value| limit.get("resets_at")?.as_u64();
    let used = |limit: &Value| limit.get("used_percentage").and_then(Value::as_f64);
    let is_used_up = |limit: &&Value| used(limit).is_some_and(|used| used >= USED_UP_PERCENT);
    let used_up = limits.values().filter(is_used_up).filter_map(resets).max();
    let next = || limits.values().filter_map(resets).min();
    used_up.or_else(next).map(|seconds| Millis(seconds * 1000))
}
