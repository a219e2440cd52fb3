//! The results: medians, 95th percentiles and ratios, as a table and as JSON.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use xtask::codegen::pretty;

use super::rows::{Limit, ROWS};

/// Statistics of one row.
pub(crate) struct Sample {
    /// The name of the row.
    pub(crate) name: &'static str,
    /// Number of runs.
    pub(crate) runs: usize,
    /// Median time.
    pub(crate) median: Duration,
    /// 95th percentile.
    pub(crate) p95: Duration,
}

impl Sample {
    /// Computes the statistics of `times`, which must not be empty.
    pub(crate) fn new(name: &'static str, mut times: Vec<Duration>) -> Self {
        times.sort();
        let at = |share: f64| times[((times.len() as f64 * share).ceil() as usize).clamp(1, times.len()) - 1];
        Self { name, runs: times.len(), median: at(0.5), p95: at(0.95) }
    }

    /// Returns this median divided by the other's.
    pub(crate) fn times(&self, other: &Self) -> f64 {
        self.median.as_secs_f64() / other.median.as_secs_f64()
    }
}

/// A row's limit in words, and whether it was kept.
struct Judgement {
    text: String,
    kept: bool,
}

fn judge(limit: Limit, sample: &Sample, empty: &Sample, all: &[Sample]) -> Option<Judgement> {
    let (actual, allowed, text) = match limit {
        Limit::None => return None,
        Limit::Empty(allowed) => (sample.times(empty), allowed, format!("≤ {allowed:.2} × empty")),
        Limit::Other(name, allowed) => {
            let other = all.iter().find(|other| other.name == name)?;
            (sample.times(other), allowed, format!("≤ {allowed:.2} × {name}, is {:.2}", sample.times(other)))
        }
    };
    Some(Judgement { text, kept: actual <= allowed })
}

/// Returns a row's limit and whether it was kept, in words; `None` if it has no limit.
pub(crate) fn judged(limit: Limit, sample: &Sample, empty: &Sample, all: &[Sample]) -> Option<String> {
    let Judgement { text, kept } = judge(limit, sample, empty, all)?;
    Some(format!("{text}: {}", self::kept(kept)))
}

/// Returns the words for whether a limit was kept.
pub(crate) fn kept(is_kept: bool) -> &'static str {
    if is_kept { "kept" } else { "NOT KEPT" }
}

/// Prints a table for people.
pub(crate) fn print_table(empty: &Sample, samples: &[Sample]) -> Result<()> {
    let mut out = io::stdout();
    let width = samples.iter().map(|sample| sample.name.chars().count()).max().unwrap_or_default();
    writeln!(out, "{:<width$} {:>5} {:>10} {:>10} {:>8}  limit", "", "runs", "median", "p95", "ratio")?;
    let limits = std::iter::once(Limit::None).chain(ROWS.iter().map(|row| row.limit));
    for (sample, limit) in std::iter::once(empty).chain(samples).zip(limits) {
        let limit = judged(limit, sample, empty, samples).unwrap_or_default();
        let line = format!(
            "{:<width$} {:>5} {:>7.3} ms {:>7.3} ms {:>8.2}  {limit}",
            sample.name,
            sample.runs,
            ms(sample.median),
            ms(sample.p95),
            sample.times(empty)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Prints JSON for programs.
pub(crate) fn print_json(empty: &Sample, samples: &[Sample]) -> Result<()> {
    let entry = |sample: &Sample, limit: Limit| {
        let mut entry = json!({
            "name": sample.name,
            "runs": sample.runs,
            "median_ms": ms(sample.median),
            "p95_ms": ms(sample.p95),
            "ratio": sample.times(empty),
        });
        if let Some(judgement) = judge(limit, sample, empty, samples) {
            entry["limit"] = json!(judgement.text);
            entry["kept"] = json!(judgement.kept);
        }
        entry
    };
    let rows: Vec<Value> = samples.iter().zip(ROWS).map(|(sample, row)| entry(sample, row.limit)).collect();
    write!(io::stdout(), "{}", pretty(&json!({ "empty": entry(empty, Limit::None), "rows": rows }))?)?;
    Ok(())
}

/// Returns a duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Sample;

    #[test]
    fn median_and_p95_are_measured_values() {
        let sample = Sample::new("x", (1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((sample.median, sample.p95), (Duration::from_millis(50), Duration::from_millis(95)));
        let one = Sample::new("x", vec![Duration::from_millis(7)]);
        assert_eq!((one.median, one.p95), (Duration::from_millis(7), Duration::from_millis(7)));
    }
}
