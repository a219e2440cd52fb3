//! `longhaul tmux`: what tmux itself calls, and what puts it in place.

mod setup;

use std::path::PathBuf;

use anyhow::{Context, bail};
use longhaul_core::Env;
use longhaul_runtime::tmux::{Server, command};
use longhaul_runtime::{ErrorLog, Home, Tracker, bounded_read};
use longhaul_tracker::{OPTIONS, Options, Pane, RemovalReason, menu};

use super::{Exit, out};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Show the sessions' states in the status line, and a menu of them behind a key
    Setup,
    /// Leave tmux as it was before setup
    Teardown,
    /// Print the status string as it was last rendered
    StatusBar,
    /// Bring every session's state up to date; prints nothing
    Refresh,
    /// Open the menu of sessions
    Menu {
        /// The page, counted from 1
        #[arg(default_value_t = 1)]
        page: usize,
        /// The client that shows it, by tmux's name for it
        #[arg(long)]
        client: Option<String>,
    },
    /// Go to a pane, and take a completed session there for seen
    Goto {
        /// A pane (%3), a target (work:1.0) or the beginning of a session's id
        target: String,
        /// The client that goes there, by tmux's name for it
        #[arg(long)]
        client: Option<String>,
    },
    /// Take a completed session in a pane for seen
    PaneFocus {
        /// The pane, as %3
        pane: String,
    },
    /// Find sessions that run and are not tracked yet
    Scan,
    /// Forget sessions whose pane is gone, or that have not changed for a day
    Cleanup,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Setup => setup::run(env)?,
        Command::Teardown => server(env)?.teardown()?,
        Command::StatusBar => status_bar(env)?,
        Command::Refresh => refresh(env),
        Command::Menu { page, client } => show_menu(env, page, client.as_deref())?,
        Command::Goto { target, client } => goto(env, &target, client.as_deref())?,
        Command::PaneFocus { pane } => pane_focus(env, &pane)?,
        Command::Scan => scan(env)?,
        Command::Cleanup => cleanup(env)?,
    }
    Ok(Exit::Success)
}

/// Returns the server that this runs in.
pub(crate) fn server(env: &Env) -> anyhow::Result<Server> {
    Server::of(env).map(Server::patient).context("not inside tmux: $TMUX does not name a server")
}

fn status_bar(env: &Env) -> anyhow::Result<()> {
    // Not there yet is nothing to show.
    let text = bounded_read::text(&Home::of(env)?.status(), bounded_read::SMALL).unwrap_or_default();
    if text.is_empty() { Ok(()) } else { out::line(&text) }
}

/// tmux would show in the status line whatever this printed.
fn refresh(env: &Env) {
    let refreshed = Home::of(env).and_then(|home| Tracker::open(env, &home)?.refresh());
    if let Err(error) = refreshed {
        ErrorLog::new(env, "refresh").write(&error.chain());
    }
}

/// Returns the path by which this executable is found after an update, too.
pub(crate) fn own_path(env: &Env) -> anyhow::Result<PathBuf> {
    let exe = std::env::current_exe().context("cannot tell where this executable lies")?;
    Ok(longhaul_setup::lasting(env, &exe))
}

/// Shows the menu. Behind a key nobody reads what a command prints: what fails is told in the log too.
fn show_menu(env: &Env, page: usize, client: Option<&str>) -> anyhow::Result<()> {
    open_menu(env, page, client).inspect_err(|error| ErrorLog::new(env, "menu").write(&format!("{error:#}")))
}

fn open_menu(env: &Env, page: usize, client: Option<&str>) -> anyhow::Result<()> {
    let (server, home) = (server(env)?, Home::of(env)?);
    let Some((columns, rows)) = server.client_size(client)? else {
        bail!("nobody is attached to this tmux server: there is no screen to show a menu on");
    };
    let tracker = Tracker::open(env, &home)?;
    let options = fitting(&tracker.options(), Server::menu_rows(rows));
    let Some(menu) = menu(&tracker.agents()?, page, &options, env.now.0 / 1000) else {
        return Ok(server.message("No AI agents are running", client)?);
    };
    let exe = own_path(env)?;
    Ok(server.show_menu(&menu, &command(&exe, &home, env), client, columns)?)
}

/// Returns the options with no more sessions on a page than `rows`: tmux shows no menu that is higher than the screen.
fn fitting(options: &Options, rows: usize) -> Options {
    let rows = options.items_per_page().min(rows).to_string();
    Options::from_values(|at| match OPTIONS[at].name {
        "items-per-page" => Some(rows.clone()),
        _ => options.values().get(at).cloned(),
    })
}

fn goto(env: &Env, target: &str, client: Option<&str>) -> anyhow::Result<()> {
    let (server, home) = (server(env)?, Home::of(env)?);
    let tracker = Tracker::open(env, &home)?;
    let panes = server.panes()?;
    let is_target = |pane: &Pane, name: &str| pane.id == target || name == target;
    let pane = match panes.iter().find(|live| is_target(&live.pane, &live.target)) {
        Some(live) => live.pane.clone(),
        None => {
            let agents = tracker.agents()?;
            let named = agents.iter().filter(|agent| !target.is_empty() && agent.session.starts_with(target));
            let pane =
                named.filter_map(|agent| agent.pane.clone()).find(|pane| panes.iter().any(|live| live.pane == *pane));
            pane.with_context(|| format!("no such pane, target or session here: {target:?}"))?
        }
    };
    go(&server, &tracker, &pane, client)
}

/// Goes to a pane and takes what is there for seen.
pub(crate) fn go(server: &Server, tracker: &Tracker, pane: &Pane, client: Option<&str>) -> anyhow::Result<()> {
    server.goto(&pane.id, client).with_context(|| format!("cannot go to pane {}", pane.id))?;
    tracker.seen(pane)?;
    Ok(())
}

fn pane_focus(env: &Env, id: &str) -> anyhow::Result<()> {
    let (server, home) = (server(env)?, Home::of(env)?);
    let pane = Pane { socket: server.socket.clone(), id: id.to_owned() };
    let changed = Tracker::open(env, &home)?.seen(&pane)?;
    if !changed && !server.panes()?.iter().any(|live| live.pane == pane) {
        bail!("no such pane here: {id:?}");
    }
    Ok(())
}

fn scan(env: &Env) -> anyhow::Result<()> {
    let found = Tracker::open(env, &Home::of(env)?)?.scan()?;
    for session in &found {
        out::line(session)?;
    }
    out::message(&match found.len() {
        0 => "No sessions but those that are known.".to_owned(),
        1 => "1 session found.".to_owned(),
        count => format!("{count} sessions found."),
    });
    Ok(())
}

fn cleanup(env: &Env) -> anyhow::Result<()> {
    let removed = Tracker::open(env, &Home::of(env)?)?.cleanup()?;
    for (session, why) in &removed {
        let why = match why {
            RemovalReason::PaneGone => "its pane is gone",
            RemovalReason::ClientGone => "no client runs in its pane any more",
            RemovalReason::Silent => "it has no pane and nothing was heard of it for ten minutes",
            RemovalReason::Old => "it has not changed for a day",
        };
        out::line(&format!("{session}: removed, {why}"))?;
    }
    if removed.is_empty() {
        out::message("Nothing to remove.");
    }
    Ok(())
}
