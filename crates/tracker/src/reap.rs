//! Which rows are removed, and after how long: those whose pane or client is gone, or that are a day old.

use longhaul_core::Status;

use crate::{Agent, Pane, Process, agent_below, is_below};

/// How long a row may stay unchanged while neither its pane nor its client is known.
const NO_PANE_SECONDS: u64 = 10 * 60;

/// The age after which `cleanup` removes a row that has not changed.
const OLD_SECONDS: u64 = 24 * 60 * 60;

/// A pane in tmux's list of panes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LivePane {
    /// The pane.
    pub pane: Pane,
    /// The process id of the pane's first process.
    pub pid: u32,
    /// The pane as `session:window.pane`.
    pub target: String,
    /// The pane's working directory.
    pub cwd: String,
    /// The name of the pane's window.
    pub window_name: String,
    /// Whether tmux names the window after the running program.
    pub window_names_itself: bool,
}

impl LivePane {
    /// Returns the pane whose first process is `pid`. Its target, working directory and window name are empty.
    pub fn new(pane: Pane, pid: u32) -> Self {
        let (target, cwd, window_name) = (String::new(), String::new(), String::new());
        Self { pane, pid, target, cwd, window_name, window_names_itself: false }
    }
}

/// Why a row is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// Its pane is gone.
    PaneGone,
    /// Its client is gone, while its pane may still exist.
    ClientGone,
    /// Neither its pane nor its client is known, and it has not changed for ten minutes.
    Silent,
    /// It has not changed for a day.
    Old,
}

/// Returns the agents whose rows are to be removed, with the reason.
///
/// `sockets` are the servers whose panes are all in `panes`. The panes of other servers are unknown; for their sessions
/// only the client process is checked: a client dies with its server. A completed session in an existing pane is kept after its client is gone, until
/// the user has seen it.
pub fn dead_agents<'a>(
    agents: &'a [Agent],
    sockets: &[&str],
    panes: &[LivePane],
    processes: &[Process],
    now: u64,
) -> Vec<(&'a Agent, RemovalReason)> {
    let lives = |pid: u32| processes.iter().any(|process| process.pid == pid);
    let is_silent = |agent: &Agent| now.saturating_sub(agent.updated_at) > NO_PANE_SECONDS;
    let verdict = |agent: &Agent| match &agent.pane {
        // The server may be gone, or only unreachable: remove the row only if the client is known to be dead.
        Some(pane) if !sockets.contains(&pane.socket.as_str()) => {
            agent.pid.is_some_and(|pid| !lives(pid)).then_some(RemovalReason::ClientGone)
        }
        Some(pane) => match panes.iter().find(|live| live.pane == *pane) {
            None => Some(RemovalReason::PaneGone),
            Some(live) if agent.status == Status::Completed || runs_in(agent, live, processes) => None,
            Some(_) => Some(RemovalReason::ClientGone),
        },
        // There is no pane to inspect: remove the row once the client process is dead.
        None if agent.pid.is_some_and(|pid| !lives(pid)) => Some(RemovalReason::ClientGone),
        None => (agent.pid.is_none() && is_silent(agent)).then_some(RemovalReason::Silent),
    };
    agents.iter().filter_map(|agent| Some((agent, verdict(agent)?))).collect()
}

/// Returns whether the session's client runs in the pane: the process with its pid, or any process named like a client.
fn runs_in(agent: &Agent, live: &LivePane, processes: &[Process]) -> bool {
    let is_there = |pid: u32| processes.iter().any(|process| process.pid == pid) && is_below(pid, live.pid, processes);
    agent.pid.is_some_and(is_there) || agent_below(live.pid, processes).is_some()
}

/// Returns the agents that have not changed for a day.
pub fn stale_agents(agents: &[Agent], now: u64) -> Vec<(&Agent, RemovalReason)> {
    let is_old = |agent: &&Agent| now.saturating_sub(agent.updated_at) > OLD_SECONDS;
    agents.iter().filter(is_old).map(|agent| (agent, RemovalReason::Old)).collect()
}
