//! The searches that are measured, each with its limit.

use longhaul_core::Millis;
use longhaul_core::clock::{Date, date_of};
use longhaul_memory::Query;
use longhaul_runtime::memory::Wanted;
use longhaul_store::Order;

use super::library::{Library, NOW};
use super::words::{Dice, Words};

/// Number of results of a search.
const RESULTS: usize = 20;

/// Limit for the p95 of a search, in milliseconds.
const SEARCH_MS: f64 = 50.0;

/// Limit for a search for three words.
const FEW_WORDS_MS: f64 = 30.0;

/// Limit for a search for a paragraph.
const PARAGRAPH_MS: f64 = 60.0;

/// One search.
pub(super) struct Asked {
    pub(super) wanted: Wanted,
    /// The key of the project; `None` for all.
    pub(super) project: Option<String>,
}

impl Asked {
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
pub(super) struct Picker<'a> {
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
    pub(super) fn prose(&self, n: usize, count: usize) -> String {
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
type Ask = fn(&Picker<'_>, usize) -> Asked;

/// Every search: its name, the limit of its p95 in milliseconds, and its queries.
pub(super) const SEARCHES: [(&str, f64, Ask); 21] = [
    ("one word, common", SEARCH_MS, |pick, n| Asked::words(pick.common(n))),
    ("one word, middling", SEARCH_MS, |pick, n| Asked::words(pick.middling(n))),
    ("one word, rare", SEARCH_MS, |pick, n| Asked::words(pick.rare(n))),
    ("two words, both common", SEARCH_MS, |pick, n| {
        Asked::words(&format!("{} {}", pick.common(n), pick.common(n + 7)))
    }),
    ("two words, common and middling", SEARCH_MS, |pick, n| {
        Asked::words(&format!("{} {}", pick.common(n), pick.middling(n)))
    }),
    ("the first three letters of a word and *", SEARCH_MS, |pick, n| {
        Asked::words(&format!("{}*", &pick.words.ranked(40 + n * 31)[..3]))
    }),
    ("the first five letters of a word", SEARCH_MS, |pick, n| Asked::words(&pick.words.ranked(40 + n * 31)[..5])),
    ("a part of a word", SEARCH_MS, |pick, n| Asked::words(&pick.words.ranked(n * 41)[1..])),
    ("one Chinese character", SEARCH_MS, |pick, n| {
        Asked::words(&pick.chinese(n, 1).chars().take(1).collect::<String>())
    }),
    ("a Chinese question of 12 characters", SEARCH_MS, |pick, n| Asked::words(&pick.chinese(n, 6))),
    ("three words", FEW_WORDS_MS, |pick, n| Asked::words(&pick.prose(n, 3))),
    ("three words in a project", FEW_WORDS_MS, |pick, n| Asked::words(&pick.prose(n, 3)).within(pick.project(n))),
    ("a paragraph of 60 words", PARAGRAPH_MS, |pick, n| Asked::words(&pick.prose(n, 60))),
    ("a paragraph of 60 words in a project", PARAGRAPH_MS, |pick, n| {
        Asked::words(&pick.prose(n, 60)).within(pick.project(n))
    }),
    ("a file", SEARCH_MS, |pick, n| in_file(pick.file(n), Query::default())),
    ("a part of a path", SEARCH_MS, |pick, n| {
        let file = pick.file(n);
        in_file(&file[4..file.len() - 5], Query::default())
    }),
    ("a file and a common word", SEARCH_MS, |pick, n| in_file(pick.file(n), Query::parse(pick.common(n)))),
    ("a common word in a project", SEARCH_MS, |pick, n| Asked::words(pick.common(n)).within(pick.project(n * 5))),
    ("a common word in a fortnight", SEARCH_MS, |pick, n| {
        let mut asked = Asked::words(pick.common(n));
        asked.wanted.since = Some(days_ago(n as u64 * 10 + 14));
        asked.wanted.before = Some(days_ago(n as u64 * 10));
        asked
    }),
    ("a common word, the newest", SEARCH_MS, |pick, n| ordered(pick.common(n), Order::Newest)),
    ("a common word, the oldest", SEARCH_MS, |pick, n| ordered(pick.common(n), Order::Oldest)),
];

fn in_file(file: &str, query: Query) -> Asked {
    Asked::new(Wanted { query, file: Some(file.to_owned()), ..Wanted::default() })
}

fn ordered(words: &str, order: Order) -> Asked {
    let mut asked = Asked::words(words);
    asked.wanted.order = order;
    asked
}

fn days_ago(days: u64) -> Date {
    date_of(Millis(NOW - days * 86_400_000), 0)
}
