//! `longhaul next`: goes to the session that has waited longest for the user.

use anyhow::bail;
use longhaul_core::{Env, Status};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, Tracker};
use longhaul_tracker::{Agent, attention};

use super::{Exit, out, status, tmux};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The tmux client that switches to the pane; by default the one in which the command runs
    #[arg(long)]
    client: Option<String>,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let mut tracker = Tracker::open(env, &home)?;
    tracker.tidy()?;
    // A session that is visible on a screen has been seen, so it is skipped: the user has just pressed a key.
    tracker.clear_seen(0)?;
    let server = Server::of(env);
    let panes = server.as_ref().map_or(Ok(Vec::new()), |server| server.panes())?;
    let socket = server.as_ref().map(|server| server.socket.as_str());
    let is_gone = |agent: &Agent| {
        let here = agent.pane.as_ref().filter(|pane| Some(pane.socket.as_str()) == socket);
        here.is_some_and(|pane| !panes.iter().any(|live| live.pane == *pane))
    };
    let mut agents = tracker.agents()?;
    agents.retain(|agent| waits(agent) && !is_gone(agent));
    // Blocked sessions come first: they lose time. Completed ones only wait to be seen.
    agents.sort_by_cached_key(attention);
    if agents.is_empty() {
        say(env, args, "No session waits for you.")?;
        return Ok(Exit::Success);
    }
    let is_here = |agent: &&Agent| agent.pane.as_ref().is_some_and(|pane| Some(pane.socket.as_str()) == socket);
    match (agents.iter().find(is_here).and_then(|agent| agent.pane.as_ref()), &server) {
        (Some(pane), Some(server)) => tmux::go(server, &tracker, pane, args.client.as_deref())?,
        (_, _) => out::line(&longhaul_inject::printable(&describe(&agents[0])))?,
    }
    Ok(Exit::Success)
}

fn waits(agent: &Agent) -> bool {
    match agent.status {
        Status::Blocked | Status::Completed => agent.is_counted(),
        Status::Working | Status::Idle => false,
    }
}

/// Returns where the session is, for a user who has to go there by hand.
fn describe(agent: &Agent) -> String {
    let cwd = agent.cwd.as_deref().unwrap_or(&agent.project);
    let reason = agent.waits_for().map(|reason| format!(" ({reason})")).unwrap_or_default();
    match &agent.pane {
        Some(pane) => {
            format!("{}{reason}: {cwd}, pane {} of tmux -S {}", agent.status, status::place(agent), pane.socket)
        }
        None => format!("{}{reason}: {cwd}", agent.status),
    }
}

/// Shows a message. If tmux runs this command for a key, the output is not visible, so the message is shown in tmux.
fn say(env: &Env, args: &Args, text: &str) -> anyhow::Result<()> {
    if let (Some(server), Some(client)) = (Server::of(env), &args.client) {
        return match server.message(text, Some(client)) {
            Ok(()) => Ok(()),
            Err(error) => bail!(error),
        };
    }
    out::message(text);
    Ok(())
}
