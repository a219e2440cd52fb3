//! The results: medians, 95th percentiles and ratios, as a table, as JSON, and in the page of docs/ with its plot.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::codegen::pretty;
use xtask::run;

use super::rows::{Limit, ROWS, SERIES};
use crate::page_section;

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

/// Writes the script and its database to `data`; returns the script.
pub(crate) fn install(data: &Path, session: &str) -> Result<PathBuf> {
    let script = data.join("reference-hook.sh");
    fs::write(&script, include_str!("reference-hook.sh")).context("cannot write the reference hook")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).context("cannot make the reference hook run")?;
    let schema = format!(
        "PRAGMA journal_mode = wal;
         CREATE TABLE agents (session_id TEXT PRIMARY KEY, status TEXT, updated_at INTEGER);
         INSERT INTO agents VALUES ('{session}', 'working', 0);"
    );
    let made = sqlite3(data, &schema).output().context("cannot start sqlite3")?;
    ensure!(made.status.success(), "sqlite3 could not create the reference database");
    Ok(script)
}

/// Writes the script in node to `data`; returns it.
pub(crate) fn install_node(data: &Path) -> Result<PathBuf> {
    let script = data.join("reference-hook.mjs");
    fs::write(&script, include_str!("reference-hook.mjs")).context("cannot write the reference hook")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).context("cannot make the reference hook run")?;
    Ok(script)
}

/// Returns the command that sets the session's status back to working.
pub(crate) fn reset(data: &Path) -> Command {
    sqlite3(data, "UPDATE agents SET status = 'working';")
}

