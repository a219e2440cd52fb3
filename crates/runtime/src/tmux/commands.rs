//! Commands for a server: show the status, go to a pane, show a message.

use longhaul_tracker::{Pane, escape};

use super::look::{list_active, pane_ids};
use super::{Server, words};
use crate::Error;
use crate::process::Started;

impl Server {
    /// Begins to show the status in all clients, and to store the state of a session as an option of its pane.
    pub(crate) fn set_status(
        &self,
        text: &str,
        pane_state: Option<(&str, Option<&str>)>,
    ) -> Result<StatusUpdate, Error> {
        let mut commands = vec![words(["set-option", "-g", "@longhaul-status", text])];
        if let Some((pane, state)) = pane_state {
            commands.push(match state {
                Some(state) => words(["set-option", "-p", "-t", pane, "@longhaul-state", state]),
                None => words(["set-option", "-p", "-u", "-t", pane, "@longhaul-state"]),
            });
        }
        // Before the command that fails if no client is attached.
        commands.push(list_active());
        // In the tested versions, setting an option redraws all clients. That is not documented; the effect of this
        // command is.
        commands.push(words(["refresh-client", "-S"]));
        Ok(StatusUpdate { tmux: self.start(&commands)?, socket: self.socket.clone() })
    }

    /// Switches `client`, or the current one, to a pane.
    pub fn goto(&self, pane: &str, client: Option<&str>) -> Result<(), Error> {
        let mut switch = words(["switch-client", "-Z", "-t", pane]);
        if let Some(client) = client {
            switch.extend(words(["-c", client]));
        }
        // -Z: keeps a zoomed pane zoomed.
        let commands = [words(["select-window", "-t", pane]), words(["select-pane", "-Z", "-t", pane]), switch];
        self.run(&commands).map(drop)
    }

    /// Shows a line of text instead of the status line for a short time.
    pub fn message(&self, text: &str, client: Option<&str>) -> Result<(), Error> {
        let mut command = words(["display-message"]);
        if let Some(client) = client {
            command.extend(words(["-c", client]));
        }
        // tmux also expands the text as a time format.
        command.push(escape(text).replace('%', "%%"));
        self.run(&[command]).map(drop)
    }
}

/// A call of tmux that shows the status. Whoever starts it waits for its end, so that two updates keep their order.
#[derive(Debug)]
pub(crate) struct StatusUpdate {
    tmux: Started,
    socket: String,
}

impl StatusUpdate {
    /// Waits for the end of the call and returns the active panes of the clients.
    ///
    /// It is not an error if no client is attached, or if the pane no longer exists.
    pub(crate) fn active_panes(self) -> Result<Vec<Pane>, Error> {
        let ids = match self.tmux.output() {
            Err(Error::Program { message, .. }) if has_no_target(&message) => Vec::new(),
            result => pane_ids(&result?),
        };
        Ok(ids.into_iter().map(|id| Pane { socket: self.socket.clone(), id }).collect())
    }
}

/// Returns whether the error only means that there is no client, or that the pane no longer exists.
fn has_no_target(message: &str) -> bool {
    ["no current client", "no current target", "no such pane", "can't find pane"]
        .iter()
        .any(|start| message.starts_with(start))
}
