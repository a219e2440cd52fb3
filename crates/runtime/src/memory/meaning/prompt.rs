//! What is near in meaning to a prompt, while the client waits.

use longhaul_core::{Config, Env};
use longhaul_store::{RecordId, Store};

use super::Meaning;
use crate::{Error, Home};

/// How much of a prompt is compared, in bytes. What is asked stands at the beginning.
const COMPARED: usize = 1_000;

/// How many records are compared with each other; the most similar of them join what words find.
const COMPARED_RECORDS: usize = 50;

/// Returns the records of a project that mean nearly what a prompt says, by the bundle's model; none where there is none.
///
/// Only the newest vectors are compared, and none is computed. An endpoint is not asked: that can take seconds.
pub(crate) fn near_prompt(
    env: &Env,
    home: &Home,
    config: &Config,
    store: &Store,
    project_key: &str,
    prompt: &str,
) -> Result<Vec<(RecordId, f32)>, Error> {
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(Vec::new()) };
    let Some(file) = &meaning.file else { return Ok(Vec::new()) };
    let Some(model) = store.known_vector_model(file.id())? else { return Ok(Vec::new()) };
    let text = &prompt[..prompt.floor_char_boundary(COMPARED)];
    let Some(query) = file.embed(text)?.filter(|query| query.dims() == model.dims) else { return Ok(Vec::new()) };
    Ok(store.nearest_of_newest(&model, project_key, &query, COMPARED_RECORDS)?)
}

/// Returns whether there are records without vectors of the bundle's model; not where there is no model.
pub(crate) fn lacks_vectors(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<bool, Error> {
    let Some(meaning) = Meaning::open(env, home, config)? else { return Ok(false) };
    let Some(file) = &meaning.file else { return Ok(false) };
    match store.known_vector_model(file.id())? {
        Some(model) => Ok(store.has_new_without_vectors(&model, &meaning.models_in_use())?),
        None => Ok(true),
    }
}
