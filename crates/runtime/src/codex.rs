//! The environment of Codex hooks: which of its windows a session runs in.

mod rewound_rollout;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use longhaul_core::Env;
use longhaul_inject::{TmuxPane, codex_shows_prompt, parse_inspection, tmux_socket};
use longhaul_tracker::{CodexWindow, client_name, codex_window};

pub use self::rewound_rollout::turns_left_out;
use crate::{Deadline, process, waiting_times};

/// Time between two looks at the screens.
const BETWEEN_LOOKS: Duration = Duration::from_millis(40);

/// The process and the tmux pane of a Codex session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    pid: Option<u32>,
    tmux: Option<String>,
    pane: Option<String>,
}

/// Returns the environment of a Codex hook, without the values of a client that may have started Codex.
///
/// Codex sets no variable with its process id: its process is the nearest Codex ancestor of the hook. If another client
/// is above it, Codex was started as a command of that client, and the pane belongs to that client. Usually, however,
/// the hook is started by a server that all Codex windows share, with the environment of the first window. Then the
/// window is known if there is only one in the folder; [`own_window`] decides between several.
pub(crate) fn env(mut env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    let codex = clients.iter().find(|(_, client)| *client == "codex").map(|(pid, _)| *pid);
    let place = match codex {
        Some(pid) if is_server(pid) => {
            std::env::current_dir().ok().and_then(|dir| only_window(&dir)).unwrap_or_default()
        }
        pid if clients.iter().any(|(_, client)| *client != "codex") => Place { pid, ..Place::default() },
        pid => Place { pid, tmux: env.tmux.take(), pane: env.tmux_pane.take() },
    };
    env.project_dir = None;
    env.client_session = None;
    env.screen_session = None;
    settle(&mut env, place);
    env
}

/// Sets the window in which the session runs.
pub(crate) fn settle(env: &mut Env, place: Place) {
    env.client_pid = place.pid;
    env.tmux = place.tmux;
    env.tmux_pane = place.pane;
}

/// Returns the Codex windows that were opened in a folder, if they share a server that has started this hook.
///
/// A window may consist of two processes: an interpreter, and Codex itself. Only one of them is listed.
pub(crate) fn windows_in(dir: &Path) -> Vec<Place> {
    let above = process::ancestors(std::process::id());
    let codex = above.iter().find(|process| client_name(process) == Some("codex"));
    if codex.is_none_or(|codex| !is_server(codex.pid)) {
        return Vec::new();
    }
    all_windows_in(dir)
}

fn only_window(dir: &Path) -> Option<Place> {
    let mut found = all_windows_in(dir);
    let only = found.pop();
    only.filter(|_| found.is_empty())
}

fn all_windows_in(dir: &Path) -> Vec<Place> {
    let all = process::all();
    let windows = all.iter().filter(|process| process.name == "codex" && !is_server(process.pid));
    let here = windows.filter(|process| process::current_dir(process.pid).is_some_and(|cwd| cwd == dir));
    let mut found: BTreeMap<String, Place> = BTreeMap::new();
    for process in here {
        let (tmux, pane) = (process::variable(process.pid, "TMUX"), process::variable(process.pid, "TMUX_PANE"));
        // Outside tmux, every process counts.
        let key = pane.clone().zip(tmux.clone()).map_or_else(|| process.pid.to_string(), |(pane, tmux)| pane + &tmux);
        found.insert(key, Place { pid: Some(process.pid), tmux, pane });
    }
    found.into_values().collect()
}

fn is_server(pid: u32) -> bool {
    process::command_line(pid).iter().any(|word| word == "app-server")
}

/// Returns which of several windows shows the session whose id in Codex is `own`; `None` if that is not certain.
///
/// `prompt` was just submitted in it. `recorded` is the process of the window in which the session was found last.
pub(crate) fn own_window(
    windows: &[Place],
    own: &str,
    prompt: Option<&str>,
    recorded: Option<u32>,
    deadline: Deadline,
) -> Option<Place> {
    let patience = Deadline::after(waiting_times::CODEX_PROMPT_ON_SCREEN.min(deadline.left() / 4));
    let mut known: Vec<CodexWindow> = windows.iter().filter_map(window).collect();
    while let Some(prompt) = prompt {
        for (window, place) in known.iter_mut().zip(windows.iter().filter(|place| place.pid.is_some())) {
            window.shows_prompt = screen(place).is_some_and(|screen| codex_shows_prompt(&screen, prompt));
        }
        if known.iter().any(|window| window.shows_prompt) || patience.left().is_zero() {
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let pid = codex_window(&known, own, recorded)?;
    windows.iter().find(|place| place.pid == Some(pid)).cloned()
}

fn window(place: &Place) -> Option<CodexWindow> {
    let pid = place.pid?;
    let words = process::command_line(pid);
    let mut window = CodexWindow::new(pid);
    window.resumed = words.iter().skip_while(|word| *word != "resume").nth(1).cloned();
    Some(window)
}

fn screen(place: &Place) -> Option<String> {
    let socket = tmux_socket(place.tmux.as_deref()?)?;
    let pane = TmuxPane { socket: socket.to_owned(), pane: place.pane.clone()? };
    let shown = process::run(&pane.inspect(), waiting_times::CODEX_SCREEN_READ).ok()?;
    parse_inspection(&shown).map(|inspection| inspection.screen)
}
