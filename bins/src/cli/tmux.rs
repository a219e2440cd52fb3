//! `longhaul tmux`: the setup of tmux, and the commands that tmux runs.

use std::path::PathBuf;

use anyhow::{Context, bail};
use longhaul_core::{Env, SessionId, counted};
use longhaul_runtime::tmux::{Server, words};
use longhaul_runtime::{Error, ErrorLog, Home, Tracker, bounded_read, leave_session, waiting_times};
use longhaul_setup::tmux::{self, command};
use longhaul_tracker::{Agent, Menu, MenuItem, OPTIONS, Options, Pane, RemovalReason, attention};

use super::{out, sessions};

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

pub(crate) fn run(env: &Env, command: Command) -> anyhow::Result<()> {
    match command {
        Command::Setup { offer_reopen } => setup(env, offer_reopen),
        Command::Teardown => Ok(tmux::tear_down(&server(env)?)?),
        Command::StatusBar => status_bar(env),
        Command::Refresh => {
            refresh(env);
            Ok(())
        }
        // tmux runs this for a key and does not show its output.
        Command::Menu { page, client } => open_menu(env, page, client.as_deref())
            .inspect_err(|error| ErrorLog::new(env, "menu").write(&format!("{error:#}"))),
        Command::Goto { target, client } => goto(env, &target, client.as_deref()),
        Command::PaneFocus { pane } => pane_focus(env, &pane),
        Command::ShowTurnEnd { session } => {
            show_turn_end(env, &session);
            Ok(())
        }
        Command::Scan => scan(env),
        Command::Cleanup => cleanup(env),
    }
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

fn open_menu(env: &Env, page: usize, client: Option<&str>) -> anyhow::Result<()> {
    let (server, home) = (server(env)?, Home::of(env)?);
    let Some((columns, rows)) = server.client_size(client)? else {
        bail!("no client is attached to this tmux server, so the menu cannot be shown");
    };
    let tracker = Tracker::open(env, &home)?;
    let options = fitting(&tracker.options(), rows.saturating_sub(ROWS_AROUND).max(1));
    let mut agents = tracker.agents()?;
    agents.sort_by_cached_key(attention);
    let numbers = sessions::assign_numbers(&home, agents.iter().map(|agent| agent.session.as_str()), env.now);
    let number = |agent: &Agent| numbers.of(&agent.session);
    let Some(menu) = longhaul_tracker::menu(&agents, number, page, &options, env.now.0 / 1000) else {
        return Ok(server.message("No AI agents are running", client)?);
    };
    let exe = own_path(env)?;
    Ok(display(&server, &menu, &tmux::command(&exe, &home, env), client, columns)?)
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
        count => format!("{} found.", counted(count, "session")),
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

/// Cuts an escaped label to `width` columns. `##` counts as one unit and is never split.
///
/// tmux itself cuts a label with more bytes than there are columns: it keeps the end, so that neither icon nor project
/// is visible, and appends a `>`. A label that was cut here leaves nothing for tmux to cut.
fn fit(label: &str, width: usize) -> String {
    if label.len() <= width {
        return label.to_owned();
    }
    let mut text = String::new();
    let mut used = 0;
    for (part, columns) in parts(label) {
        used += columns;
        if used + 1 > width {
            break;
        }
        text.push_str(part);
    }
    if text.len() < label.len() && text.len() < width {
        text.push('>');
    }
    text
}

/// Returns the parts of a label that are shown as one character each, with their widths.
fn parts(label: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = label;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if rest.starts_with("##") { 2 } else { first.len_utf8() };
        let (part, after) = rest.split_at(length);
        rest = after;
        // A character of unknown width counts as wide, which at worst wastes a column.
        Some((part, if (first as u32) < 0x1100 { 1 } else { 2 }))
    })
}

/// The rows around the sessions: the border, separator, previous, next and quit.
const ROWS_AROUND: usize = 2 + 4;

/// The columns around a label: border, spaces, and the key in parentheses.
const COLUMNS_AROUND: usize = 4 + 4;

/// Shows the menu in `client`, or in the current one, with `columns`. Returns when it is closed.
///
/// `command` is the result of [`longhaul_setup::tmux::command`], which shows the other pages.
fn display(server: &Server, menu: &Menu, command: &str, client: Option<&str>, columns: usize) -> Result<(), Error> {
    let steps = [
        // Without `setup` it is not set yet. A value that setup has set stays.
        words(["set-option", "-goq", "@longhaul-command", command]),
        display_menu(server, menu, client, columns),
    ];
    match server.clone().within(waiting_times::TMUX_MENU).run(&steps) {
        Err(Error::TimedOut { .. }) => Ok(()),
        result => result.map(drop),
    }
}

