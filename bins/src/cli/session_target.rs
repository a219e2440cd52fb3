//! Which session a person means, and where it runs.

use anyhow::{Context, bail};
use longhaul_core::{Env, SessionId};
use longhaul_inject::{Terminal, TmuxPane};
use longhaul_runtime::{Home, SessionRecord, Tracker};
use longhaul_tracker::Agent;

use crate::cli::session_numbers;
use crate::cli::sessions::only_one;

/// A number has at most this many digits. A longer word of digits is the beginning of an id.
const NUMBER_DIGITS: usize = 4;

/// A running session, with its process and terminal.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) agent: Agent,
    pub(crate) record: SessionRecord,
}

/// Finds a running session by its number, its id, or the beginning of its id.
pub(crate) fn find_target(home: &Home, name: &str) -> anyhow::Result<Target> {
    let agents = match home.existing_store()? {
        Some(store) => store.agents()?,
        None => Vec::new(),
    };
    if agents.is_empty() {
        bail!("no session is running: `longhaul status` lists them");
    }
    let number = Some(name).filter(|name| name.len() <= NUMBER_DIGITS).and_then(|name| name.parse().ok());
    let agent = match number {
        Some(number) => {
            let session = session_numbers::read(home).session(number).map(str::to_owned);
            let found = agents.into_iter().find(|agent| Some(&agent.session) == session.as_ref());
            found.with_context(|| format!("no running session has the number {number}: see `longhaul status`"))?
        }
        None if name.is_empty() => {
            bail!("the name of the session is empty: use its number, or the beginning of its id")
        }
        None => only_one(name, agents, |agent| &agent.session).context("see `longhaul status`")?,
    };
    Ok(target(home, agent))
}

/// Returns the only session of the user that runs, or `None` if there is none or more than one.
pub(crate) fn only_running(env: &Env, home: &Home) -> anyhow::Result<Option<Target>> {
    if !home.database().exists() {
        return Ok(None);
    }
    let mut tracker = Tracker::open(env, home)?;
    // Sessions whose process is gone would count, too.
    tracker.tidy()?;
    let mut agents = tracker.agents()?.into_iter().filter(|agent| agent.is_counted() && agent.client == "claude");
    let only = agents.next().filter(|_| agents.next().is_none());
    Ok(only.map(|agent| target(home, agent)))
}

/// Finds a running session by its id.
pub(crate) fn of_session(home: &Home, session: &str) -> anyhow::Result<Target> {
    let agent = home.existing_store()?.map(|store| store.agent(session)).transpose()?.flatten();
    let agent = agent.context("the session has ended")?;
    Ok(target(home, agent))
}

/// Returns a session with its record; without one, what the tracker knows is used.
fn target(home: &Home, agent: Agent) -> Target {
    let record = SessionId::new(&agent.session).and_then(|session| SessionRecord::load(home, &session));
    let record = record.unwrap_or_else(|| SessionRecord {
        cleared: false,
        session: agent.session.clone(),
        started_at: agent.started_at.saturating_mul(1000),
        terminal: agent
            .pane
            .as_ref()
            .filter(|_| agent.client == "claude")
            .map(|pane| Terminal::Tmux(TmuxPane { socket: pane.socket.clone(), pane: pane.id.clone() })),
        no_terminal: None,
        client_pid: agent.pid,
        cwd: agent.cwd.as_ref().map(Into::into),
        transcript: None,
    });
    Target { agent, record }
}

/// Returns the environment of now: times are measured from it.
pub(crate) fn now() -> Env {
    longhaul_runtime::env()
}
