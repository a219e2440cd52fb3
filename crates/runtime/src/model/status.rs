//! The cost of model summaries today.

use std::fmt;

use longhaul_core::{Config, Millis};
use longhaul_store::{Spending, Store, StoreError, Trouble};
use serde_json::{Value, json};

use super::today;
use crate::Home;
use crate::worker::ModelPause;

/// The tokens spent today, the tokens left, and the last error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStatus {
    /// Whether model summaries are switched on.
    pub enabled: bool,
    /// How the model is called: `claude` or `api`.
    pub via: &'static str,
    /// The token budget per day.
    pub budget: u64,
    /// The tokens spent today.
    pub spending: Spending,
    /// The last error, unless a call has succeeded since.
    pub trouble: Option<Trouble>,
    /// The pause during which hooks do not start the worker, with its reason.
    pub pause: Option<ModelPause>,
    /// The time of this status.
    pub now: Millis,
}

/// Returns the cost of model summaries today, for `longhaul worker status` and `/api/stats`.
pub fn model_status(store: &Store, home: &Home, config: &Config, now: Millis) -> Result<ModelStatus, StoreError> {
    let model = &config.memory.model;
    Ok(ModelStatus {
        enabled: model.enabled && config.memory.enabled,
        via: model.via.as_str(),
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

    /// Returns the status as JSON.
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
