//! Who is dead: rows whose pane or client is gone.

use longhaul_core::Status;

use crate::{Agent, Pane, Process, agent_below, is_below};

/// How long a row without a pane may stay unchanged.
const NO_PANE_SECONDS: u64 = 10 * 60;

/// What `cleanup` takes for forgotten.
const OLD_SECONDS: u64 = 24 * 60 * 60;

/// A pane that tmux lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePane {
    /// The pane.
    pub pane: Pane,
    /// Its first process.
    pub pid: u32,
    /// `session:window.pane`.
    pub target: String,
    /// Its working directory.
    pub cwd: String,
}

/// Why a row is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalReason {
    /// Its pane is gone.
    PaneGone,
    /// Its pane is there, and no client runs in it.
    ClientGone,
    /// It has no pane that can be looked at, its client is not known to live, and it has not changed for ten minutes.
    Silent,
    /// It has not changed for a day.
    Old,
}

/// Returns which agents are dead.
///
/// `sockets` are the servers that `panes` lists completely: of another server's panes nothing is known, only of its clients. A completed
/// session stays although its client is gone, until somebody has seen it.
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
        // The server may be gone as a whole: only a client that is known to be dead tells.
        Some(pane) if !sockets.contains(&pane.socket.as_str()) => {
            let died = agent.pid.is_some_and(|pid| !lives(pid));
            (died && is_silent(agent)).then_some(RemovalReason::Silent)
        }
        Some(pane) => match panes.iter().find(|live| live.pane == *pane) {
            None => Some(RemovalReason::PaneGone),
            Some(live) if agent.status == Status::Completed || runs_in(agent, live, processes) => None,
            Some(_) => Some(RemovalReason::ClientGone),
        },
        // Nobody can look at a pane that there is not: what has died is gone.
        None if agent.pid.is_some_and(|pid| !lives(pid)) => Some(RemovalReason::ClientGone),
        None => (agent.pid.is_none() && is_silent(agent)).then_some(RemovalReason::Silent),
    };
    agents.iter().filter_map(|agent| Some((agent, verdict(agent)?))).collect()
}

/// Returns whether a session's client runs in its pane: by its own pid, whatever it is called, or by its name.
fn runs_in(agent: &Agent, live: &LivePane, processes: &[Process]) -> bool {
    let is_there = |pid: u32| processes.iter().any(|process| process.pid == pid) && is_below(pid, live.pid, processes);
    agent.pid.is_some_and(is_there) || agent_below(live.pid, processes).is_some()
}

/// Returns which agents have not changed for a day.
pub fn stale_agents(agents: &[Agent], now: u64) -> Vec<(&Agent, RemovalReason)> {
    let is_old = |agent: &&Agent| now.saturating_sub(agent.updated_at) > OLD_SECONDS;
    agents.iter().filter(is_old).map(|agent| (agent, RemovalReason::Old)).collect()
}
