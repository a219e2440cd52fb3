//! `cargo xtask bench --large`: measures a large memory with vectors: its size, searches, and the hooks that use it.

mod hooks;
mod library;
mod searches;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::{Millis, grouped};
use longhaul_runtime::handoff::Project;
use longhaul_store::{RecordId, Stats, Store, What};
use serde_json::{Value, json};
use xtask::codegen::pretty;
use xtask::workspace::{MODEL_FILE, PACKAGE, Profile, Workspace};

use self::hooks::Hooks;
pub(super) use self::library::Library;
pub(super) use self::library::Words;
use self::library::{Dice, Hand, Made, NOW, PER_PROMPT, new_observations, register};
use self::searches::Opened;
use super::Output;
use super::report::{Sample, kept, ms};
use crate::page_section;
use crate::stage::watch_interrupts;

/// Limit for the bytes of the file per byte of text in it.
const SIZE: f64 = 1.8;

/// Limit for the share of the file that vectors take.
const VECTORS: f64 = 0.15;

/// Number of tables whose sizes are printed.
const TABLES: usize = 14;

/// Fills a database with `count` observations and their vectors, then measures its size, searches and the hooks.
pub(crate) fn run(workspace: &Workspace, profile: Profile, count: usize, output: Output) -> Result<()> {
    ensure!(count >= 1_000, "--large takes at least 1000");
    let model = workspace.root.join("plugin").join(MODEL_FILE);
    watch_interrupts()?;
    let bin = match profile {
        Profile::Release => workspace.build_to_ship(profile, None)?,
        // The workbench has been built in the same folder, and shares its crates.
        Profile::Install | Profile::Dev => workspace.build(PACKAGE, &hooks::targets(), profile, None)?,
    };
    workspace.add_empty_program(&bin, profile)?;
    let report = Report::measure(&bin, &model, count)?;
    match output {
        Output::Table => Ok(write!(io::stdout(), "{}", report.text())?),
        Output::Json => Ok(write!(io::stdout(), "{}", pretty(&report.to_json())?)?),
        Output::Page => {
            let page = workspace.root.join("docs/benchmarks.md");
            page_section::write(&page, &format!("large {count}"), &report.section())?;
            Ok(write!(io::stdout(), "{}", report.text())?)
        }
    }
}

/// The measurements.
struct Report {
    count: usize,
    stats: Stats,
    /// Time to fill the database.
    fill: Duration,
    /// Number of vectors, and the time to compute them.
    vectors: (usize, Duration),
    /// Time to open the database.
    open: Duration,
    /// Size of the file.
    bytes: u64,
    /// Size of the text in it.
    text_bytes: u64,
    tables: Vec<(String, u64)>,
    lines: Vec<Line>,
}

impl Report {
    fn measure(built: &Path, model: &Path, count: usize) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
        let bin = hooks::lay_out(folder.path(), built, model)?;
        let (project, home) = (folder.path().join("project"), folder.path().join("large"));
        for folder in [&project, &home, &folder.path().join("empty")] {
            std::fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let path = home.join("longhaul.db");
        let words = Words::new();
        let began = Instant::now();
        let mut store = Store::open(&path, Duration::from_secs(5))?;
        let library = Library::fill_around(&mut store, &words, count, &Project::in_dir(&project).key)?;
        let fill = began.elapsed();
        drop(store);

        let began = Instant::now();
        let opened = Opened::new(&home, model)?;
        let open = began.elapsed();
        let began = Instant::now();
        let vectors = (opened.compute_vectors()?, began.elapsed());
        let stats = opened.store.stats()?;
        let stored = stats.observations as usize;
        ensure!(stored == count, "{count} observations were written, {stored} are stored");
        let bytes = std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        let taken: u64 = opened.store.vector_stats()?.iter().map(|model| model.bytes).sum();
        let mut lines = vec![
            Line::ratio(
                "bytes of the database, with vectors, per byte of text",
                bytes as f64 / library.text as f64,
                SIZE,
            ),
            Line::ratio("share of vectors in the database", taken as f64 / bytes as f64, VECTORS),
        ];
        let tables = opened.store.sizes()?;
        lines.extend(opened.measure(&words, &library)?);
        let writes = measure(&opened.store, &library, &words)?;
        drop(opened);
        let hooks = |home: &str| Hooks { bin: &bin, home: folder.path().join(home), project: &project };
        lines.extend(hooks::measure(&hooks("large"), &hooks("empty"), &words, count)?);
        lines.extend(writes.map(Line::time));
        Ok(Self { count, stats, fill, vectors, open, bytes, text_bytes: library.text, tables, lines })
    }

    fn to_json(&self) -> Value {
        let (vectors, took) = self.vectors;
        json!({
            "observations": self.count, "sessions": self.stats.sessions, "projects": self.stats.projects,
            "fill_s": self.fill.as_secs_f64(), "vectors": vectors, "vectors_s": took.as_secs_f64(),
            "open_ms": ms(self.open), "bytes": self.bytes, "text_bytes": self.text_bytes, "tables": self.tables,
            "rows": json(&self.lines),
        })
    }

