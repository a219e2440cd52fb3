//! `cargo xtask bench --large`: measures the memory with a million observations.

mod hooks;
mod library;
mod spoken;
mod words;

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::Millis;
use longhaul_memory::Query;
use longhaul_runtime::memory::{ANSWER_TOKENS, Recall, Wanted};
use longhaul_store::{Order, SearchQuery, Stats, Store};
use serde_json::{Value, json};
use xtask::codegen::pretty;
use xtask::workspace::{Profile, Workspace};

use self::hooks::{HookTimes, Hooks};
pub(super) use self::library::Library;
use self::library::NOW;
use self::words::Dice;
pub(super) use self::words::Words;
use super::report::{Sample, ms};
use crate::stage::watch_interrupts;

/// Number of different queries of each kind.
const QUERIES: usize = 60;

/// Limit for the p95 of a search.
const SEARCH_MS: f64 = 50.0;

/// Limit for a search for three words.
const FEW_WORDS_MS: f64 = 30.0;

/// Limit for a search for a paragraph.
const PARAGRAPH_MS: f64 = 60.0;

/// Limit for the p95 of a recall, which answers a question with passages.
const RECALL_MS: f64 = 100.0;

/// Limit for the bytes of the file per byte of text in it.
const SIZE: f64 = 1.8;

/// Fills a database with `count` observations, then measures its size, searches and the hooks that read it.
pub(crate) fn run(workspace: &Workspace, count: usize, json: bool) -> Result<()> {
    ensure!(count >= 1_000, "--large takes at least 1000");
    watch_interrupts()?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    workspace.add_empty_program(&bin, Profile::Release)?;
    let report = Report::measure(&bin, count)?;
    match json {
        true => Ok(write!(io::stdout(), "{}", pretty(&report.to_json())?)?),
        false => report.print(&mut io::stdout()),
    }
}

/// The measurements.
struct Report {
    count: usize,
    stats: Stats,
    /// Time to fill the database.
    fill: Duration,
    /// Time to open it.
    open: Duration,
    /// Size of the file.
    bytes: u64,
    /// Size of the text in it.
    text_bytes: u64,
    tables: Vec<(String, u64)>,
    searches: Vec<Sample>,
    recalls: Vec<Sample>,
    writes: Vec<Sample>,
    hooks: HookTimes,
}

impl Report {
    fn measure(bin: &Path, count: usize) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
        let project = folder.path().join("project");
        std::fs::create_dir(&project)?;
        let path = folder.path().join("longhaul.db");
        let words = Words::new();
        let began = Instant::now();
        let mut store = Store::open(&path, Duration::from_secs(5))?;
        let library = Library::fill_around(&mut store, &words, count, &project.to_string_lossy())?;
        let fill = began.elapsed();
        drop(store);

