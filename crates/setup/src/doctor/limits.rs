//! What the doctor says of what sessions may spend.

use longhaul_core::{Env, short_session};
use longhaul_runtime::limits;

use super::{Facts, Finding, few};
use crate::current_state::InstallPaths;

/// The facts about limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimitFacts {
    /// Whether the user has set a limit of what may be spent.
    pub is_set: bool,
    /// Whether a limit is set, and the tracker is off, so that nobody is notified.
    pub is_tracker_off: bool,
    /// The sessions that a limit has stopped and that have not ended, with what was spent.
    pub stopped: Vec<(String, String)>,
    /// The sessions whose limit in dollars does not see tokens of unknown price.
    pub blind: Vec<String>,
}

impl LimitFacts {
    /// Collects the facts.
    pub(super) fn collect(env: &Env, paths: &InstallPaths) -> Self {
        let Ok((config, _)) = longhaul_runtime::config(env) else { return Self::default() };
        let is_set = limits::InForce::of(&config.limits).has_spend();
        let mut facts = Self { is_set, is_tracker_off: is_set && !config.tracker.enabled, ..Self::default() };
        for (session, account) in limits::accounts(&paths.data) {
            let name = short_session(session.as_str()).to_owned();
            let measures = limits::measures_of(&paths.data, &session, env.now);
            if let Some(reached) = measures.iter().find(|measure| account.is_stopped && measure.is_reached()) {
                facts.stopped.push((name.clone(), format!("{reached} ({})", reached.scope.key())));
            }
            if measures.iter().any(|measure| measure.is_blind()) {
                facts.blind.push(name);
            }
        }
        facts
    }
}

/// Checks the limits.
pub(super) fn limits(facts: &Facts) -> Vec<Finding> {
    let check = "limits";
    let LimitFacts { is_set, is_tracker_off, stopped, blind } = &facts.limits;
    let mut found = Vec::new();
    if !stopped.is_empty() {
        let sessions = few(stopped.iter().map(|(session, spent)| format!("{session}: {spent}")));
        found.push(Finding::note(
            check,
            format!("stopped by a limit: {sessions}; `longhaul limit raise 5` lets one go on"),
        ));
    }
    if !blind.is_empty() {
        let what = format!("a limit in dollars does not see tokens of unknown price: {}", few(blind.iter().cloned()));
        found.push(Finding::warning(check, what, "set the price under models, or a limit in tokens such as \"20M\""));
    }
    if *is_tracker_off {
        let what = "a limit is set, but nothing is reported, because the tracker is switched off";
        found.push(Finding::warning(check, what, "set tracker.enabled to true"));
    }
    if found.is_empty() && *is_set {
        found.push(Finding::ok(check, "set, and no session is stopped"));
    }
    found
}
