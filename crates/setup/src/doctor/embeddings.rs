//! Checks the models that compute vectors for the search by meaning: the model file, and the endpoint.

use longhaul_core::{Env, counted};
use longhaul_runtime::memory::meaning::{EndpointState, ModelsState};

use super::Finding;
use super::facts::{Facts, Worker};
use super::judge::ago;
use crate::paths::InstallPaths;

/// Returns the facts; `None` if there is no model, or it is switched off.
pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Option<ModelsState> {
    let (config, _) = longhaul_runtime::config(env).ok()?;
    ModelsState::read(env, &paths.data, &config)
}

/// Checks the models.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let check = "embeddings";
    let Some(models) = &facts.embeddings else { return Vec::new() };
    let mut found = Vec::new();
    match &models.file {
        Some(Ok(id)) => found.push(Finding::ok(check, format!("the search by meaning uses the model {id}"))),
        Some(Err(why)) => {
            let fix =
                "run `longhaul install` again, or correct memory.embeddings.file; until then, only words are compared";
            found.push(Finding::warning(check, why.clone(), fix));
        }
        None => {}
    }
    if let Some(endpoint) = &models.endpoint {
        found.push(of_endpoint(check, facts, endpoint));
    }
    found
}

fn of_endpoint(check: &'static str, facts: &Facts, endpoint: &EndpointState) -> Finding {
    let Some(model) = &endpoint.model else {
        let what = "memory.embeddings.endpoint is set, but memory.embeddings.model is not, so the endpoint is not used";
        return Finding::warning(check, what, "set memory.embeddings.model to the name of the endpoint's model");
    };
    if let Some(trouble) = &endpoint.trouble {
        let when = ago(facts.now, trouble.at);
        let times = counted(trouble.failures as usize, "time");
        let what = format!("the endpoint failed {when}, {times} in a row: {}", trouble.error);
        let fix = "check memory.embeddings.endpoint and memory.embeddings.model; the worker tries again by itself";
        return Finding::warning(check, what, fix);
    }
    if facts.worker == Worker::Off {
        let what =
            format!("only the worker calls the endpoint ({model}), and it does not run: `longhaul worker start`");
        return Finding::note(check, what);
    }
    Finding::ok(check, format!("the worker calls the endpoint ({model})"))
}
