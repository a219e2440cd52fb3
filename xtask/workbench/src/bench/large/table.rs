//! The table of a large memory: for a terminal, as JSON and in docs/benchmarks.md.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::report::{Sample, kept, ms};

/// One line of the table.
pub(super) struct Line {
    name: &'static str,
    figure: Figure,
    limit: Option<Limit>,
}

/// What was measured.
enum Figure {
    /// The times of several runs.
    Times(Sample),
    /// A quotient.
    Ratio(f64),
}

/// A limit in words, and whether it was kept.
struct Limit {
    text: String,
    is_kept: bool,
}

impl Line {
    /// Returns a line without a limit.
    pub(super) fn time(sample: Sample) -> Self {
        Self { name: sample.name, figure: Figure::Times(sample), limit: None }
    }

    /// Returns a line whose p95 has a limit in milliseconds.
    pub(super) fn p95(sample: Sample, most: f64) -> Self {
        let limit = Limit { text: format!("p95 ≤ {most} ms"), is_kept: ms(sample.p95) <= most };
        Self { limit: Some(limit), ..Self::time(sample) }
    }

    /// Returns a line whose median may be at most this multiple of another.
    pub(super) fn multiple(sample: Sample, most: f64, other: &Sample) -> Self {
        let times = sample.times(other);
        let limit = Limit { text: format!("≤ {most} × {}, is {times:.2}", other.name), is_kept: times <= most };
        Self { limit: Some(limit), ..Self::time(sample) }
    }

    /// Returns a line with a quotient and its limit.
    pub(super) fn ratio(name: &'static str, ratio: f64, most: f64) -> Self {
        let limit = Limit { text: format!("≤ {most}"), is_kept: ratio <= most };
        Self { name, figure: Figure::Ratio(ratio), limit: Some(limit) }
    }

    /// Returns the median, or the quotient, and the p95 if there is one.
    fn figures(&self) -> (String, String) {
        match &self.figure {
            Figure::Times(sample) => (format!("{:.2} ms", ms(sample.median)), format!("{:.2} ms", ms(sample.p95))),
            Figure::Ratio(ratio) => (format!("{ratio:.2}"), String::new()),
        }
    }

    /// Returns the limit and whether it was kept, in words.
    fn judged(&self) -> String {
        self.limit.as_ref().map(|limit| format!("{}: {}", limit.text, kept(limit.is_kept))).unwrap_or_default()
    }

    fn to_json(&self) -> Value {
        let mut line = match &self.figure {
            Figure::Times(Sample { name, runs, median, p95 }) => {
                json!({ "name": name, "runs": runs, "median_ms": ms(*median), "p95_ms": ms(*p95) })
            }
            Figure::Ratio(ratio) => json!({ "name": self.name, "ratio": ratio }),
        };
        if let Some(Limit { text, is_kept }) = &self.limit {
            line["limit"] = json!(text);
            line["kept"] = json!(is_kept);
        }
        line
    }
}

/// Returns the lines for a terminal.
pub(super) fn text(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    let mut text = format!("{:<width$} {:>11} {:>11}  limit\n", "", "median", "p95");
    for line in lines {
        let (median, p95) = line.figures();
        let line = format!("{:<width$} {median:>11} {p95:>11}  {}", line.name, line.judged());
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns the lines as JSON.
pub(super) fn json(lines: &[Line]) -> Value {
    lines.iter().map(Line::to_json).collect()
}

/// Returns the lines as a table of Markdown.
pub(super) fn markdown(lines: &[Line]) -> String {
    let mut table = "| | median | p95 | limit |\n| --- | ---: | ---: | --- |\n".to_owned();
    for line in lines {
        let (median, p95) = line.figures();
        let _ = writeln!(table, "| {} | {median} | {p95} | {} |", line.name, line.judged());
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Line, Sample, json, markdown, text};

    fn sample(name: &'static str, milliseconds: u64) -> Sample {
        Sample::new(name, vec![Duration::from_millis(milliseconds)])
    }

    fn lines() -> [Line; 4] {
        let empty = sample("an empty program", 2);
        [
            Line::p95(sample("three words", 31), 30.0),
            Line::multiple(sample("a prompt", 8), 6.0, &empty),
            Line::ratio("size", 1.5, 1.8),
            Line::time(sample("the page", 1)),
        ]
    }

    #[test]
    fn a_limit_says_whether_it_was_kept() {
        let table = markdown(&lines());
        assert_eq!(
            table.lines().skip(2).collect::<Vec<_>>(),
            [
                "| three words | 31.00 ms | 31.00 ms | p95 ≤ 30 ms: NOT KEPT |",
                "| a prompt | 8.00 ms | 8.00 ms | ≤ 6 × an empty program, is 4.00: kept |",
                "| size | 1.50 |  | ≤ 1.8: kept |",
                "| the page | 1.00 ms | 1.00 ms |  |",
            ]
        );
        assert!(text(&lines()).contains("three words    31.00 ms    31.00 ms  p95 ≤ 30 ms: NOT KEPT\n"));
        let kept: Vec<Option<bool>> = (0..4).map(|line| json(&lines())[line]["kept"].as_bool()).collect();
        assert_eq!(kept, [Some(false), Some(true), Some(true), None]);
    }
}
