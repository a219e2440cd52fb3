//! `longhaul goto`: brings the pane of a session to the screen, from inside or outside of tmux.

use anyhow::{Context, bail};
use longhaul_core::Env;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, Tracker};
use longhaul_tracker::{Agent, Pane};

use super::{Exit, tmux};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The beginning of the id of a session
    session: String,
    /// The tmux client that switches to the pane; the one that was used last if this is left out
    #[arg(long)]
    client: Option<String>,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let tracker = Tracker::open(env, &home)?;
    let pane = pane(&tracker.agents()?, &args.session)?;
    let server = Server::at(&pane.socket);
    let is_here = Server::of(env).is_some_and(|here| here.socket == server.socket);
    let client = match &args.client {
        Some(client) => Some(client.clone()),
        // Inside the server, tmux knows which client has run this command.
        None if is_here => None,
        None => {
            let newest = server.clients()?.into_iter().next().map(|client| client.name);
            Some(newest.with_context(|| {
                format!("no client is attached to that tmux server: run `tmux -S {} attach`", pane.socket)
            })?)
        }
    };
    tmux::go(&server, &tracker, &pane, client.as_deref())?;
    Ok(Exit::Success)
}

/// Returns the pane of the session whose id begins with `id`.
fn pane(agents: &[Agent], id: &str) -> anyhow::Result<Pane> {
    let named: Vec<&Agent> = agents.iter().filter(|agent| !id.is_empty() && agent.session.starts_with(id)).collect();
    match named.as_slice() {
        [] => bail!("there is no running session whose id begins with {id:?}; `longhaul status` lists them"),
        [agent] => agent.pane.clone().with_context(|| format!("the session {} does not run in tmux", agent.session)),
        several => bail!("{} sessions begin with {id:?}: use more characters of the id", several.len()),
    }
}