        let began = Instant::now();
        let store = Store::open(&path, Duration::from_secs(5))?;
        let open = began.elapsed();
        let stats = store.stats()?;
        ensure!(
            stats.observations as usize == count,
            "{count} observations were written, {} are stored",
            stats.observations
        );
        Ok(Self {
            count,
            stats,
            fill,
            open,
            bytes: std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len(),
            text_bytes: library.text,
            searches: measure(&store, &words, &library)?,
            recalls: measure_recall(&store, &words, &library)?,
            writes: library.measure_writes(&store, &words)?,
            tables: store.sizes()?,
            hooks: HookTimes::measure(&Hooks { bin, home: folder.path(), project: &project }, &words, count)?,
        })
    }

    /// Returns the bytes of the file per byte of text in it.
    fn ratio(&self) -> f64 {
        self.bytes as f64 / self.text_bytes as f64
    }

    fn to_json(&self) -> Value {
        let row = |row: &Sample| json!({ "name": row.name, "runs": row.runs, "median_ms": ms(row.median), "p95_ms": ms(row.p95) });
        let rows: Vec<_> = self.searches.iter().chain(&self.recalls).map(row).collect();
        json!({
            "observations": self.count, "sessions": self.stats.sessions, "projects": self.stats.projects,
            "fill_s": self.fill.as_secs_f64(), "open_ms": ms(self.open),
            "bytes": self.bytes, "text_bytes": self.text_bytes, "ratio": self.ratio(), "tables": self.tables,
            "rows": rows, "hooks": self.hooks.to_json(),
        })
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let Stats { prompts, summaries, sessions, projects, .. } = self.stats;
        let (count, fill, ratio) = (self.count, self.fill.as_secs_f64(), self.ratio());
        writeln!(
            out,
            "{count} observations, {prompts} prompts, {summaries} summaries in {sessions} sessions of {projects} projects: \
             {fill:.1} s, {:.0} µs each",
            fill * 1e6 / count as f64
        )?;
        writeln!(
            out,
            "{:.0} MB of text in {:.0} MB: {ratio:.2} bytes per byte; ≤ {SIZE}: {}",
            self.text_bytes as f64 / 1e6,
            self.bytes as f64 / 1e6,
            kept(ratio <= SIZE)
        )?;
        for (table, bytes) in self.tables.iter().take(12) {
            writeln!(out, "  {table:<28} {:>8.1} MB", *bytes as f64 / 1e6)?;
        }
        writeln!(out, "opening: {:.3} ms", ms(self.open))?;
        writeln!(out, "{:<44} {:>5} {:>10} {:>10}  limit", "", "runs", "median", "p95")?;
        let searches = self.searches.iter().map(|row| (row, search_limit(row.name)));
        for (row, limit) in searches.chain(self.recalls.iter().map(|row| (row, RECALL_MS))) {
            let (median, p95) = (ms(row.median), ms(row.p95));
            let (name, runs, is_kept) = (row.name, row.runs, kept(p95 <= limit));
            writeln!(out, "{name:<44} {runs:>5} {median:>7.3} ms {p95:>7.3} ms  p95 ≤ {limit} ms: {is_kept}")?;
        }
        self.hooks.print(out)?;
        for row in self.writes.iter().chain([&self.hooks.upkeep]) {
            writeln!(out, "{:<44} {:>5} {:>7.3} ms {:>7.3} ms", row.name, row.runs, ms(row.median), ms(row.p95))?;
        }
        Ok(())
    }
}

/// Returns the limit of a search in milliseconds.
fn search_limit(name: &str) -> f64 {
    match name {
        "three words" => FEW_WORDS_MS,
        name if name.contains("60 words") => PARAGRAPH_MS,
        _ => SEARCH_MS,
    }
}

pub(super) fn kept(kept: bool) -> &'static str {
    if kept { "kept" } else { "NOT KEPT" }
}

/// One query.
#[derive(Default)]
struct Asked {
    words: Option<String>,
    file: Option<String>,
    project: Option<String>,
    from: Option<Millis>,
    to: Option<Millis>,
    order: Order,
}

/// Chooses the contents of the n-th query of a row, different for each n.
#[derive(Clone, Copy)]
struct Picker<'a> {
    words: &'a Words,
    library: &'a Library,
}

impl Picker<'_> {
    fn common(&self, n: usize) -> Option<String> {
        Some(self.words.ranked(n).to_owned())
    }

    fn middling(&self, n: usize) -> Option<String> {
        Some(self.words.ranked(200 + n * 13).to_owned())
    }

    fn rare(&self, n: usize) -> Option<String> {
        Some(self.words.ranked(self.words.len() / 2 + n * 97).to_owned())
    }

    fn two(&self, first: Option<String>, second: Option<String>) -> Option<String> {
        Some(format!("{} {}", first?, second?))
    }

    /// Returns words with the frequencies of prose: many common ones, some rare.
    fn prose(&self, n: usize, count: usize) -> Option<String> {
        Some(self.words.sentence(&mut Dice(n as u64 + 1), count))
    }

    fn file(&self, n: usize) -> &str {
        &self.library.files[n * 7919 % self.library.files.len()]
    }

    fn project(&self, n: usize) -> String {
        self.library.projects[n % self.library.projects.len()].clone()
    }
}

