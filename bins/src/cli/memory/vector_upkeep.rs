//! Missing vectors, and what is wrong with the models that compute them.

use longhaul_runtime::memory::meaning::{Effort, Meaning, ModelsState};
use longhaul_runtime::{Error, ErrorLog};

use super::open_memory::Memory;
use crate::cli::out;

/// Computes missing vectors and returns how many, or `None` if there is no model.
pub(super) fn compute_vectors(memory: &Memory<'_>) -> Result<Option<usize>, Error> {
    let Some(meaning) = Meaning::open(memory.env, &memory.home, &memory.config)? else { return Ok(None) };
    let Some(store) = memory.home.existing_store()? else { return Ok(None) };
    let computed = meaning.catch_up(&store, memory.env.now, Effort::Upkeep)?;
    meaning.drop_unused(&store, memory.env.now)?;
    if computed > 0 {
        store.settle_writes()?;
    }
    Ok(Some(computed))
}

/// Computes missing vectors and prints the result. Returns whether they could be computed.
///
/// The failure of an endpoint is printed as well: only the worker calls it, and that prints nothing.
pub(super) fn report_vectors(memory: &Memory<'_>) -> bool {
    let computed = compute_vectors(memory);
    let mut problems = model_problems(memory);
    match &computed {
        Ok(Some(computed)) => out::message(&format!("Computed {computed} vectors.")),
        Ok(None) => {}
        Err(error) => {
            let problem = error.chain();
            ErrorLog::new(memory.env, "upkeep").write(&problem);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    for problem in &problems {
        out::message(&format!("longhaul: {problem}"));
    }
    computed.is_ok()
}

/// Returns what is wrong with the models that compute vectors.
pub(super) fn model_problems(memory: &Memory<'_>) -> Vec<String> {
    let state = ModelsState::read(memory.env, &memory.home, &memory.config);
    state.map(|state| state.problems()).unwrap_or_default()
}
