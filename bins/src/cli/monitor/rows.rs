//! Selects the sessions to show, without those that are idle for long, and computes their rows and warnings.

use std::collections::BTreeMap;

use longhaul_core::{Millis, Status};
use longhaul_runtime::{Observation, Observed, how_full};
use longhaul_store::ContextUse;
use longhaul_transcript::{ContextFill, WindowSource};
use serde_json::Value;

use crate::cli::limits::{self, Limit};

/// A session without an event for longer than this is hidden.
const IDLE_MS: u64 = 15 * 60 * 1000;

/// Which sessions are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    /// Those that run and are not idle for long.
    Active,
    /// Also those that have ended or are idle.
    All,
    /// Those whose id begins with this.
    Session(&'a str),
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Alive(Status),
    Ended,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Alive(status) => status.as_str(),
            Self::Ended => "ended",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) session: String,
    pub(crate) project: String,
    pub(crate) cwd: Option<String>,
    pub(crate) state: State,
    /// Why it is blocked.
    pub(crate) reason: Option<String>,
    pub(crate) started_at: Option<Millis>,
    pub(crate) last_heard: Millis,
    pub(crate) model: Option<String>,
    /// `None` before the first reply.
    pub(crate) used: Option<u64>,
    pub(crate) window: u64,
    pub(crate) window_from: WindowSource,
}

impl Row {
    /// Returns how full the window is.
    pub(crate) fn percent(&self) -> Option<f64> {
        self.used.map(|used| used as f64 * 100.0 / self.window.max(1) as f64)
    }

    /// Returns how many tokens are left.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.used.map(|used| self.window.saturating_sub(used))
    }

    /// Returns the warnings, the most urgent first.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match self.percent() {
            Some(100.0..) => warnings.push("full".to_owned()),
            Some(90.0..) => warnings.push("critical".to_owned()),
            Some(70.0..) => warnings.push("high".to_owned()),
            Some(_) => {}
            None => warnings.push("no reply".to_owned()),
        }
        match self.state {
            State::Alive(Status::Blocked) => {
                let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
                warnings.push(format!("blocked{reason}"));
            }
            State::Alive(Status::Working | Status::Idle | Status::Completed) => {}
            State::Ended => warnings.push("ended".to_owned()),
        }
        warnings
    }
}

/// Returns the selected sessions: running ones before ended ones, the fullest first.
pub(crate) fn rows(
    observation: &Observation,
    windows: &BTreeMap<String, u64>,
    wanted: Wanted<'_>,
    now: Millis,
) -> Vec<Row> {
    let is_wanted = |observed: &&Observed| match wanted {
        Wanted::Active => is_active(observed, now),
        Wanted::All => true,
        Wanted::Session(prefix) => observed.session.starts_with(prefix),
    };
    let sessions = observation.sessions.iter().filter(is_wanted);
    let mut rows: Vec<Row> = sessions.map(|observed| row(observed, &observation.contexts, windows)).collect();
    let order = |row: &Row| (row.state == State::Ended, -row.percent().unwrap_or(-1.0));
    rows.sort_by(|a, b| {
        let ((a_ended, a_used), (b_ended, b_used)) = (order(a), order(b));
        let names = || (&a.project, &a.session).cmp(&(&b.project, &b.session));
        a_ended.cmp(&b_ended).then(a_used.total_cmp(&b_used)).then_with(names)
    });
    rows
}

/// Returns the account's limits as they were last reported.
pub(crate) fn limits(observation: &Observation) -> Vec<Limit> {
    let newest = observation.contexts.iter().find_map(|context| context.rate_limits.as_deref());
    newest.and_then(|text| serde_json::from_str::<Value>(text).ok()).map(|json| limits::read(&json)).unwrap_or_default()
}

fn state(observed: &Observed) -> State {
    match &observed.agent {
        Some(agent) if observed.client_runs != Some(false) => State::Alive(agent.status),
        Some(_) | None => State::Ended,
    }
}

fn is_active(observed: &Observed, now: Millis) -> bool {
    match state(observed) {
        State::Ended => false,
        // A tool may run for an hour without any event.
        State::Alive(Status::Working) if observed.client_runs == Some(true) => true,
        State::Alive(_) => now.since(observed.last_heard) <= IDLE_MS,
    }
}

fn row(observed: &Observed, contexts: &[ContextUse], windows: &BTreeMap<String, u64>) -> Row {
    let ContextFill { tokens, window, source, model, .. } =
        how_full(&observed.session, observed.usage(), contexts, windows);
    let agent = observed.agent.as_ref();
    let record = observed.record.as_ref();
    let cwd = agent.and_then(|agent| agent.cwd.clone());
    let cwd = cwd.or_else(|| Some(record?.cwd.as_ref()?.to_string_lossy().into_owned()));
    let folder = || Some(cwd.as_ref()?.trim_end_matches('/').rsplit('/').next()?.to_owned());
    let started = record.map(|record| Millis(record.started_at));
    Row {
        session: observed.session.clone(),
        project: agent.map(|agent| agent.project.clone()).or_else(folder).unwrap_or_else(|| "-".to_owned()),
        state: state(observed),
        reason: agent.and_then(|agent| agent.waits_for().map(str::to_owned)),
        started_at: agent.map(|agent| Millis(agent.started_at * 1000)).or(started),
        last_heard: observed.last_heard,
        model: model.map(str::to_owned),
        cwd,
        used: tokens,
        window,
        window_from: source,
    }
}

#[cfg(test)]
mod tests;
