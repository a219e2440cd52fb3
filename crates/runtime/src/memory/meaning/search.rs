//! Searching by words and by meaning.

use longhaul_core::{Config, Env};
use longhaul_memory::Query;
use longhaul_store::{Hit, NEAREST, Order, RecordId, Store, StoreError};

use super::{Effort, Meaning};
use crate::memory::find::{Wanted, find, find_with};
use crate::{Error, ErrorLog, Home};

/// Finds it by words and, where there is a model, by meaning, in the project with this key or in all.
///
/// A model that cannot be used is a line in the log: words answer alone.
pub fn search(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Result<Vec<Hit>, StoreError> {
    find_with(store, wanted, project_key, &near(env, home, config, store, wanted, project_key))
}

/// Returns the records that are near in meaning to the words that are wanted; none where there is no model.
///
/// A model that cannot be used is a line in the log.
pub fn near(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Vec<(RecordId, f32)> {
    try_near(env, home, config, store, wanted, project_key).unwrap_or_else(|error| {
        ErrorLog::new(env, "search").write(&error.chain());
        Vec::new()
    })
}

/// Computes the newest vectors that are missing, before a search, in a fraction of a second.
///
/// What fails is a line in the log: the search works without them.
pub fn catch_up(env: &Env, home: &Home, config: &Config, store: &Store) {
    let computed = match Meaning::open(env, home, config) {
        Ok(Some(meaning)) => meaning.catch_up(store, env.now, Effort::Search),
        Ok(None) => return,
        // The search names the problem.
        Err(_) => return,
    };
    if let Err(error) = computed {
        ErrorLog::new(env, "search").write(&error.chain());
    }
}

fn try_near(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Result<Vec<(RecordId, f32)>, Error> {
    let text = wanted_text(&wanted.query);
    // What is ordered by time, or has to have certain words, is a list and no question.
    if text.is_empty() || wanted.order != Order::Relevance {
        return Ok(Vec::new());
    }
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(Vec::new()) };
    // Of a word that the model does not know, such as a typing error, only pieces have vectors. They may reorder what words
    // find, but are no reason to answer where words find nothing.
    let words: Vec<String> =
        wanted.query.wanted_terms().into_iter().map(|mut term| term.forms.swap_remove(0)).collect();
    if !meaning.knows_any_word(&words.join(" ")) {
        let first = Wanted { limit: 1, offset: 0, ..wanted.clone() };
        if find(store, &first, project_key)?.is_empty() {
            return Ok(Vec::new());
        }
    }
    meaning.nearest(store, project_key, &text, NEAREST)
}

/// Returns the plain words of a query; a star stands for everything, and has no meaning.
fn wanted_text(query: &Query) -> String {
    let text = query.wanted();
    if text.trim() == "*" { String::new() } else { text }
}
