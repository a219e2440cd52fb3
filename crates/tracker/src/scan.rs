//! Running sessions that have no row: those started before the plugin was installed, and those whose row was removed.

use longhaul_core::Status;

use crate::{Agent, ClientRecord, ClientStatus, LivePane, Pane, Process, agent_below, is_below};

/// A running session that has no row yet.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundSession {
    /// Its id; `scan-<pane>` until a hook reports the real one.
    pub session: String,
    /// What the session does.
    pub status: Status,
    /// What it waits for, if it waits.
    pub reason: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The tmux pane in which it runs.
    pub pane: Option<Pane>,
    /// The pane as `session:window.pane`.
    pub target: Option<String>,
    /// The name of the client.
    pub client: &'static str,
    /// The process id of the client.
    pub pid: u32,
}

/// Returns the running sessions that have no row.
///
/// Session id and status come from the client's own record. For a pane in which a client without a record runs, a
/// placeholder is returned, which the session's first hook replaces.
pub fn scan(
    agents: &[Agent],
    panes: &[LivePane],
    processes: &[Process],
    records: &[ClientRecord],
) -> Vec<FoundSession> {
    let has_row = |pane: &Pane| agents.iter().any(|agent| agent.pane.as_ref() == Some(pane));
    let known = |record: &ClientRecord| agents.iter().any(|agent| agent.session == record.session);
    let pane_of = |pid: u32| panes.iter().find(|live| is_below(pid, live.pid, processes));
    let mut found: Vec<FoundSession> = Vec::new();
    for record in records.iter().filter(|record| !known(record)) {
        let live = pane_of(record.pid);
        found.push(FoundSession {
            session: record.session.clone(),
            status: status(record.status),
            reason: record.waiting_for.clone(),
            cwd: record.cwd.clone(),
            pane: live.map(|live| live.pane.clone()),
            target: live.map(|live| live.target.clone()),
            client: "claude",
            pid: record.pid,
        });
    }
    for live in panes.iter().filter(|live| !has_row(&live.pane)) {
        let is_found = found.iter().any(|found| found.pane.as_ref() == Some(&live.pane));
        let recorded = |pid: u32| records.iter().any(|record| record.pid == pid);
        if let Some((pid, client)) = agent_below(live.pid, processes).filter(|(pid, _)| !is_found && !recorded(*pid)) {
            found.push(FoundSession {
                session: format!("scan-{}", live.pane.id.trim_start_matches('%')),
                status: Status::Idle,
                reason: None,
                cwd: Some(live.cwd.clone()),
                pane: Some(live.pane.clone()),
                target: Some(live.target.clone()),
                client,
                pid,
            });
        }
    }
    found
}

fn status(record: ClientStatus) -> Status {
    match record {
        ClientStatus::Idle => Status::Idle,
        ClientStatus::Busy => Status::Working,
        ClientStatus::Waiting => Status::Blocked,
    }
}
