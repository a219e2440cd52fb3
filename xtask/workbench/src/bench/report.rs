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

use super::rows::{Limit, ROWS, Row, SERIES};
use crate::page_section;

/// Statistics of one row.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) runs: usize,
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

#[derive(Clone)]
pub(crate) struct Line {
    name: &'static str,
    /// The median, or another number, and the p95 if there is one.
    figures: (String, String),
    /// The median divided by that of the empty program, where they are compared.
    ratio: Option<f64>,
    /// A limit in words, and whether it was kept.
    limit: Option<(String, bool)>,
}

impl Line {
    pub(crate) fn time(sample: &Sample) -> Self {
        let figures = (format!("{:.2} ms", ms(sample.median)), format!("{:.2} ms", ms(sample.p95)));
        Self { name: sample.name, figures, ratio: None, limit: None }
    }

    pub(crate) fn number(name: &'static str, number: String) -> Self {
        Self { name, figures: (number, String::new()), ratio: None, limit: None }
    }

    pub(crate) fn within(self, limit: String, is_kept: bool) -> Self {
        Self { limit: Some((limit, is_kept)), ..self }
    }

    /// Returns a line whose p95 has a limit in milliseconds.
    pub(crate) fn p95(sample: &Sample, most: f64) -> Self {
        Self::time(sample).within(format!("p95 ≤ {most} ms"), ms(sample.p95) <= most)
    }

    /// Returns a line whose median may be at most this multiple of another.
    pub(crate) fn multiple(sample: &Sample, most: f64, other: &Sample) -> Self {
        let times = sample.times(other);
        Self::time(sample).within(format!("≤ {most} × {}, is {times:.2}", other.name), times <= most)
    }

    /// Returns a line with a quotient and its limit.
    pub(crate) fn ratio(name: &'static str, ratio: f64, most: f64) -> Self {
        Self::number(name, format!("{ratio:.2}")).within(format!("≤ {most}"), ratio <= most)
    }

    /// Returns the limit and whether it was kept, in words.
    fn judged(&self) -> String {
        let judged =
            |(text, is_kept): &(String, bool)| format!("{text}: {}", if *is_kept { "kept" } else { "NOT KEPT" });
        self.limit.as_ref().map(judged).unwrap_or_default()
    }

    fn shown_ratio(&self) -> String {
        self.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
    }
}

/// Returns the lines of the hooks, compared with the empty program.
pub(crate) fn hook_lines(empty: &Sample, samples: &[Sample]) -> Vec<Line> {
    let line = |(sample, row): (&Sample, &Row)| {
        let line = match row.limit {
            Limit::None => Line::time(sample),
            Limit::Empty(most) => {
                Line::time(sample).within(format!("≤ {most:.2} × empty"), sample.times(empty) <= most)
            }
            Limit::Other(name, most) => match samples.iter().find(|other| other.name == name) {
                Some(other) => Line::multiple(sample, most, other),
                None => Line::time(sample),
            },
        };
        Line { ratio: Some(sample.times(empty)), ..line }
    };
    samples.iter().zip(ROWS).map(line).collect()
}

pub(crate) fn plain_table(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    let ratio_width = if lines.iter().any(|line| line.ratio.is_some()) { 8 } else { 0 };
    let head = if ratio_width > 0 { "ratio" } else { "" };
    let mut text = format!("{:<width$} {:>11} {:>11}{head:>ratio_width$}  limit\n", "", "median", "p95");
    for line in lines {
        let ((median, p95), ratio) = (&line.figures, line.shown_ratio());
        let row = format!("{:<width$} {median:>11} {p95:>11}{ratio:>ratio_width$}  {}", line.name, line.judged());
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

pub(crate) fn markdown(lines: &[Line]) -> String {
    let has_ratio = lines.iter().any(|line| line.ratio.is_some());
    let (head, rule) = if has_ratio { (" ratio |", " ---: |") } else { ("", "") };
    let mut table = format!("| | median | p95 |{head} limit |\n| --- | ---: | ---: |{rule} --- |\n");
    for line in lines {
        let (median, p95) = &line.figures;
        let ratio = if has_ratio { format!(" **{}** |", line.shown_ratio()) } else { String::new() };
        let _ = writeln!(table, "| {} | {median} | {p95} |{ratio} {} |", line.name.trim(), line.judged());
    }
    table
}

pub(crate) fn print_json(empty: &Sample, samples: &[Sample]) -> Result<()> {
    let entry = |sample: &Sample| {
        json!({
            "name": sample.name,
            "runs": sample.runs,
            "median_ms": ms(sample.median),
            "p95_ms": ms(sample.p95),
            "ratio": sample.times(empty),
        })
    };
    let row = |(sample, line): (&Sample, Line)| {
        let mut entry = entry(sample);
        if let Some((text, is_kept)) = line.limit {
            entry["limit"] = json!(text);
            entry["kept"] = json!(is_kept);
        }
        entry
    };
    let rows: Vec<Value> = samples.iter().zip(hook_lines(empty, samples)).map(row).collect();
    write!(io::stdout(), "{}", pretty(&json!({ "empty": entry(empty), "rows": rows }))?)?;
    Ok(())
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Writes the reference hook in bash and its database to `data`; returns the script.
pub(crate) fn install(data: &Path, session: &str) -> Result<PathBuf> {
    let schema = format!(
        "PRAGMA journal_mode = wal;
         CREATE TABLE agents (session_id TEXT PRIMARY KEY, status TEXT, updated_at INTEGER);
         INSERT INTO agents VALUES ('{session}', 'working', 0);"
    );
    let made = sqlite3(data, &schema).output().context("cannot start sqlite3")?;
    ensure!(made.status.success(), "sqlite3 could not create the reference database");
    write_script(&data.join("reference-hook.sh"), include_str!("reference-hook.sh"))
}

/// Writes the reference hook in node to `data`; returns it.
pub(crate) fn install_node(data: &Path) -> Result<PathBuf> {
    write_script(&data.join("reference-hook.mjs"), include_str!("reference-hook.mjs"))
}

fn write_script(path: &Path, text: &str) -> Result<PathBuf> {
    put(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).context("cannot make the reference hook run")?;
    Ok(path.to_owned())
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
        "\n## What each hook costs\n\n{} runs of each; the empty program took {:.2} ms.\n\n{}",
        empty.runs,
        ms(empty.median),
        markdown(&hook_lines(empty, rows))
    );
    page.push_str("\n## How the cost grows\n");
    for series in SERIES {
        let (own, others) = rest.split_at(series.amounts.len());
        rest = others;
        let points = series.amounts.iter().zip(own).map(|(amount, sample)| (*amount as f64, sample.times(empty)));
        let file = format!("{}.svg", series.file);
        put(&folder.join(&file), &draw(series.title, series.along, &points.collect::<Vec<_>>()))?;
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
mod tests;
