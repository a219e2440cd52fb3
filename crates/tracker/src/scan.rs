//! Sessions that run without a row: started before the plugin was there, or forgotten.

use longhaul_core::Status;

use crate::{Agent, ClientRecord, ClientStatus, LivePane, Pane, Process, agent_below, is_below};

/// A session that was found running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    /// Its id; `scan-<pane>` where only a hook will tell the real one.
    pub session: String,
    /// What it does.
    pub status: Status,
    /// What it waits for.
    pub reason: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The pane it runs in.
    pub pane: Option<Pane>,
    /// That pane as `session:window.pane`.
    pub target: Option<String>,
    /// The client.
    pub client: &'static str,
    /// The client's process.
    pub pid: u32,
}

/// Returns the sessions that run and have no row.
///
/// A client's own record gives the real session and status; a pane in which a client runs that has neither record nor row
/// gets a row to stand in for it, which its first hook replaces.
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
