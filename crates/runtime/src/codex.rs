//! Codex, as its hooks see it.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_core::Env;
use longhaul_tracker::client_name;

use crate::process;

/// Where a session of Codex runs.
#[derive(Default)]
struct Place {
    pid: Option<u32>,
    tmux: Option<String>,
    pane: Option<String>,
}

/// Returns the environment of a hook of Codex: without what belongs to the client that may have started Codex.
///
/// Codex names no process of its own: it is the nearest above the hook. Where another client runs above that, as a
/// command of which Codex was started, the pane is that client's and stays so. Mostly, though, the hook is started by a
/// server that all windows of Codex share, and that has the environment of the first of them.
pub(crate) fn env(env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    let codex = clients.iter().find(|(_, client)| *client == "codex").map(|(pid, _)| *pid);
    let place = match codex {
        Some(pid) if is_server(pid) => std::env::current_dir().ok().and_then(|dir| window_in(&dir)).unwrap_or_default(),
        pid if clients.iter().any(|(_, client)| *client != "codex") => Place { pid, ..Place::default() },
        pid => Place { pid, tmux: env.tmux, pane: env.tmux_pane },
    };
    Env {
        project_dir: None,
        client_session: None,
        client_pid: place.pid,
        tmux: place.tmux,
        tmux_pane: place.pane,
        screen_session: None,
        ..env
    }
}

fn is_server(pid: u32) -> bool {
    process::command_line(pid).iter().any(|word| word == "app-server")
}

/// Returns the one window of Codex that was opened in a folder; `None` where there are several, or it is not in tmux.
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
