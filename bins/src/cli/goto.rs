//! `longhaul goto`: brings the pane of a session to the screen, from inside or outside of tmux.

use anyhow::Context;
use longhaul_core::Env;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, Tracker};

use super::session_target::find_target;
use super::{Exit, tmux};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of the session in `longhaul status`, its id, or the beginning of its id
    session: String,
    /// The tmux client that switches to the pane; by default the one that was used last
    #[arg(long)]
    client: Option<String>,
}

pub(crate) fn run(env: &Env, args: &Args) -> anyhow::Result<Exit> {
    let home = Home::of(env)?;
    let tracker = Tracker::open(env, &home)?;
    let agent = find_target(&home, &args.session)?.agent;
    let pane = agent.pane.with_context(|| format!("the session {} does not run in tmux", agent.session))?;
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
