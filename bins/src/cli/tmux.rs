//! `longhaul tmux`: the setup of tmux, and the commands that tmux runs.

mod fit_label;
mod menu;
mod setup;

use std::path::PathBuf;

use anyhow::{Context, bail};
use longhaul_core::{Env, SessionId};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{ErrorLog, Home, Tracker, bounded_read, leave_session};
use longhaul_setup::tmux_server;
use longhaul_tracker::{Agent, OPTIONS, Options, Pane, RemovalReason, attention};

use super::{Exit, out, session_numbers};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Set up this tmux server: session counts in the status line, and a key for the menu
    Setup {
        /// Also show how many sessions of the last tmux server can be reopened
        #[arg(long)]
        offer_reopen: bool,
    },
    /// Undo the setup of this tmux server
    Teardown,
    /// Print the session counts that tmux's status line shows
    StatusBar,
    /// Update the state of every session; prints nothing
    Refresh,
    /// Open the menu of sessions
    Menu {
        /// The page, counted from 1
        #[arg(default_value_t = 1)]
        page: usize,
        /// The tmux client that shows the menu; by default the one in which the command runs
        #[arg(long)]
        client: Option<String>,
    },
    /// Go to a pane, and mark a completed session there as seen
    Goto {
        /// A pane (%3), a target (work:1.0) or the beginning of the id of a session
        target: String,
        /// The tmux client that switches to the pane; by default the one in which the command runs
        #[arg(long)]
        client: Option<String>,
    },
    /// Mark a completed session in a pane as seen
    PaneFocus {
        /// The pane, such as %3
        pane: String,
    },
    /// Show that the turn of a session has ended. Started by its hook, which does not wait for tmux
    #[command(hide = true)]
    ShowTurnEnd {
        /// The id of the session
        session: String,
    },
    /// Add running sessions that are not tracked yet
    Scan,
    /// Stop tracking sessions whose process or pane is gone, or that have not changed for a day; ends no process
    Cleanup,
}

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Setup { offer_reopen } => setup::run(env, offer_reopen)?,
        Command::Teardown => tmux_server::tear_down(&server(env)?)?,
        Command::StatusBar => status_bar(env)?,
        Command::Refresh => refresh(env),
        Command::Menu { page, client } => show_menu(env, page, client.as_deref())?,
        Command::Goto { target, client } => goto(env, &target, client.as_deref())?,
        Command::PaneFocus { pane } => pane_focus(env, &pane)?,
        Command::ShowTurnEnd { session } => show_turn_end(env, &session),
        Command::Scan => scan(env)?,
        Command::Cleanup => cleanup(env)?,
    }
    Ok(Exit::Success)
}

/// Returns the tmux server in which this process runs.
pub(crate) fn server(env: &Env) -> anyhow::Result<Server> {
    Server::of(env).map(Server::patient).context("not inside tmux: $TMUX does not name a server")
}

fn status_bar(env: &Env) -> anyhow::Result<()> {
    // If the file does not exist yet, there is nothing to show.
    let text = bounded_read::text(&Home::of(env)?.status(), bounded_read::SMALL).unwrap_or_default();
    if text.is_empty() { Ok(()) } else { out::line(&text) }
}

/// Updates the states. It prints nothing, because tmux would show the output in the status line.
fn refresh(env: &Env) {
    let refreshed = Home::of(env).and_then(|home| Tracker::open(env, &home)?.refresh());
    if let Err(error) = refreshed {
        ErrorLog::new(env, "refresh").write(&error.chain());
    }
}

/// Returns a path of this executable that stays valid after an update.
pub(crate) fn own_path(env: &Env) -> anyhow::Result<PathBuf> {
    let exe = std::env::current_exe().context("cannot find the path of this executable")?;
    Ok(longhaul_setup::stable_path(env, &exe))
}

/// Shows the menu. tmux runs this for a key and does not show its output, so an error is also written to the log.
fn show_menu(env: &Env, page: usize, client: Option<&str>) -> anyhow::Result<()> {
    open_menu(env, page, client).inspect_err(|error| ErrorLog::new(env, "menu").write(&format!("{error:#}")))
}

fn open_menu(env: &Env, page: usize, client: Option<&str>) -> anyhow::Result<()> {
    let (server, home) = (server(env)?, Home::of(env)?);
    let Some((columns, rows)) = server.client_size(client)? else {
        bail!("no client is attached to this tmux server, so the menu cannot be shown");
    };
    let tracker = Tracker::open(env, &home)?;
    let options = fitting(&tracker.options(), menu::menu_rows(rows));
    let mut agents = tracker.agents()?;
    agents.sort_by_cached_key(attention);
    let numbers = session_numbers::assign(&home, agents.iter().map(|agent| agent.session.as_str()), env.now);
    let number = |agent: &Agent| numbers.of(&agent.session);
    let Some(menu) = longhaul_tracker::menu(&agents, number, page, &options, env.now.0 / 1000) else {
        return Ok(server.message("No AI agents are running", client)?);
    };
    let exe = own_path(env)?;
    Ok(menu::show_menu(&server, &menu, &tmux_server::command(&exe, &home, env), client, columns)?)
}

/// Returns the options with at most `rows` sessions on a page: tmux does not show a menu that is higher than the screen.
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
            pane.with_context(|| format!("there is no such pane, target or session in this tmux server: {target:?}"))?
        }
    };
    go(&server, &tracker, &pane, client)
}

/// Goes to a pane and marks its session as seen.
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
        bail!("there is no such pane in this tmux server: {id:?}");
    }
    Ok(())
}

/// Shows the end of a turn. Its output is not read, so an error is written to the log, unless the tmux server is gone.
fn show_turn_end(env: &Env, session: &str) {
    leave_session();
    let Some(session) = SessionId::new(session) else { return };
    let shown = Home::of(env).and_then(|home| Tracker::open(env, &home)?.show_turn_end(&session));
    if let Err(error) = shown
        && !error.is_tmux_server_gone()
    {
        ErrorLog::new(env, "show-turn-end").write(&error.chain());
    }
}

fn scan(env: &Env) -> anyhow::Result<()> {
    let found = Tracker::open(env, &Home::of(env)?)?.scan()?;
    for session in &found {
        out::line(session)?;
    }
    out::message(&match found.len() {
        0 => "No new sessions found.".to_owned(),
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
            RemovalReason::ClientGone => "no agent runs in its pane any more",
            RemovalReason::Silent => "it has no pane and had no event for ten minutes",
            RemovalReason::Old => "it has not changed for a day",
        };
        out::line(&format!("{session}: removed, {why}"))?;
    }
    if removed.is_empty() {
        out::message("Nothing to remove.");
    }
    Ok(())
}
