//! Goes to a session: in this tmux server, by attaching to another one, or over ssh.

use anyhow::{Context, bail};
use longhaul_core::Env;
use longhaul_inject::{TerminalCommand, shell_single_quote};
use longhaul_runtime::tmux::Server;
use longhaul_runtime::{Home, Tracker};
use longhaul_tracker::Pane;
use longhaul_view::{PaneAddress, SessionRow};

use crate::cli::tmux;

/// How a session is gone to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Jump {
    /// The tmux client shows it now.
    Gone,
    /// Run this program in the terminal. With its name.
    Run(TerminalCommand, String),
}

/// Goes to a session, or returns the program that does.
pub(crate) fn go(env: &Env, home: &Home, row: &SessionRow) -> anyhow::Result<Jump> {
    let pane = row.pane.as_ref().with_context(|| format!("{} does not run in tmux: go there by hand", row.project))?;
    if let Some(host) = &row.id.host {
        return Ok(Jump::Run(attach_remotely(host, pane), format!("ssh {host}")));
    }
    match Server::of(env).map(Server::patient) {
        Some(server) if server.socket == pane.socket => {
            let tracker = Tracker::open(env, home)?;
            let pane = Pane { socket: pane.socket.clone(), id: pane.id.clone() };
            tmux::go(&server, &tracker, &pane, None)?;
            Ok(Jump::Gone)
        }
        Some(_) => bail!(
            "it runs in another tmux server: leave this one, and run tmux -S {} attach -t {}",
            pane.socket,
            pane.id
        ),
        None => Ok(Jump::Run(attach(pane), "tmux".to_owned())),
    }
}

/// Returns whether the view runs in a popup of tmux, which has no pane. It covers what one wants to see.
pub(crate) fn is_popup(env: &Env) -> bool {
    env.tmux.is_some() && env.tmux_pane.is_none()
}

fn attach(pane: &PaneAddress) -> TerminalCommand {
    let words = ["tmux", "-u", "-S", &pane.socket, "attach-session", "-t", &pane.id];
    TerminalCommand { argv: words.map(str::to_owned).to_vec(), stdin: None }
}

/// Returns the command that attaches to a pane of another host. ssh passes a text to the shell there, so that every word of
/// it is quoted.
fn attach_remotely(host: &str, pane: &PaneAddress) -> TerminalCommand {
    let words = attach(pane).argv.iter().map(|word| shell_single_quote(word)).collect::<Vec<_>>().join(" ");
    TerminalCommand { argv: ["ssh", "-t", "--", host, &words].map(str::to_owned).to_vec(), stdin: None }
}

#[cfg(test)]
mod tests {
    use longhaul_view::PaneAddress;

    use super::attach_remotely;

    #[test]
    fn every_word_for_another_host_is_quoted() {
        let pane = PaneAddress { socket: "/tmp/a'; rm -rf $HOME".to_owned(), id: "%3".to_owned() };
        let words = r"'tmux' '-u' '-S' '/tmp/a'\''; rm -rf $HOME' 'attach-session' '-t' '%3'";
        assert_eq!(attach_remotely("build1", &pane).argv, ["ssh", "-t", "--", "build1", words]);
    }
}
