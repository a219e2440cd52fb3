//! Checks whether a model can be called: whether hooks can start the worker, and why not.

use std::path::Path;

use longhaul_core::Env;
use longhaul_core::config::Via;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{ModelAccess, is_executable, waiting_times};
use longhaul_store::Store;

use super::Finding;
use super::facts::Facts;
use crate::paths::InstallPaths;

/// The executable that hooks start.
const WORKER: &str = "longhaul-worker";

/// The facts about the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// How it is called.
    pub via: Via,
    /// Whether the worker's executable is beside this one.
    pub has_worker: bool,
    /// Whether this environment has a key for the API.
    pub has_key: bool,
    /// Whether `claude` is on the path.
    pub has_client: bool,
    /// Until when hooks do not start the worker.
    pub pause: Option<ModelPause>,
    /// The last error, if no request has succeeded since.
    pub trouble: Option<String>,
}

impl ModelFacts {
    /// Collects the facts; `None` if no model is enabled.
    pub(super) fn collect(env: &Env, paths: &InstallPaths, exe: &Path, client: Option<&Path>) -> Option<Self> {
        let (config, _) = longhaul_runtime::config(env).ok()?;
        if !config.memory.enabled || !config.memory.model.enabled {
            return None;
        }
        let store = Store::open_to_read(&paths.data.database(), waiting_times::DATABASE_FOR_DOCTOR).ok();
        let trouble = store.and_then(|store| store.model_trouble().ok().flatten());
        Some(Self {
            via: config.memory.model.via,
            has_worker: is_executable(&exe.with_file_name(WORKER)),
            has_key: ModelAccess::read().api_key.is_some(),
            has_client: client.is_some(),
            pause: ModelPause::in_force(&paths.data, env.now),
            trouble: trouble.map(|trouble| trouble.error),
        })
    }
}

/// Checks the model.
pub(super) fn model(facts: &Facts) -> Vec<Finding> {
    let check = "model";
    let Some(model) = &facts.model else { return Vec::new() };
    if !model.has_worker {
        let what = format!("{WORKER} is not beside {}: hooks cannot start it", facts.exe.display());
        return vec![Finding::warning(check, what, "run `longhaul install`, or set memory.model.enabled to false")];
    }
    let cannot_ask = match model.via {
        Via::Api if !model.has_key => Some((
            "ANTHROPIC_API_KEY is not set here; hooks have the same environment as Claude Code",
            "set it before you start Claude Code, or set memory.model.via to \"claude\"",
        )),
        Via::Claude if !model.has_client => {
            Some(("`claude` is not on the PATH", "install Claude Code, or set CLAUDE_BIN"))
        }
        Via::Api | Via::Claude => None,
    };
    if let Some((what, fix)) = cannot_ask {
        return vec![Finding::warning(check, what, fix)];
    }
    let last = model.trouble.as_ref().map_or_else(String::new, |error| format!("; last error: {error}"));
    if let Some(pause) = &model.pause {
        let minutes = pause.until.saturating_sub(facts.now).div_ceil(60_000);
        let what = format!("hooks do not start the worker for another {minutes} min: {}{last}", pause.reason);
        return vec![Finding::warning(check, what, "`longhaul worker start` tries again now; see longhaul.log")];
    }
    if model.trouble.is_some() {
        return vec![Finding::warning(check, format!("the last request failed{last}"), "see longhaul.log")];
    }
    vec![Finding::ok(check, "hooks start the worker when there are records for the model")]
}