/// Returns the command that shows the menu.
///
/// The commands of the items contain no data except pane ids, because tmux expands them as formats, parses the
/// result and passes parts of it to a shell. The first expansion turns `##{…}` into `#{…}`, which `run-shell` then
/// expands.
fn display_menu(server: &Server, menu: &Menu, client: Option<&str>, columns: usize) -> Vec<String> {
    let mut words = words(["display-menu", "-T", &menu.title, "-x", "C", "-y", "C"]);
    if let Some(client) = client {
        words.extend(["-c".to_owned(), client.to_owned()]);
    }
    words.push("--".to_owned());
    let width = columns.saturating_sub(COLUMNS_AROUND);
    for item in &menu.items {
        words.extend(self::item(server, item, width));
    }
    words
}

fn item(server: &Server, item: &MenuItem, width: usize) -> Vec<String> {
    match item {
        MenuItem::Goto { label, key, pane } if pane.socket == server.socket => {
            let focus = format!("run-shell -b '##{{@longhaul-command}} tmux pane-focus {}'", pane.id);
            words([&fit(label, width), key, &format!("switch-client -Z -t {} ; {focus}", pane.id)])
        }
        // A client cannot go to another server. A leading dash disables the item.
        MenuItem::Goto { label, key, .. } => {
            let numbered = format!("{key} {label}");
            words([&format!("-{}", fit(numbered.trim_start(), width)), "", ""])
        }
        MenuItem::Elsewhere { label } => words([&format!("-{}", fit(label, width)), "", ""]),
        MenuItem::Separator => words([""]),
        MenuItem::Page { label, key, page } => {
            let show = format!("##{{@longhaul-command}} tmux menu {page} --client ##{{q:client_name}}");
            words([label, key, &format!("run-shell -b '{show}'")])
        }
        MenuItem::Quit { label, key } => words([label, key, ""]),
    }
}

/// Sets the server up.
///
/// A failure is shown in the status line and written to the log: tmux does not show the output of commands in tmux.conf.
fn setup(env: &Env, offers_reopen: bool) -> anyhow::Result<()> {
    let server = server(env)?;
    if offers_reopen {
        // Before the first refresh, which reads it.
        tmux::offer_reopen(&server)?;
    }
    let Err(error) = set_up(env, &server) else { return Ok(()) };
    if runs_again(env, &server) {
        return Ok(());
    }
    let reason = format!("{error:#}");
    ErrorLog::new(env, "tmux setup").write(&reason);
    if let Err(unshown) = tmux::show_setup_problem(&server, &reason) {
        ErrorLog::new(env, "tmux setup").write(&format!("cannot show that in the status line: {}", unshown.chain()));
    }
    Err(error)
}

fn set_up(env: &Env, server: &Server) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let exe = own_path(env)?;
    // This comes first: after the setup, the server runs refreshes itself.
    let shown = show_sessions(env, &home);
    // The key and the refreshes are also set up without a database: the counts appear as soon as there is one.
    let options = server.read()?.options;
    tmux::set_up(server, &command(&exe, &home, env), &options)?;
    Ok(shown?)
}

fn show_sessions(env: &Env, home: &Home) -> Result<(), longhaul_runtime::Error> {
    let mut tracker = Tracker::open(env, home)?;
    tracker.refresh()?;
    // This server may not have the string yet, even if it has not changed since it was last rendered.
    tracker.push()
}

/// Returns whether the setup that has just failed is repeated, because the server has no session yet.
///
/// In tmux 3.3 no command of the setup needs one. Another version may differ.
fn runs_again(env: &Env, server: &Server) -> bool {
    let (Ok(home), Ok(exe), Ok(true)) = (Home::of(env), own_path(env), server.is_empty()) else { return false };
    if tmux::set_up_with_first_session(server, &command(&exe, &home, env)).is_err() {
        return false;
    }
    // After `run-shell -b` the first session may have been created before the hook was set.
    server.is_empty().unwrap_or(false) || set_up(env, server).is_ok()
}

#[cfg(test)]
mod tests;
