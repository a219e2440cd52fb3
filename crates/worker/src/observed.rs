//! The states of running sessions, their context use, and their cost.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use longhaul_core::{Config, Millis};
use longhaul_cost::{Prices, Sum};
use longhaul_runtime::waiting_times::SESSIONS_READ_FOR_REQUEST;
use longhaul_runtime::{Error, Home, Observation, Observed, Observer, agent_json, how_full};
use longhaul_store::{ContextUse, Store};
use longhaul_tracker::{Agent, attention};
use longhaul_transcript::ContextFill;
use longhaul_usage_reader::{SessionCosts, sum_json};
use serde_json::{Value, json};

/// Reads the files of sessions, at most once per [`SESSIONS_READ_FOR_REQUEST`].
#[derive(Debug, Default)]
pub(crate) struct Eyes {
    observer: Observer,
    costs: SessionCosts,
    seen: Seen,
    at: Option<Instant>,
}

/// The sessions at one time.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) observation: Observation,
    /// The cost of each running session whose transcript is known.
    costs: HashMap<String, Sum>,
}

impl Eyes {
    /// Returns the sessions as they were at most [`SESSIONS_READ_FOR_REQUEST`] ago.
    pub(crate) fn look(&mut self, home: &Home, config: &Config) -> Result<&Seen, Error> {
        if self.at.is_none_or(|at| at.elapsed() >= SESSIONS_READ_FOR_REQUEST) {
            let observation = self.observer.look(home)?;
            let costs = self.costs(&observation, &Prices::new(&config.cost.prices));
            self.seen = Seen { observation, costs };
            self.at = Some(Instant::now());
        }
        Ok(&self.seen)
    }

    fn costs(&mut self, observation: &Observation, prices: &Prices) -> HashMap<String, Sum> {
        let running = observation.sessions.iter().filter(|observed| observed.agent.is_some());
        let known: Vec<(&str, &Path)> = running
            .filter_map(|observed| Some((observed.session.as_str(), observed.record.as_ref()?.transcript.as_deref()?)))
            .collect();
        let transcripts: Vec<&Path> = known.iter().map(|(_, transcript)| *transcript).collect();
        self.costs.keep_only(&transcripts);
        let cost = |(session, transcript): (&str, &Path)| (session.to_owned(), self.costs.of(transcript, prices));
        known.into_iter().map(cost).collect()
    }
}

/// Returns the running sessions, as `longhaul status --json` prints them, with their cost; the most urgent first.
pub(crate) fn agents(
    store: &Store,
    seen: &Seen,
    windows: &BTreeMap<String, u64>,
    now: Millis,
) -> Result<Vec<Value>, Error> {
    let Observation { sessions, contexts } = &seen.observation;
    let of = |agent: &Agent| sessions.iter().find(|observed| observed.session == agent.session);
    let bridges = store.bridges()?;
    let mut agents = store.agents()?;
    agents.retain(|agent| of(agent).is_none_or(|observed| observed.client_runs != Some(false)));
    agents.sort_by_cached_key(attention);
    let json = |agent: &Agent| {
        let context = context(&agent.session, of(agent), contexts, windows);
        let percent = context.and_then(|context| context["used_percent"].as_f64());
        let mut json = agent_json(agent, percent, &bridges, now.0 / 1000);
        json["cost"] = seen.costs.get(&agent.session).map_or(Value::Null, sum_json);
        json
    };
    Ok(agents.iter().map(json).collect())
}

/// Returns how full a session's context is; `None` if nothing is known about it.
pub(crate) fn context(
    session: &str,
    observed: Option<&Observed>,
    contexts: &[ContextUse],
    windows: &BTreeMap<String, u64>,
) -> Option<Value> {
    let usage = observed.and_then(Observed::usage);
    if usage.is_none() && !contexts.iter().any(|context| context.session == session) {
        return None;
    }
    let ContextFill { tokens: used, window, model, .. } = how_full(session, usage, contexts, windows);
    let percent = used.map(|used| (used as f64 * 1000.0 / window.max(1) as f64).round() / 10.0);
    Some(json!({ "model": model, "used_tokens": used, "window_tokens": window, "used_percent": percent }))
}
