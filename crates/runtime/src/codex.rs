//! Codex, as its hooks see it.

use longhaul_core::Env;
use longhaul_tracker::client_name;

use crate::process;

/// Returns the environment of a hook of Codex: without what belongs to the client that may have started Codex.
///
/// Codex names no process of its own: it is the nearest above the hook. Where another client runs above that, as a
/// command of which Codex was started, the pane is that client's and stays so.
pub(crate) fn env(env: Env) -> Env {
    let above = process::ancestors(std::process::id());
    let clients: Vec<(u32, &str)> =
        above.iter().filter_map(|process| Some((process.pid, client_name(process)?))).collect();
    let is_within = clients.iter().any(|(_, client)| *client != "codex");
    let own = |value: Option<String>| value.filter(|_| !is_within);
    Env {
        project_dir: None,
        client_session: None,
        client_pid: clients.iter().find(|(_, client)| *client == "codex").map(|(pid, _)| *pid),
        tmux: own(env.tmux),
        tmux_pane: own(env.tmux_pane),
        screen_session: own(env.screen_session),
        ..env
    }
}