fn sqlite3(data: &Path, statement: &str) -> Command {
    let mut command = run::program(Path::new("sqlite3"));
    command.arg(data.join("reference.db")).arg(statement);
    command
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;

/// Draws `points`: an amount, and the cost as a multiple of the empty program.
pub(crate) fn draw(title: &str, along: &str, points: &[(f64, f64)]) -> String {
    let (least, most) = range(points.iter().map(|(x, _)| x.ln()));
    let top = points.iter().map(|(_, y)| *y).fold(1.0, f64::max).ceil();
    let x = |value: f64| LEFT + (value.ln() - least) / (most - least).max(1e-9) * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">
<style>text{{font:12px sans-serif;fill:#777}} .t{{font-weight:bold}} .g{{stroke:#8884}} .l{{fill:none;stroke:#2a7ae2;stroke-width:2}} circle{{fill:#2a7ae2}}</style>
<text class="t" x="{LEFT}" y="16">{title}</text>
"##
    );
    for line in ticks(top) {
        let at = y(line);
        let _ = writeln!(svg, r#"<line class="g" x1="{LEFT}" x2="{}" y1="{at:.1}" y2="{at:.1}"/>"#, WIDTH - RIGHT);
        let _ = writeln!(svg, r#"<text x="{}" y="{:.1}" text-anchor="end">{line}×</text>"#, LEFT - 6.0, at + 4.0);
    }
    let path: Vec<String> = points.iter().map(|(at, cost)| format!("{:.1},{:.1}", x(*at), y(*cost))).collect();
    let _ = writeln!(svg, r#"<polyline class="l" points="{}"/>"#, path.join(" "));
    for (at, cost) in points {
        let (left, height) = (x(*at), y(*cost));
        let _ = writeln!(svg, r#"<circle cx="{left:.1}" cy="{height:.1}" r="3"/>"#);
        let _ = writeln!(svg, r#"<text x="{left:.1}" y="{:.1}" text-anchor="middle">{cost:.1}</text>"#, height - 8.0);
        let _ = writeln!(
            svg,
            r#"<text x="{left:.1}" y="{}" text-anchor="middle">{}</text>"#,
            HEIGHT - BOTTOM + 16.0,
            grouped(*at)
        );
    }
    let _ = writeln!(svg, r#"<text x="{}" y="{}" text-anchor="end">{along}</text>"#, WIDTH - RIGHT, HEIGHT - 6.0);
    svg.push_str("</svg>\n");
    svg
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

/// Returns up to six round numbers from 0 to `top`.
fn ticks(top: f64) -> Vec<f64> {
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|step| top / step <= 5.0).unwrap_or(100.0);
    (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= top).collect()
}

fn grouped(number: f64) -> String {
    match number {
        number if number >= 1_000_000.0 => format!("{:.0}M", number / 1e6),
        number if number >= 1_000.0 => format!("{:.0}k", number / 1e3),
        number => format!("{number:.0}"),
    }
}

const INTRODUCTION: &str = "\
# Benchmarks

Every figure is a ratio to an empty Rust program that is started and waited for in the same way, in the same run, in turn, so that
other load on the machine affects all of them alike. Milliseconds differ from machine to machine; ratios hardly do. The figures are a
hook's own time. Claude Code needs 4 to 5 ms more to start any hook.

To reproduce them, on an otherwise idle machine:

```
cargo xtask bench             # the table, as text; --json for programs
cargo xtask bench --report    # the table and the plots: writes this page
cargo xtask bench --large     # a million observations: searches, hooks, size; --report writes that section of this page
cargo xtask bench --worker    # the worker: time to its first answer, memory use
cargo xtask bench --sync      # an exchange of 10,000 observations through PostgreSQL: time, memory, size
cargo xtask bench --snapshots # snapshots of 100,000 files: time, size
cargo xtask recall --report   # how well questions are answered: writes that section of this page
```

This needs tmux and sqlite3, and node for the row in node. The reference hooks do the minimum of such a hook: one in bash
with sqlite3 and tmux commands, one in node that reads the payload and writes a line.
";

/// Writes the page and its plots to `docs`; `samples` holds those of the rows, then those of the series.
pub(crate) fn write(docs: &Path, empty: &Sample, samples: &[Sample]) -> Result<()> {
    let (rows, mut rest) = samples.split_at(ROWS.len());
    let folder = docs.join("benchmarks");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut page = INTRODUCTION.to_owned();
    let _ = write!(
        page,
        "\n## What each hook costs\n\n{} runs of each; the empty program took {:.2} ms.\n\n\
         | | median | p95 | ratio | limit |\n| --- | ---: | ---: | ---: | --- |\n",
        empty.runs,
        ms(empty.median)
    );
    for (sample, row) in rows.iter().zip(ROWS) {
        let limit = judged(row.limit, sample, empty, rows).unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {:.2} ms | {:.2} ms | **{:.2}** | {limit} |",
            sample.name.trim(),
            ms(sample.median),
            ms(sample.p95),
            sample.times(empty)
        );
    }
    page.push_str("\n## How the cost grows\n");
    for series in SERIES {
        let (own, others) = rest.split_at(series.points.len());
        rest = others;
        let points: Vec<(f64, f64)> =
            series.points.iter().zip(own).map(|((at, _), sample)| (*at, sample.times(empty))).collect();
        let file = format!("{}.svg", series.file);
        put(&folder.join(&file), &draw(series.title, series.along, &points))?;
        let _ = write!(page, "\n![{}](benchmarks/{file})\n", series.title);
    }
    let path = docs.join("benchmarks.md");
    // Other tasks have written these, and take minutes.
    let before = fs::read_to_string(&path).unwrap_or_default();
    for section in page_section::all(&before) {
        let _ = write!(page, "\n{section}\n");
    }
    put(&path, &page)
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Sample, draw, ticks};

    #[test]
    fn median_and_p95_are_measured_values() {
        let sample = Sample::new("x", (1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((sample.median, sample.p95), (Duration::from_millis(50), Duration::from_millis(95)));
        let one = Sample::new("x", vec![Duration::from_millis(7)]);
        assert_eq!((one.median, one.p95), (Duration::from_millis(7), Duration::from_millis(7)));
    }

    #[test]
    fn every_point_is_on_the_picture() {
        let svg = draw("Cost", "lines", &[(1.0, 1.2), (1000.0, 7.5)]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains(">7.5<") && svg.contains(">1k<") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!draw("One", "x", &[(5.0, 0.5)]).contains("NaN"));
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(ticks(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
    }
}
