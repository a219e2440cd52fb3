//! Summaries by a model (`memory.model`), written by the worker in the background: access to the model (the user's
//! API key, or Claude Code), and its cost.

use std::fmt;
use std::path::{Path, PathBuf};

use longhaul_core::clock::date_of;
use longhaul_core::event::HookEvent;
use longhaul_core::{Config, Millis};
use longhaul_store::{Spending, Store, StoreError, Trouble};
use serde_json::{Value, json};

use crate::worker::{ModelPause, start_for_model};
use crate::{Error, Flow, Home, Hook, utc_offset_seconds};

/// The address of the API if `ANTHROPIC_BASE_URL` is not set.
const BASE_URL: &str = "https://api.anthropic.com";

/// The environment variables for models. They are not part of `Env`, which has a `Debug` form, because a key must never
/// be printed.
pub struct ModelAccess {
    pub api_key: Option<String>,
    pub base_url: String,
    /// `LONGHAUL_EMBEDDINGS_KEY`, for an endpoint that requires one.
    pub embeddings_key: Option<String>,
    /// The executable of Claude Code: `CLAUDE_BIN`, or `claude` on the path.
    pub claude: String,
}

impl ModelAccess {
    #[expect(clippy::disallowed_methods, reason = "the environment is read here, in longhaul-runtime")]
    pub fn read() -> Self {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            api_key: var("ANTHROPIC_API_KEY"),
            base_url: var("ANTHROPIC_BASE_URL").unwrap_or_else(|| BASE_URL.to_owned()),
            embeddings_key: var("LONGHAUL_EMBEDDINGS_KEY"),
            claude: var("CLAUDE_BIN").unwrap_or_else(|| "claude".to_owned()),
        }
    }
}

/// Returns the local date at `now`: the day whose token budget is used.
pub fn today(now: Millis) -> String {
    date_of(now, utc_offset_seconds(now)).to_string()
}

/// Returns the folder in which Claude Code is started to call a model. Its sessions there belong to no project.
pub fn model_dir(home: &Home) -> PathBuf {
    dir_in(home.dir())
}

/// Returns whether a session in `folder` was started only to call a model.
pub(crate) fn is_model_dir(data_dir: &Path, folder: &Path) -> bool {
    let own = dir_in(data_dir);
    // Claude Code reports the path with symbolic links resolved.
    folder.starts_with(&own) || std::fs::canonicalize(&own).is_ok_and(|own| folder.starts_with(own))
}

fn dir_in(data_dir: &Path) -> PathBuf {
    data_dir.join("model")
}

/// Starts the worker if a model is to write summaries and no worker runs. Nothing waits for it.
pub fn start_worker<E: HookEvent<'static>>(hook: &mut Hook<E>) -> Result<Flow, Error> {
    if hook.config.memory.summarizer().is_some() && hook.remembers() {
        start_for_model(&hook.home, hook.env.now)?;
    }
    Ok(Flow::Next)
}

// The cost of model summaries today.

/// The tokens spent today, the tokens left, and the last error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// Whether model summaries are switched on.
    pub enabled: bool,
    /// How the model is called: `claude`, `api` or `off`.
    pub via: &'static str,
    /// The token budget per day.
    pub budget: u64,
    /// The tokens spent today.
    pub spending: Spending,
    /// The last error, unless a call has succeeded since.
    pub trouble: Option<Trouble>,
    /// The pause during which hooks do not start the worker, with its reason.
    pub pause: Option<ModelPause>,
    pub now: Millis,
}

/// Returns the cost of model summaries today, for `longhaul worker status` and `/api/stats`.
pub fn model_status(store: &Store, home: &Home, config: &Config, now: Millis) -> Result<ModelStatus, StoreError> {
    let summarizer = config.memory.summarizer();
    Ok(ModelStatus {
        enabled: summarizer.is_some(),
        via: summarizer.map_or("off", |summarizer| summarizer.via.as_str()),
        budget: model_budget(config),
        spending: store.model_spending(&today(now))?,
        trouble: store.model_trouble()?,
        pause: ModelPause::in_force(home, now),
        now,
    })
}

/// Returns the token budget per day.
pub fn model_budget(config: &Config) -> u64 {
    config.memory.model.daily_token_budget.0
}

impl ModelStatus {
    /// Returns the tokens that may still be spent today.
    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.spending.total())
    }

    pub fn to_json(&self) -> Value {
        json!({
            "enabled": self.enabled,
            "via": self.via,
            "daily_token_budget": self.budget,
            "requests": self.spending.requests,
            "input_tokens": self.spending.reported.input,
            "output_tokens": self.spending.reported.output,
            "unreported_tokens": self.spending.unreported,
            "reserved_tokens": self.spending.reserved,
            "spent_tokens": self.spending.total(),
            "left_tokens": self.left(),
            "paused_until": self.pause.as_ref().map(|pause| pause.until),
            "last_error": self.trouble.as_ref().map(|trouble| json!({ "at": trouble.at.0, "error": trouble.error })),
        })
    }
}

impl fmt::Display for ModelStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.enabled {
            return f.write_str("model summaries: off");
        }
        let (spent, left, requests) = (self.spending.total(), self.left(), self.spending.requests);
        write!(f, "model summaries: {spent} tokens spent today in {requests} requests, {left} left")?;
        if let Some(pause) = &self.pause {
            let minutes = pause.until.saturating_sub(self.now.0).div_ceil(60_000);
            write!(f, "; hooks start the worker again in {minutes} min ({})", pause.reason)?;
        }
        match &self.trouble {
            Some(trouble) => write!(f, "; last error: {}", trouble.error),
            None => Ok(()),
        }
    }
}