/// Builds the n-th query of a row.
type Ask = fn(&Picker<'_>, usize) -> Asked;

/// Queries of words only.
const WORD_QUERIES: [(&str, Ask); 9] = [
    ("one word, common", |pick, n| Asked { words: pick.common(n), ..Asked::default() }),
    ("one word, middling", |pick, n| Asked { words: pick.middling(n), ..Asked::default() }),
    ("one word, rare", |pick, n| Asked { words: pick.rare(n), ..Asked::default() }),
    ("two words, both common", |pick, n| Asked {
        words: pick.two(pick.common(n), pick.common(n + 7)),
        ..Asked::default()
    }),
    ("two words, common and middling", |pick, n| Asked {
        words: pick.two(pick.common(n), pick.middling(n)),
        ..Asked::default()
    }),
    ("the first five letters of a word", |pick, n| Asked {
        words: Some(pick.words.ranked(40 + n * 31)[..5].to_owned()),
        ..Asked::default()
    }),
    ("a part of a word", |pick, n| Asked {
        words: Some(pick.words.ranked(n * 41)[1..].to_owned()),
        ..Asked::default()
    }),
    ("three words", |pick, n| Asked { words: pick.prose(n, 3), ..Asked::default() }),
    ("a paragraph of 60 words", |pick, n| Asked { words: pick.prose(n, 60), ..Asked::default() }),
];

/// Queries with a filter or another order.
const FILTERED_QUERIES: [(&str, Ask); 8] = [
    ("a paragraph of 60 words in a project", |pick, n| Asked {
        words: pick.prose(n, 60),
        project: Some(pick.project(n)),
        ..Asked::default()
    }),
    ("a file", |pick, n| Asked { file: Some(pick.file(n).to_owned()), ..Asked::default() }),
    ("a part of a path", |pick, n| Asked {
        file: Some(pick.file(n)[4..pick.file(n).len() - 5].to_owned()),
        ..Asked::default()
    }),
    ("a file and a common word", |pick, n| Asked {
        words: pick.common(n),
        file: Some(pick.file(n).to_owned()),
        ..Asked::default()
    }),
    ("a common word in a project", |pick, n| Asked {
        words: pick.common(n),
        project: Some(pick.project(n * 5)),
        ..Asked::default()
    }),
    ("a common word in a fortnight", |pick, n| Asked {
        words: pick.common(n),
        from: days_ago(n as u64 * 10 + 14),
        to: days_ago(n as u64 * 10),
        ..Asked::default()
    }),
    ("a common word, the newest", |pick, n| Asked { words: pick.common(n), order: Order::Newest, ..Asked::default() }),
    ("a common word, the oldest", |pick, n| Asked { words: pick.common(n), order: Order::Oldest, ..Asked::default() }),
];

fn days_ago(days: u64) -> Option<Millis> {
    Some(Millis(NOW - days * 86_400_000))
}

/// Measures searches, and reading the page at session start.
fn measure(store: &Store, words: &Words, library: &Library) -> Result<Vec<Sample>> {
    let picker = Picker { words, library };
    let mut samples = Vec::new();
    for (name, ask) in WORD_QUERIES.into_iter().chain(FILTERED_QUERIES) {
        samples.push(time(name, |n| search(store, &ask(&picker, n)))?);
    }
    samples.push(time("the page at session start", |n| {
        let key = picker.project(n);
        Ok(store.page_sessions(&key, 24)?.len() + store.page_records(&key, 300, 12)?.len())
    })?);
    Ok(samples)
}

fn search(store: &Store, asked: &Asked) -> Result<usize> {
    let typed = asked.words.as_deref().map(Query::parse);
    let query = SearchQuery {
        query: typed.as_ref(),
        file: asked.file.as_deref(),
        project_key: asked.project.as_deref(),
        from: asked.from,
        to: asked.to,
        order: asked.order,
        limit: 20,
        ..SearchQuery::default()
    };
    Ok(store.search(&query)?.len())
}

/// Measures recall.
fn measure_recall(store: &Store, words: &Words, library: &Library) -> Result<Vec<Sample>> {
    let ask = |n: usize, count: usize, project: Option<&str>| {
        let mut dice = Dice(n as u64 + 1);
        let query = Query::of_words(&words.sentence(&mut dice, count));
        let recall = Recall::new(Wanted { query, ..Wanted::default() }, project, ANSWER_TOKENS);
        Ok(longhaul_runtime::memory::recall(store, &recall)?.passages().count())
    };
    let project = |n: usize| Some(library.projects[n % library.projects.len()].as_str());
    Ok(vec![
        time("recall, a question of 8 words", |n| ask(n, 8, None))?,
        time("recall, a question of 8 words in a project", |n| ask(n, 8, project(n)))?,
        time("recall, a paragraph of 60 words", |n| ask(n, 60, None))?,
    ])
}

/// Runs all queries once to warm up, then once more with the clock.
fn time(name: &'static str, ask: impl Fn(usize) -> Result<usize>) -> Result<Sample> {
    let mut found = 0;
    for n in 0..QUERIES {
        found += ask(n).with_context(|| name)?;
    }
    ensure!(found > QUERIES, "{name}: hardly anything is found, so the time means nothing");
    let mut times = Vec::new();
    for n in 0..QUERIES {
        let began = Instant::now();
        ask(n)?;
        times.push(began.elapsed());
    }
    Ok(Sample::new(name, times))
}
