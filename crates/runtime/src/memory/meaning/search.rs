//! Searches by words and by meaning. Another thread compares the vectors meanwhile, unless an endpoint computes them.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

use longhaul_core::{Config, Env};
use longhaul_memory::{Answer, Query, is_short};
use longhaul_store::{Hit, NEAREST, NearRecords, Order, Store, StoreError};

use super::{Effort, Meaning};
use crate::memory::find::{Wanted, find};
use crate::memory::recall::{Recall, recall_with};
use crate::{Error, ErrorLog, Home};

/// Searches by words and, if there is a model, by meaning, in the project with this key or in all.
///
/// An unusable model is logged, and the search uses words only.
pub fn search(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Result<Vec<Hit>, StoreError> {
    let question = Question { env, home, config, wanted, project_key };
    question.compare_meanwhile(store, |near| find(store, wanted, project_key, near))
}

/// Answers a question with the best passages, found by words and, if there is a model, by meaning.
///
/// An unusable model is logged, and the search uses words only.
pub fn recall(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    recall: &Recall<'_>,
) -> Result<Answer, StoreError> {
    let question = Question { env, home, config, wanted: &recall.wanted, project_key: recall.project_key };
    question.compare_meanwhile(store, |near| recall_with(store, recall, near))
}

/// Computes the newest missing vectors before a search, in a fraction of a second.
///
/// An error is logged, because the search works without them.
pub fn catch_up(env: &Env, home: &Home, config: &Config, store: &Store) {
    let computed = match Meaning::open(env, home, config) {
        Ok(Some(meaning)) => meaning.catch_up(store, env.now, Effort::Search),
        Ok(None) => return,
        // The search reports the problem.
        Err(_) => return,
    };
    if let Err(error) = computed {
        ErrorLog::new(env, "search").write(&error.chain());
    }
}

/// Returns the records that are near in meaning, when they are needed.
type Near<'a> = Box<dyn FnOnce() -> NearRecords + 'a>;

/// What is compared with the vectors.
#[derive(Clone, Copy)]
struct Question<'a> {
    env: &'a Env,
    home: &'a Home,
    config: &'a Config,
    wanted: &'a Wanted,
    project_key: Option<&'a str>,
}

impl Question<'_> {
    /// Runs a search by words while another thread compares the vectors; with an endpoint, after they were compared.
    fn compare_meanwhile<T>(self, store: &Store, search: impl FnOnce(Near<'_>) -> T) -> T {
        let text = wanted_text(&self.wanted.query);
        // A query with another order, or without plain words, asks for a list, not for a meaning.
        let asks_for_list = text.is_empty() || self.wanted.order != Order::Relevance;
        let meaning = if asks_for_list { None } else { self.model() };
        let Some(meaning) = meaning else { return search(Box::new(NearRecords::default)) };
        let compare = |store: &Store| self.near(&meaning, store, &text);
        // An endpoint may need seconds, for which the search must not keep its transaction open.
        if meaning.endpoint.is_some() {
            let near = compare(store);
            return search(Box::new(|| near));
        }
        let Ok(Some(reader)) = store.second_reader() else { return search(Box::new(|| compare(store))) };
        thread::scope(|scope| {
            let started =
                thread::Builder::new().spawn_scoped(scope, || reader.open().ok().map(|store| compare(&store)));
            search(Box::new(|| match started.map(ScopedJoinHandle::join) {
                Ok(Ok(Some(near))) => near,
                Ok(Err(panic)) => resume_unwind(panic),
                // The system allows no more threads or open files. Another problem of the database is reported by the search.
                Ok(Ok(None)) | Err(_) => compare(store),
            }))
        })
    }

    /// Returns the model; `None` if there is none. An unusable one is logged.
    fn model(self) -> Option<Meaning> {
        let opened = Meaning::open(self.env, self.home, self.config);
        opened.map_err(|error| self.log(&error)).ok().flatten()
    }

    /// Returns the records that are near in meaning to the words. An error is logged, because the search works without them.
    fn near(self, meaning: &Meaning, store: &Store, text: &str) -> NearRecords {
        // Of a word that the model does not know, such as a typing error, only pieces have vectors. They may change the
        // order of what words find and add to it, but must not produce results if words find nothing.
        let words: Vec<String> =
            self.wanted.query.wanted_terms().into_iter().map(|mut term| term.forms.swap_remove(0)).collect();
        let are_enough = meaning.knows_any_word(&words.join(" "));
        let found = meaning.nearest(store, self.project_key, text, NEAREST);
        let records = found.map_err(|error| self.log(&error)).unwrap_or_default();
        // A longer text has many sentences itself.
        let closeness = if is_short(text) { meaning.closeness(store, text, &records) } else { Ok(Vec::new()) };
        let closeness = closeness.map_err(|error| self.log(&error)).unwrap_or_default();
        NearRecords { records, closeness, are_enough }
    }

    fn log(self, error: &Error) {
        ErrorLog::new(self.env, "search").write(&error.chain());
    }
}

/// Returns the plain words of a query. A star, which matches everything, has no meaning.
fn wanted_text(query: &Query) -> String {
    let text = query.wanted();
    if text.trim() == "*" { String::new() } else { text }
}
