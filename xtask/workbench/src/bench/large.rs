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
use xtask::workspace::{MODEL_FILE, PACKAGE, Profile, Workspace};

use self::hooks::Hooks;
pub(super) use self::library::Library;
pub(super) use self::library::Words;
use self::library::{Dice, Hand, Made, NOW, PER_PROMPT, new_observations, register};
use self::searches::Opened;
use super::report::{Line, Sample, markdown, ms, plain_table};
use crate::page_section;
use crate::stage::watch_interrupts;

/// Limit for the bytes of the file per byte of text in it.
const SIZE: f64 = 1.8;

/// Limit for the share of the file that vectors take.
const VECTORS: f64 = 0.15;

/// Number of tables whose sizes are printed.
const TABLES: usize = 14;

/// Fills a database with `count` observations and their vectors, then measures its size, searches and the hooks. Writes the
/// figures into docs/benchmarks.md, too, if `is_for_page`.
pub(crate) fn run(workspace: &Workspace, profile: Profile, count: usize, is_for_page: bool) -> Result<()> {
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
    if is_for_page {
        page_section::write(&workspace.root.join("docs/benchmarks.md"), &format!("large {count}"), &report.section())?;
    }
    Ok(write!(io::stdout(), "{}", report.text())?)
}

/// The measurements.
struct Report {
    count: usize,
    stats: Stats,
    fill: Duration,
    /// Number of vectors, and the time to compute them.
    vectors: (usize, Duration),
    open: Duration,
    /// Size of the file, and of the text in it.
    bytes: u64,
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
        lines.extend(writes.iter().map(Line::time));
        Ok(Self { count, stats, fill, vectors, open, bytes, text_bytes: library.text, tables, lines })
    }

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
