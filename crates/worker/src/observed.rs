//! The states of running sessions, and their context use.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use longhaul_core::Millis;
use longhaul_runtime::{Error, Home, Observation, Observed, Observer, agent_json, how_full};
use longhaul_store::{ContextUse, Store};
use longhaul_tracker::{Agent, attention};
use longhaul_transcript::ContextFill;
use serde_json::{Value, json};

/// How long the result of reading the transcripts is used.
const FRESH: Duration = Duration::from_secs(2);

/// Reads the files of sessions, at most once per [`FRESH`].
#[derive(Debug, Default)]
pub(crate) struct Eyes {
    observer: Observer,
    seen: Option<(Instant, Observation)>,
}

impl Eyes {
    /// Returns the sessions as they were at most [`FRESH`] ago.
    pub(crate) fn look(&mut self, home: &Home) -> Result<&Observation, Error> {
        let is_fresh = self.seen.as_ref().is_some_and(|(at, _)| at.elapsed() < FRESH);
        if !is_fresh {
            self.seen = Some((Instant::now(), self.observer.look(home)?));
        }
        let nothing: &'static Observation = const { &Observation { sessions: Vec::new(), contexts: Vec::new() } };
        Ok(self.seen.as_ref().map_or(nothing, |(_, seen)| seen))
    }
}

/// Returns the running sessions, as `longhaul status --json` prints them, the most urgent first.
pub(crate) fn agents(
    store: &Store,
    seen: &Observation,
    windows: &BTreeMap<String, u64>,
    now: Millis,
) -> Result<Vec<Value>, Error> {
    let of = |agent: &Agent| seen.sessions.iter().find(|observed| observed.session == agent.session);
    let bridges = store.bridges()?;
    let mut agents = store.agents()?;
    agents.retain(|agent| of(agent).is_none_or(|observed| observed.client_runs != Some(false)));
    agents.sort_by_cached_key(attention);
    let json = |agent: &Agent| {
        let context = context(&agent.session, of(agent), &seen.contexts, windows);
        let percent = context.and_then(|context| context["used_percent"].as_f64());
        agent_json(agent, percent, &bridges, now.0 / 1000)
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
