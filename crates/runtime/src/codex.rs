//! The environment of Codex hooks.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::Env;
use longhaul_tracker::client_name;

use crate::process;

/// The process and the tmux pane of a Codex session.
#[derive(Default)]
struct Place {
    pid: Option<u32>,
    tmux: Option<String>,
    pane: Option<String>,
}

/// Returns the environment of a Codex hook, without the values of a client that may have started Codex.
///
/// Codex sets no variable with its process id: its process is the nearest Codex ancestor of the hook. If another client
/// is above it, Codex was started as a command of that client, and the pane belongs to that client. Usually, however,
/// the hook is started by a server that all Codex windows share, with the environment of the first window.
pub(crate) fn env(mut env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    let codex = clients.iter().find(|(_, client)| *client == "codex").map(|(pid, _)| *pid);
    let place = match codex {
        Some(pid) if is_server(pid) => std::env::current_dir().ok().and_then(|dir| window_in(&dir)).unwrap_or_default(),
        pid if clients.iter().any(|(_, client)| *client != "codex") => Place { pid, ..Place::default() },
        pid => Place { pid, tmux: env.tmux, pane: env.tmux_pane },
    };
    env.project_dir = None;
    env.client_session = None;
    env.client_pid = place.pid;
    env.tmux = place.tmux;
    env.tmux_pane = place.pane;
    env.screen_session = None;
    env
}

fn is_server(pid: u32) -> bool {
    process::command_line(pid).iter().any(|word| word == "app-server")
}

/// Returns the only Codex window that was opened in a folder; `None` if there are several, or if it is not in tmux.
fn window_in(dir: &Path) -> Option<Place> {
    let all = process::all();
    let windows = all.iter().filter(|process| process.name == "codex" && !is_server(process.pid));
    let here = windows.filter(|process| process::current_dir(process.pid).is_some_and(|cwd| cwd == dir));
    let mut found: BTreeMap<String, Place> = BTreeMap::new();
    for process in here {
        let (tmux, pane) = (process::variable(process.pid, "TMUX"), process::variable(process.pid, "TMUX_PANE"));
        found.insert(pane.clone().unwrap_or_default(), Place { pid: Some(process.pid), tmux, pane });
    }
    if found.len() == 1 { found.into_values().next() } else { None }
}
