//! `longhaul tmux setup`: run by tmux.conf while the server starts, or by the user. What it changes is in
//! `setup/src/tmux_server.rs`.

use longhaul_core::Env;
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{ErrorLog, Home, Tracker};
use longhaul_setup::tmux_server::{self, command};

/// Sets the server up.
///
/// A failure is shown in the status line and written to the log: tmux does not show the output of commands in tmux.conf.
pub(super) fn run(env: &Env, offers_reopen: bool) -> anyhow::Result<()> {
    let server = super::server(env)?;
    if offers_reopen {
        // Before the first refresh, which reads it.
        tmux_server::offer_reopen(&server)?;
    }
    let Err(error) = set_up(env, &server) else { return Ok(()) };
    if runs_again(env, &server) {
        return Ok(());
    }
    let reason = format!("{error:#}");
    ErrorLog::new(env, "tmux setup").write(&reason);
    if let Err(unshown) = tmux_server::show_setup_problem(&server, &reason) {
        ErrorLog::new(env, "tmux setup").write(&format!("cannot show that in the status line: {}", unshown.chain()));
    }
    Err(error)
}

fn set_up(env: &Env, server: &Server) -> anyhow::Result<()> {
    let home = Home::of(env)?;
    let exe = super::own_path(env)?;
    // This comes first: after the setup, the server runs refreshes itself.
    let shown = show_sessions(env, &home);
    // The key and the refreshes are also set up without a database: the counts appear as soon as there is one.
    let options = server.read()?.options;
    tmux_server::set_up(server, &command(&exe, &home, env), &options)?;
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
    let (Ok(home), Ok(exe), Ok(true)) = (Home::of(env), super::own_path(env), server.is_empty()) else { return false };
    if tmux_server::set_up_with_first_session(server, &command(&exe, &home, env)).is_err() {
        return false;
    }
    // After `run-shell -b` the first session may have been created before the hook was set.
    server.is_empty().unwrap_or(false) || set_up(env, server).is_ok()
}
