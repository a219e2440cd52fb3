//! Finds records that are near in meaning to a prompt, while Claude Code waits.

use longhaul_core::{Config, Env};
use longhaul_store::{RecordId, Store};

use super::Meaning;
use crate::{Error, Home};

/// Maximum number of bytes of a prompt that are compared. The question is usually at the beginning.
const COMPARED: usize = 1_000;

/// Number of the most similar records that are added to those that words find.
const COMPARED_RECORDS: usize = 50;

/// Returns the records of a project that are near in meaning to a prompt, by the bundle's model; empty if there is only that
/// of an endpoint.
///
/// Only the newest vectors are compared, and none is computed. An endpoint is not called, because that can take
/// seconds.
pub(crate) fn near_prompt(
    meaning: &Meaning,
    store: &Store,
    project_key: &str,
    prompt: &str,
) -> Result<Vec<(RecordId, f32)>, Error> {
    let Some(file) = &meaning.file else { return Ok(Vec::new()) };
    let Some(model) = store.known_vector_model(file.id())? else { return Ok(Vec::new()) };
    let text = &prompt[..prompt.floor_char_boundary(COMPARED)];
    let Some(query) = file.embed(text)?.filter(|query| query.dims() == model.dims) else { return Ok(Vec::new()) };
    Ok(store.nearest_of_newest(&model, project_key, &query, COMPARED_RECORDS)?)
}

/// Returns whether there are records without vectors of the bundle's model; `false` if there is no model.
pub(crate) fn lacks_vectors(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<bool, Error> {
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(false) };
    let Some(file) = &meaning.file else { return Ok(false) };
    match store.known_vector_model(file.id())? {
        Some(model) => Ok(store.has_new_without_vectors(&model, &meaning.models_in_use())?),
        None => Ok(true),
    }
}
