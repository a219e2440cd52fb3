//! The account's rate limits, which Claude Code reports to its status line: which are shown, and from which use on also the
//! time until they are lifted.

use serde_json::Value;

use super::paint::{Span, Tone, level};

/// The limits that are shown, each with its label.
const KNOWN: [(&str, &str); 2] = [("five_hour", "5h"), ("seven_day", "7d")];

/// From this percentage on, the time until the limit ends is shown.
const NEAR: f64 = 70.0;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateLimit {
    pub(crate) name: &'static str,
    pub(crate) percent: f64,
    /// When the limit ends, in seconds since the epoch.
    pub(crate) resets_at: Option<u64>,
}

/// Reads the limits. A value of an unexpected type is left out.
pub(crate) fn read(json: &Value) -> Vec<RateLimit> {
    let limit = |(key, name): (&str, &'static str)| {
        let limit = json.get(key)?;
        let percent = limit.get("used_percentage")?.as_f64().filter(|percent| (0.0..=1000.0).contains(percent))?;
        Some(RateLimit { name, percent, resets_at: limit.get("resets_at").and_then(Value::as_u64) })
    };
    KNOWN.into_iter().filter_map(limit).collect()
}

/// Returns the limits that are in force at `now` (in seconds), such as `5h 42%  7d 93% (2h)`.
pub(crate) fn show(limits: &[RateLimit], now: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    for limit in limits.iter().filter(|limit| limit.resets_at.is_none_or(|at| at > now)) {
        let tone = if limit.percent < NEAR { Tone::Dim } else { level(limit.percent) };
        let left = limit.resets_at.filter(|_| limit.percent >= NEAR).map(|at| format!(" ({})", until(at - now)));
        let gap = if spans.is_empty() { "" } else { "  " };
        spans.push(Span::new(gap, Tone::Plain));
        spans.push(Span::new(format!("{} {:.0}%{}", limit.name, limit.percent, left.unwrap_or_default()), tone));
    }
    spans
}

fn until(seconds: u64) -> String {
    match seconds / 60 {
        minutes @ 0..60 => format!("{}m", minutes.max(1)),
        minutes @ 60..2880 => format!("{}h", minutes / 60),
        minutes => format!("{}d", minutes / 1440),
    }
}

#[cfg(test)]
mod tests;
