//! Whether a model can be asked: whether hooks can start the worker for it, and why not.

use std::path::Path;
use std::time::Duration;

use longhaul_core::Env;
use longhaul_core::config::Via;
use longhaul_runtime::worker::ModelPause;
use longhaul_runtime::{ModelAccess, is_executable};
use longhaul_store::Store;

use super::Finding;
use super::facts::Facts;
use crate::paths::Places;

/// How long the database is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The executable that hooks start.
const WORKER: &str = "longhaul-worker";

/// What there is to know of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFacts {
    /// By which way it is asked.
    pub via: Via,
    /// Whether the worker's executable is beside ours.
    pub has_worker: bool,
    /// Whether this environment has a key for the API.
    pub has_key: bool,
    /// Whether the client is there.
    pub has_client: bool,
    /// Until when hooks do not start the worker.
    pub pause: Option<ModelPause>,
    /// What went wrong last, if nothing has gone well since.
    pub trouble: Option<String>,
}

impl ModelFacts {
    /// Looks; `None` where no model is wanted.
    pub(super) fn look(env: &Env, places: &Places, exe: &Path, client: Option<&Path>) -> Option<Self> {
        let (config, _) = longhaul_runtime::config(env).ok()?;
        if !config.memory.enabled || !config.memory.model.enabled {
            return None;
        }
        let store = Store::open_to_read(&places.data.database(), PATIENCE).ok();
        let trouble = store.and_then(|store| store.model_trouble().ok().flatten());
        Some(Self {
            via: config.memory.model.via,
            has_worker: is_executable(&exe.with_file_name(WORKER)),
            has_key: ModelAccess::read().api_key.is_some(),
            has_client: client.is_some(),
            pause: ModelPause::in_force(&places.data, env.now),
            trouble: trouble.map(|trouble| trouble.error),
        })
    }
}

/// Judges the model.
pub(super) fn model(facts: &Facts) -> Vec<Finding> {
    let check = "model";
    let Some(model) = &facts.model else { return Vec::new() };
    if !model.has_worker {
        let what = format!("{WORKER} is not beside {}: hooks cannot start it", facts.exe.display());
        return vec![Finding::warning(check, what, "longhaul install, or memory.model.enabled: false")];
    }
    let cannot_ask = match model.via {
        Via::Api if !model.has_key => Some((
            "ANTHROPIC_API_KEY is not set here, and hooks have no other environment than their client",
            "set it where you start Claude Code, or memory.model.via: \"claude\"",
        )),
        Via::Claude if !model.has_client => {
            Some(("no claude is on the path that could be asked", "install Claude Code, or set CLAUDE_BIN"))
        }
        Via::Api | Via::Claude => None,
    };
    if let Some((what, mend)) = cannot_ask {
        return vec![Finding::warning(check, what, mend)];
    }
    let last = model.trouble.as_ref().map_or_else(String::new, |error| format!("; last error: {error}"));
    if let Some(pause) = &model.pause {
        let minutes = pause.until.saturating_sub(facts.now).div_ceil(60_000);
        let what = format!("hooks start the worker again in {minutes} min: {}{last}", pause.reason);
        return vec![Finding::warning(check, what, "`longhaul worker start` tries it now; see longhaul.log")];
    }
    if model.trouble.is_some() {
        return vec![Finding::warning(check, format!("the last request failed{last}"), "see longhaul.log")];
    }
    vec![Finding::ok(check, "hooks start the worker when there is something to put into words")]
}
