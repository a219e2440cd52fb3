//! The cost of searches and recall in a large memory, by words and meaning, as commands and the MCP server do them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::{Config, Env, Millis, Platform};
use longhaul_memory::Query;
use longhaul_runtime::Home;
use longhaul_runtime::memory::meaning::{self, Effort, Meaning};
use longhaul_runtime::memory::{ANSWER_TOKENS, Recall, Wanted};
use longhaul_store::{NEAREST, Store};
use serde_json::json;

use super::super::report::Sample;
use super::library::{Library, NOW};
use super::queries::{Picker, SEARCHES};
use super::table::Line;
use super::words::Words;
use crate::stage::check_interrupts;

/// Number of different queries of each kind.
const QUERIES: usize = 60;

/// Limit for the p95 of a recall, which answers a question with passages, in milliseconds.
const RECALL_MS: f64 = 100.0;

/// A memory as a command opens it, with the model.
pub(super) struct Opened {
    env: Env,
    home: Home,
    config: Config,
    pub(super) store: Store,
}

impl Opened {
    /// Opens the memory in `home`, to be searched with the model in the file `model`.
    pub(super) fn new(home: &Path, model: &Path) -> Result<Self> {
        let folder = home.to_string_lossy().into_owned();
        let env = Env::new(Millis(NOW), Platform::default(), |name| {
            matches!(name, "HOME" | "LONGHAUL_HOME").then(|| folder.clone())
        });
        let (config, warnings) =
            Config::from_json(&json!({ "memory": { "embeddings": { "file": model } } }).to_string());
        ensure!(warnings.is_empty(), "the configuration is not understood: {warnings:?}");
        let store = Store::open(&home.join("longhaul.db"), Duration::from_secs(5))?;
        Ok(Self { home: Home::of(&env)?, env, config, store })
    }

    /// Computes all vectors, as upkeep does.
    pub(super) fn compute_vectors(&self) -> Result<usize> {
        let meaning = self.meaning()?;
        let mut computed = 0;
        loop {
            check_interrupts()?;
            match meaning.catch_up(&self.store, self.env.now, Effort::Upkeep)? {
                0 => break,
                more => computed += more,
            }
        }
        self.store.settle_writes()?;
        Ok(computed)
    }

    fn meaning(&self) -> Result<Meaning> {
        Meaning::open(&self.env, &self.home, &self.config)?.context("the model is not found")
    }

    /// Searches as `longhaul memory search` does; returns the number of results.
    fn search(&self, wanted: &Wanted, project: Option<&str>) -> Result<usize> {
        meaning::catch_up(&self.env, &self.home, &self.config, &self.store);
        Ok(meaning::search(&self.env, &self.home, &self.config, &self.store, wanted, project)?.len())
    }

    /// Answers as `longhaul memory recall` does; returns the number of passages.
    fn recall(&self, question: &str, project: Option<&str>) -> Result<usize> {
        meaning::catch_up(&self.env, &self.home, &self.config, &self.store);
        let wanted = Wanted { query: Query::of_words(question), ..Wanted::default() };
        let recall = Recall::new(wanted, project, ANSWER_TOKENS);
        Ok(meaning::recall(&self.env, &self.home, &self.config, &self.store, &recall)?.passages().count())
    }

    /// Measures searches, recall, and reading the page at session start.
    pub(super) fn measure(&self, words: &Words, library: &Library) -> Result<Vec<Line>> {
        let picker = Picker { words, library };
        let mut lines = Vec::new();
        for (name, limit, ask) in SEARCHES {
            let sample = time(name, |n| {
                let asked = ask(&picker, n);
                self.search(&asked.wanted, asked.project.as_deref())
            })?;
            lines.push(Line::p95(sample, limit));
        }
        let project = |n: usize| library.projects[n % library.projects.len()].as_str();
        let recalls = [
            time("recall, a question of 8 words", |n| self.recall(&picker.prose(n, 8), None))?,
            time("recall, a question of 8 words in a project", |n| self.recall(&picker.prose(n, 8), Some(project(n))))?,
            time("recall, a paragraph of 60 words", |n| self.recall(&picker.prose(n, 60), None))?,
        ];
        lines.extend(recalls.map(|sample| Line::p95(sample, RECALL_MS)));
        let meaning = self.meaning()?;
        let nearest = time("comparing a question with every vector", |n| {
            Ok(meaning.nearest(&self.store, None, &picker.prose(n, 8), NEAREST)?.len())
        })?;
        let page = time("reading the page at session start", |n| {
            let key = picker.project(n);
            Ok(self.store.page_sessions(&key, 24)?.len() + self.store.page_records(&key, 300, 12)?.len())
        })?;
        lines.extend([nearest, page].map(Line::time));
        Ok(lines)
    }
}

/// Runs all queries once to warm up, then once more with the clock.
fn time(name: &'static str, ask: impl Fn(usize) -> Result<usize>) -> Result<Sample> {
    check_interrupts()?;
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
