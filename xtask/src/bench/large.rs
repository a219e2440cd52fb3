//! `cargo xtask bench --large`: how the memory does with a million observations in it.

mod hooks;
mod library;
mod spoken;
mod words;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::Millis;
use longhaul_memory::Query;
use longhaul_runtime::memory::{ANSWER_TOKENS, Recall, Wanted};
use longhaul_store::{Order, SearchQuery, Store};
use serde_json::json;

use self::hooks::{HookTimes, Hooks};
pub(super) use self::library::Library;
use self::library::NOW;
use self::words::Dice;
pub(super) use self::words::Words;
use super::report::{Sample, ms};
use crate::codegen::pretty;
use crate::stage::watch_interrupts;
use crate::workspace::{Profile, Workspace};

/// How often each kind of query is asked, each time for something else.
const QUERIES: usize = 60;

/// What a search may take, in 95 of 100 cases.
const SEARCH_MS: f64 = 50.0;

/// What a search for a few words may take.
const FEW_WORDS_MS: f64 = 30.0;

/// What a search for a paragraph may take.
const PARAGRAPH_MS: f64 = 60.0;

/// What answering a question with passages may take, in 95 of 100 cases.
const RECALL_MS: f64 = 100.0;

/// What the file may have in bytes for each byte of text in it.
const SIZE: f64 = 1.8;

/// Fills a database with `count` observations, and measures size, search and the beginning of a session.
pub(crate) fn run(workspace: &Workspace, count: usize, json: bool) -> Result<()> {
    ensure!(count >= 1_000, "--large takes at least 1000");
    watch_interrupts()?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    workspace.add_empty_program(&bin, Profile::Release)?;
    let folder = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let project = folder.path().join("project");
    std::fs::create_dir(&project)?;
    let path = folder.path().join("longhaul.db");
    let mut store = Store::open(&path, Duration::from_secs(5))?;
    let words = Words::new();
    let began = Instant::now();
    let library = Library::fill_around(&mut store, &words, count, &project.to_string_lossy())?;
    let took = began.elapsed();
    drop(store);

    let began = Instant::now();
    let store = Store::open(&path, Duration::from_secs(5))?;
    let opened = began.elapsed();
    let stats = store.stats()?;
    ensure!(stats.observations as usize == count, "{count} observations went in, {} are there", stats.observations);
    let size = std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
    let mut samples = measure(&store, &words, &library)?;
    let searches = samples.len();
    samples.extend(measure_recall(&store, &words, &library)?);
    let writes = library.measure_writes(&store, &words)?;
    let ratio = size as f64 / library.text as f64;
    let sizes = store.sizes()?;
    let hooks = HookTimes::measure(&Hooks { bin: &bin, home: folder.path(), project: &project }, &words, count)?;
    if json {
        let rows: Vec<_> = samples
            .iter()
            .map(
                |row| json!({ "name": row.name, "runs": row.runs, "median_ms": ms(row.median), "p95_ms": ms(row.p95) }),
            )
            .collect();
        let value = json!({
            "observations": count, "sessions": stats.sessions, "projects": stats.projects,
            "fill_s": took.as_secs_f64(), "open_ms": ms(opened),
            "bytes": size, "text_bytes": library.text, "ratio": ratio, "tables": sizes, "rows": rows, "hooks": hooks.to_json(),
        });
        write!(io::stdout(), "{}", pretty(&value)?)?;
        return Ok(());
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "{count} observations, {} prompts, {} summaries in {} sessions of {} projects: {:.1} s, {:.0} µs each",
        stats.prompts,
        stats.summaries,
        stats.sessions,
        stats.projects,
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / count as f64
    )?;
    writeln!(
        out,
        "{:.0} MB of text in {:.0} MB: {ratio:.2} bytes for each; ≤ {SIZE}: {}",
        library.text as f64 / 1e6,
        size as f64 / 1e6,
        kept(ratio <= SIZE)
    )?;
    for (table, bytes) in sizes.iter().take(12) {
        writeln!(out, "  {table:<28} {:>8.1} MB", *bytes as f64 / 1e6)?;
    }
    writeln!(out, "opening: {:.3} ms", ms(opened))?;
    writeln!(out, "{:<44} {:>5} {:>10} {:>10}  limit", "", "runs", "median", "p95")?;
    for (index, row) in samples.iter().enumerate() {
        let limit = if index < searches { search_limit(row.name) } else { RECALL_MS };
        writeln!(
            out,
            "{:<44} {:>5} {:>7.3} ms {:>7.3} ms  p95 ≤ {limit} ms: {}",
            row.name,
            row.runs,
            ms(row.median),
            ms(row.p95),
            kept(ms(row.p95) <= limit)
        )?;
    }
    hooks.print(&mut out)?;
    for row in writes.iter().chain([&hooks.upkeep]) {
        writeln!(out, "{:<44} {:>5} {:>7.3} ms {:>7.3} ms", row.name, row.runs, ms(row.median), ms(row.p95))?;
    }
    Ok(())
}

