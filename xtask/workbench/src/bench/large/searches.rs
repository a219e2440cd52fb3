//! The cost of searches and recall in a large memory, by words and meaning, as commands and the MCP server do them, and the
//! questions that are search.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_core::clock::{Date, date_of};
use longhaul_core::{Config, Env, Millis, Platform};
use longhaul_memory::Query;
use longhaul_runtime::Home;
use longhaul_runtime::memory::meaning::{self, Effort, Meaning};
use longhaul_runtime::memory::{ANSWER_TOKENS, Recall, Wanted};
use longhaul_store::{NEAREST, Order, Store};
use serde_json::json;

use super::super::report::{Line, Sample};
use super::library::{Dice, Library, NOW, Words};
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
        let (config, warnings) = Config::from_json(&json!({ "memory": { "embeddings": model } }).to_string());
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
                let search = ask(&picker, n);
                self.search(&search.wanted, search.project.as_deref())
            })?;
            lines.push(Line::p95(&sample, limit));
        }
        let project = |n: usize| library.projects[n % library.projects.len()].as_str();
        let recalls = [
            time("recall, a question of 8 words", |n| self.recall(&picker.prose(n, 8), None))?,
            time("recall, a question of 8 words in a project", |n| self.recall(&picker.prose(n, 8), Some(project(n))))?,
            time("recall, a paragraph of 60 words", |n| self.recall(&picker.prose(n, 60), None))?,
        ];
        lines.extend(recalls.iter().map(|sample| Line::p95(sample, RECALL_MS)));
        let meaning = self.meaning()?;
        let nearest = time("comparing a question with every vector", |n| {
            Ok(meaning.nearest(&self.store, None, &picker.prose(n, 8), NEAREST)?.len())
        })?;
        let page = time("reading the page at session start", |n| {
            let key = picker.project(n);
            Ok(self.store.page_sessions(&key, 24)?.len() + self.store.page_records(&key, 300, 12)?.len())
        })?;
        lines.extend([nearest, page].iter().map(Line::time));
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

const RESULTS: usize = 20;

/// Limit for the p95 of a search, in milliseconds.
const SEARCH_MS: f64 = 50.0;

/// Limit for a search for three words.
const FEW_WORDS_MS: f64 = 30.0;

/// Limit for a search for a paragraph.
const PARAGRAPH_MS: f64 = 60.0;

pub(super) struct Search {
    pub(super) wanted: Wanted,
    /// The key of the project; `None` for all.
    pub(super) project: Option<String>,
}

impl Search {
    fn new(wanted: Wanted) -> Self {
        Self { wanted: Wanted { limit: RESULTS, ..wanted }, project: None }
    }

    fn words(text: &str) -> Self {
        Self::new(Wanted { query: Query::parse(text), ..Wanted::default() })
    }

    fn within(self, project: String) -> Self {
        Self { project: Some(project), ..self }
    }
}

/// Chooses the contents of the n-th query of a row, different for each n.
#[derive(Clone, Copy)]
struct Picker<'a> {
    pub(super) words: &'a Words,
    pub(super) library: &'a Library,
}

impl Picker<'_> {
    fn common(&self, n: usize) -> &str {
        self.words.ranked(n)
    }

    fn middling(&self, n: usize) -> &str {
        self.words.ranked(200 + n * 13)
    }

    fn rare(&self, n: usize) -> &str {
        self.words.ranked(self.words.len() / 2 + n * 97)
    }

    /// Returns words with the frequencies of prose: many common ones, some rare.
    fn prose(&self, n: usize, count: usize) -> String {
        self.words.sentence(&mut Dice(n as u64 + 1), count)
    }

    fn chinese(&self, n: usize, count: usize) -> String {
        self.words.chinese(&mut Dice(n as u64 + 1), count)
    }

    fn file(&self, n: usize) -> &str {
        &self.library.files[n * 7919 % self.library.files.len()]
    }

    pub(super) fn project(&self, n: usize) -> String {
        self.library.projects[n % self.library.projects.len()].clone()
    }
}

/// Builds the n-th query of a row.
type Ask = fn(&Picker<'_>, usize) -> Search;

/// Every search: its name, the limit of its p95 in milliseconds, and its queries.
const SEARCHES: [(&str, f64, Ask); 21] = [
    ("one word, common", SEARCH_MS, |pick, n| Search::words(pick.common(n))),
    ("one word, middling", SEARCH_MS, |pick, n| Search::words(pick.middling(n))),
    ("one word, rare", SEARCH_MS, |pick, n| Search::words(pick.rare(n))),
    ("two words, both common", SEARCH_MS, |pick, n| {
        Search::words(&format!("{} {}", pick.common(n), pick.common(n + 7)))
    }),
    ("two words, common and middling", SEARCH_MS, |pick, n| {
        Search::words(&format!("{} {}", pick.common(n), pick.middling(n)))
    }),
    ("the first three letters of a word and *", SEARCH_MS, |pick, n| {
        Search::words(&format!("{}*", &pick.words.ranked(40 + n * 31)[..3]))
    }),
    ("the first five letters of a word", SEARCH_MS, |pick, n| Search::words(&pick.words.ranked(40 + n * 31)[..5])),
    ("a part of a word", SEARCH_MS, |pick, n| Search::words(&pick.words.ranked(n * 41)[1..])),
    ("one Chinese character", SEARCH_MS, |pick, n| {
        Search::words(&pick.chinese(n, 1).chars().take(1).collect::<String>())
    }),
    ("a Chinese question of 12 characters", SEARCH_MS, |pick, n| Search::words(&pick.chinese(n, 6))),
    ("three words", FEW_WORDS_MS, |pick, n| Search::words(&pick.prose(n, 3))),
    ("three words in a project", FEW_WORDS_MS, |pick, n| Search::words(&pick.prose(n, 3)).within(pick.project(n))),
    ("a paragraph of 60 words", PARAGRAPH_MS, |pick, n| Search::words(&pick.prose(n, 60))),
    ("a paragraph of 60 words in a project", PARAGRAPH_MS, |pick, n| {
        Search::words(&pick.prose(n, 60)).within(pick.project(n))
    }),
    ("a file", SEARCH_MS, |pick, n| in_file(pick.file(n), Query::default())),
    ("a part of a path", SEARCH_MS, |pick, n| {
        let file = pick.file(n);
        in_file(&file[4..file.len() - 5], Query::default())
    }),
    ("a file and a common word", SEARCH_MS, |pick, n| in_file(pick.file(n), Query::parse(pick.common(n)))),
    ("a common word in a project", SEARCH_MS, |pick, n| Search::words(pick.common(n)).within(pick.project(n * 5))),
    ("a common word in a fortnight", SEARCH_MS, |pick, n| {
        let mut search = Search::words(pick.common(n));
        search.wanted.since = Some(days_ago(n as u64 * 10 + 14));
        search.wanted.before = Some(days_ago(n as u64 * 10));
        search
    }),
    ("a common word, the newest", SEARCH_MS, |pick, n| ordered(pick.common(n), Order::Newest)),
    ("a common word, the oldest", SEARCH_MS, |pick, n| ordered(pick.common(n), Order::Oldest)),
];

fn in_file(file: &str, query: Query) -> Search {
    Search::new(Wanted { query, file: Some(file.to_owned()), ..Wanted::default() })
}

fn ordered(words: &str, order: Order) -> Search {
    let mut search = Search::words(words);
    search.wanted.order = order;
    search
}

fn days_ago(days: u64) -> Date {
    date_of(Millis(NOW - days * 86_400_000), 0)
}