    /// Returns the report for a terminal.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.contents());
        for (table, bytes) in self.tables.iter().take(TABLES) {
            let _ = writeln!(text, "  {table:<28} {:>8.1} MB", *bytes as f64 / 1e6);
        }
        let _ = writeln!(text, "opening: {:.2} ms", ms(self.open));
        text.push_str(&plain_table(&self.lines));
        text
    }

    /// Returns the section of docs/benchmarks.md.
    fn section(&self) -> String {
        let count = grouped(self.count as u64);
        format!(
            "## A memory of {count} observations\n\n\
             {} Searches, recall and hooks use the model of the bundle. A search or recall is measured as commands and the \
             MCP server do it, in all projects if no project is named. A hook is measured in a session of one turn, in the \
             project with the most records. The Stop that it is compared with takes such a turn into the same memory and adds \
             nothing to the index of passages.\n`cargo xtask bench --large {} --report` writes this section.\n\n{}",
            self.contents(),
            self.count,
            markdown(&self.lines)
        )
    }

    /// Returns what the memory contains, and how long it took to make it, in sentences.
    fn contents(&self) -> String {
        let Stats { prompts, summaries, sessions, projects, .. } = self.stats;
        let (vectors, took) = self.vectors;
        format!(
            "{} observations, {} prompts with replies and {} summaries, of {} sessions in {projects} projects, \
             stored in {:.0} s. {} vectors, computed in {:.0} s. {:.0} MB of text in a file of {:.0} MB.",
            grouped(self.count as u64),
            grouped(prompts),
            grouped(summaries),
            grouped(sessions),
            self.fill.as_secs_f64(),
            grouped(vectors as u64),
            took.as_secs_f64(),
            self.text_bytes as f64 / 1e6,
            self.bytes as f64 / 1e6
        )
    }
}

/// One line of the table.
struct Line {
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
    fn time(sample: Sample) -> Self {
        Self { name: sample.name, figure: Figure::Times(sample), limit: None }
    }

    /// Returns a line whose p95 has a limit in milliseconds.
    fn p95(sample: Sample, most: f64) -> Self {
        let limit = Limit { text: format!("p95 ≤ {most} ms"), is_kept: ms(sample.p95) <= most };
        Self { limit: Some(limit), ..Self::time(sample) }
    }

    /// Returns a line whose median may be at most this multiple of another.
    fn multiple(sample: Sample, most: f64, other: &Sample) -> Self {
        let times = sample.times(other);
        let limit = Limit { text: format!("≤ {most} × {}, is {times:.2}", other.name), is_kept: times <= most };
        Self { limit: Some(limit), ..Self::time(sample) }
    }

    /// Returns a line with a quotient and its limit.
    fn ratio(name: &'static str, ratio: f64, most: f64) -> Self {
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
fn plain_table(lines: &[Line]) -> String {
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
fn json(lines: &[Line]) -> Value {
    lines.iter().map(Line::to_json).collect()
}

/// Returns the lines as a table of Markdown.
fn markdown(lines: &[Line]) -> String {
    let mut table = "| | median | p95 | limit |\n| --- | ---: | ---: | --- |\n".to_owned();
    for line in lines {
        let (median, p95) = line.figures();
        let _ = writeln!(table, "| {} | {median} | {p95} | {} |", line.name, line.judged());
    }
    table
}

/// Number of measurements of each kind.
const WRITES: usize = 40;

/// Measures the writes of a running session, and forgetting.
fn measure(store: &Store, library: &Library, words: &Words) -> Result<[Sample; 3]> {
    let mut dice = Dice(7);
    let raw = words.sentence(&mut dice, 20_000);
    let mut hand = Hand { words, dice, raw: &raw, files: &library.files };
    let session = "running-session";
    register(store, session, &library.projects[0], NOW)?;
    let (mut prompts, mut turns, mut forgets) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..WRITES {
        let text = hand.words.sentence(&mut hand.dice, 40);
        let began = Instant::now();
        store.remember_prompt(session, Some(&format!("prompt-{n}")), &text, Millis(NOW + n as u64))?;
        prompts.push(began.elapsed());
        let made: Vec<Made<'_>> = (0..PER_PROMPT).map(|call| hand.call(0, usize::MAX - n, call)).collect();
        let new = new_observations(&made, NOW + n as u64);
        let began = Instant::now();
        store.take_in(session, &new, None)?;
        turns.push(began.elapsed());
        let records = store.page_records(&library.projects[1 + n % 20], 50, 0)?;
        let Some(id) = records.last().map(|record| record.id) else { continue };
        let began = Instant::now();
        store.forget(RecordId { what: What::Observation, id })?;
        forgets.push(began.elapsed());
    }
    Ok([
        Sample::new("storing a prompt", prompts),
        Sample::new("storing the 20 calls of a turn", turns),
        Sample::new("forgetting one observation", forgets),
    ])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Line, Sample, json, markdown, plain_table};

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
        assert!(plain_table(&lines()).contains("three words    31.00 ms    31.00 ms  p95 ≤ 30 ms: NOT KEPT\n"));
        let kept: Vec<Option<bool>> = (0..4).map(|line| json(&lines())[line]["kept"].as_bool()).collect();
        assert_eq!(kept, [Some(false), Some(true), Some(true), None]);
    }
}