/// Returns what a search may take, in milliseconds.
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

/// What one query of a row asks for.
#[derive(Default)]
struct Asked {
    words: Option<String>,
    file: Option<String>,
    project: Option<String>,
    from: Option<Millis>,
    to: Option<Millis>,
    order: Order,
}

fn measure(store: &Store, words: &Words, library: &Library) -> Result<Vec<Sample>> {
    let common = |n: usize| words.ranked(n).to_owned();
    let rare = |n: usize| words.ranked(words.len() / 2 + n * 97).to_owned();
    let middling = |n: usize| words.ranked(200 + n * 13).to_owned();
    // As words are in prose: many common ones, some rare.
    let prose = |n: usize, count: usize| {
        let mut dice = Dice(n as u64 + 1);
        words.sentence(&mut dice, count)
    };
    let file = |n: usize| library.files[n * 7919 % library.files.len()].as_str();
    let project = |n: usize| library.projects[n % library.projects.len()].clone();
    let day = |days: u64| Some(Millis(NOW - days * 86_400_000));
    type Ask<'a> = Box<dyn Fn(usize) -> Asked + 'a>;
    let rows: [(&'static str, Ask<'_>); 17] = [
        ("one word, common", Box::new(|n| Asked { words: Some(common(n)), ..Asked::default() })),
        ("one word, middling", Box::new(|n| Asked { words: Some(middling(n)), ..Asked::default() })),
        ("one word, rare", Box::new(|n| Asked { words: Some(rare(n)), ..Asked::default() })),
        (
            "two words, both common",
            Box::new(|n| Asked { words: Some(format!("{} {}", common(n), common(n + 7))), ..Asked::default() }),
        ),
        (
            "two words, common and middling",
            Box::new(|n| Asked { words: Some(format!("{} {}", common(n), middling(n))), ..Asked::default() }),
        ),
        (
            "the first five letters of a word",
            Box::new(|n| Asked { words: Some(words.ranked(40 + n * 31)[..5].to_owned()), ..Asked::default() }),
        ),
        (
            "a part of a word",
            Box::new(|n| {
                let word = words.ranked(n * 41);
                Asked { words: Some(word[1..].to_owned()), ..Asked::default() }
            }),
        ),
        ("three words", Box::new(|n| Asked { words: Some(prose(n, 3)), ..Asked::default() })),
        ("a paragraph of 60 words", Box::new(|n| Asked { words: Some(prose(n, 60)), ..Asked::default() })),
        (
            "a paragraph of 60 words in a project",
            Box::new(|n| Asked { words: Some(prose(n, 60)), project: Some(project(n)), ..Asked::default() }),
        ),
        ("a file", Box::new(|n| Asked { file: Some(file(n).to_owned()), ..Asked::default() })),
        (
            "a part of a path",
            Box::new(|n| Asked { file: Some(file(n)[4..file(n).len() - 5].to_owned()), ..Asked::default() }),
        ),
        (
            "a file and a common word",
            Box::new(|n| Asked { words: Some(common(n)), file: Some(file(n).to_owned()), ..Asked::default() }),
        ),
        (
            "a common word in a project",
            Box::new(|n| Asked { words: Some(common(n)), project: Some(project(n * 5)), ..Asked::default() }),
        ),
        (
            "a common word in a fortnight",
            Box::new(|n| Asked {
                words: Some(common(n)),
                from: day(n as u64 * 10 + 14),
                to: day(n as u64 * 10),
                ..Asked::default()
            }),
        ),
        (
            "a common word, the newest",
            Box::new(|n| Asked { words: Some(common(n)), order: Order::Newest, ..Asked::default() }),
        ),
        (
            "a common word, the oldest",
            Box::new(|n| Asked { words: Some(common(n)), order: Order::Oldest, ..Asked::default() }),
        ),
    ];
    let mut samples = Vec::new();
    for (name, ask) in rows {
        samples.push(time(name, |n| search(store, &ask(n)))?);
    }
    samples.push(time("what a session is shown", |n| {
        let key = project(n);
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

/// Measures how long it takes to answer questions with passages.
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

/// Asks everything once to warm up, and once more for the clock.
fn time(name: &'static str, ask: impl Fn(usize) -> Result<usize>) -> Result<Sample> {
    let mut found = 0;
    for n in 0..QUERIES {
        found += ask(n).with_context(|| name)?;
    }
    ensure!(found > QUERIES, "{name}: nothing is found, and that is no measurement");
    let mut times = Vec::new();
    for n in 0..QUERIES {
        let began = Instant::now();
        ask(n)?;
        times.push(began.elapsed());
    }
    Ok(Sample::new(name, times))
}
