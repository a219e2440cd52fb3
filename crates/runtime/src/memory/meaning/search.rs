//! Searches by words and by meaning.

use longhaul_core::{Config, Env};
use longhaul_memory::Query;
use longhaul_store::{Hit, NEAREST, Order, RecordId, Store, StoreError};

use super::{Effort, Meaning};
use crate::memory::find::{Wanted, find, find_with};
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
    find_with(store, wanted, project_key, &near(env, home, config, store, wanted, project_key))
}

/// Returns the records that are near in meaning to the words; empty if there is no model.
///
/// An unusable model is logged.
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

fn try_near(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    wanted: &Wanted,
    project_key: Option<&str>,
) -> Result<Vec<(RecordId, f32)>, Error> {
    let text = wanted_text(&wanted.query);
    // A query with another order, or without plain words, asks for a list, not for a meaning.
    if text.is_empty() || wanted.order != Order::Relevance {
        return Ok(Vec::new());
    }
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(Vec::new()) };
    // Of a word that the model does not know, such as a typing error, only pieces have vectors. They may change the
    // order of what words find, but must not produce results if words find nothing.
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

/// Returns the plain words of a query. A star, which matches everything, has no meaning.
fn wanted_text(query: &Query) -> String {
    let text = query.wanted();
    if text.trim() == "*" { String::new() } else { text }
}
