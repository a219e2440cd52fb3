//! What a server is told: the status, where to go, what to say.

use longhaul_tracker::escape;

use super::look::{list_active, pane_ids};
use super::{Server, words};
use crate::Error;

impl Server {
    /// Shows the status in every client at once, and notes on the pane what its session does. Returns the panes that
    /// somebody looks at.
    ///
    /// A server to which nobody is attached, and a pane that is gone meanwhile, are no failure.
    pub fn set_status(&self, text: &str, pane_state: Option<(&str, Option<&str>)>) -> Result<Vec<String>, Error> {
        let mut commands = vec![words(["set-option", "-g", "@longhaul-status", text])];
        if let Some((pane, state)) = pane_state {
            commands.push(match state {
                Some(state) => words(["set-option", "-p", "-t", pane, "@longhaul-state", state]),
                None => words(["set-option", "-p", "-u", "-t", pane, "@longhaul-state"]),
            });
        }
        // Before the command that fails where nobody is attached.
        commands.push(list_active());
        // Setting an option redraws all clients in the versions seen; that is not promised anywhere, this is.
        commands.push(words(["refresh-client", "-S"]));
        match self.run(&commands) {
            Err(Error::Program { message, .. }) if is_about_nobody(&message) => Ok(Vec::new()),
            result => result.map(|listing| pane_ids(&listing)),
        }
    }

    /// Brings `client`, or the one that is used here, to a pane.
    pub fn goto(&self, pane: &str, client: Option<&str>) -> Result<(), Error> {
        let mut switch = words(["switch-client", "-Z", "-t", pane]);
        if let Some(client) = client {
            switch.extend(words(["-c", client]));
        }
        // -Z: whoever has zoomed a pane wants to see it so when he comes back.
        let commands = [words(["select-window", "-t", pane]), words(["select-pane", "-Z", "-t", pane]), switch];
        self.run(&commands).map(drop)
    }

    /// Shows a line of text in place of the status line for a moment.
    pub fn message(&self, text: &str, client: Option<&str>) -> Result<(), Error> {
        let mut command = words(["display-message"]);
        if let Some(client) = client {
            command.extend(words(["-c", client]));
        }
        // It is a format for the time, too.
        command.push(escape(text).replace('%', "%%"));
        self.run(&[command]).map(drop)
    }
}

/// Returns whether tmux only says that there is no client, or no longer that pane.
fn is_about_nobody(message: &str) -> bool {
    ["no current client", "no current target", "no such pane", "can't find pane"]
        .iter()
        .any(|start| message.starts_with(start))
}
