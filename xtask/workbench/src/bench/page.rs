//! `docs/benchmarks.md`: the figures, how to reproduce them, and plots.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::plot;
use super::report::{Sample, judged, ms};
use super::rows::{ROWS, SERIES};
use crate::page_section;

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
        put(&folder.join(&file), &plot::draw(series.title, series.along, &points))?;
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
