//! Searches by words and by meaning. The vectors are compared in another thread while the words are searched for.

use std::thread;

use longhaul_core::{Config, Env};
use longhaul_memory::{Answer, Query};
use longhaul_store::{Hit, NEAREST, NearRecords, Order, Store, StoreError};

use super::{Effort, Meaning};
use crate::memory::find::{Wanted, find_with};
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
    question.compare_meanwhile(store, |near| find_with(store, wanted, project_key, near))
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
pub(in crate::memory) type Near<'a> = Box<dyn FnOnce() -> NearRecords + 'a>;

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
    /// Runs a search by words while another thread compares the vectors.
    fn compare_meanwhile<T>(self, store: &Store, search: impl FnOnce(Near<'_>) -> T) -> T {
        let text = wanted_text(&self.wanted.query);
        // A query with another order, or without plain words, asks for a list, not for a meaning.
        if text.is_empty() || self.wanted.order != Order::Relevance {
            return search(Box::new(NearRecords::default));
        }
        // Without one, as in a transaction, the vectors are compared after the search by words.
        let Ok(Some(reader)) = store.second_reader() else {
            return search(Box::new(|| self.logged(self.near(store, &text))));
        };
        let compare = || self.logged(reader.open().map_err(Error::from).and_then(|store| self.near(&store, &text)));
        thread::scope(|scope| {
            let comparing = scope.spawn(compare);
            search(Box::new(|| comparing.join().unwrap_or_default()))
        })
    }

    /// Returns the records that are near in meaning to the words; none if there is no model.
    fn near(self, store: &Store, text: &str) -> Result<NearRecords, Error> {
        let Some(meaning) = Meaning::open(self.env, self.home, self.config)? else { return Ok(NearRecords::default()) };
        // Of a word that the model does not know, such as a typing error, only pieces have vectors. They may change the
        // order of what words find, but must not produce results if words find nothing.
        let words: Vec<String> =
            self.wanted.query.wanted_terms().into_iter().map(|mut term| term.forms.swap_remove(0)).collect();
        let are_enough = meaning.knows_any_word(&words.join(" "));
        Ok(NearRecords { records: meaning.nearest(store, self.project_key, text, NEAREST)?, are_enough })
    }

    /// Logs an error, because the search works without the records.
    fn logged(self, near: Result<NearRecords, Error>) -> NearRecords {
        near.unwrap_or_else(|error| {
            ErrorLog::new(self.env, "search").write(&error.chain());
            NearRecords::default()
        })
    }
}

/// Returns the plain words of a query. A star, which matches everything, has no meaning.
fn wanted_text(query: &Query) -> String {
    let text = query.wanted();
    if text.trim() == "*" { String::new() } else { text }
}
