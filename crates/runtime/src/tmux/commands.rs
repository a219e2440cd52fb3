//! Commands for a server: show the status and the offer to reopen sessions, go to a pane, show a message.

use longhaul_inject::TerminalCommand;
use longhaul_tracker::escape;
use longhaul_tracker::reopen::Window;

use super::window::{print_window, window_of};
use super::{Server, words};
use crate::{Error, process};

impl Server {
    /// Shows the status in all clients, and stores the state of a session as an option of its pane, whose window is returned.
    ///
    /// It is not an error if no client is attached, or if the pane no longer exists.
    pub(crate) fn set_status(
        &self,
        text: &str,
        pane_state: Option<(&str, Option<&str>)>,
    ) -> Result<Option<Window>, Error> {
        let mut commands = vec![words(["set-option", "-g", "@longhaul-status", text])];
        if let Some((pane, state)) = pane_state {
            commands.push(match state {
                Some(state) => words(["set-option", "-p", "-t", pane, "@longhaul-state", state]),
                None => words(["set-option", "-p", "-u", "-t", pane, "@longhaul-state"]),
            });
            commands.extend(state.map(|_| print_window(pane)));
        }
        // In the tested versions, setting an option redraws all clients. That is not documented; the effect of this
        // command is.
        commands.push(words(["refresh-client", "-S"]));
        let (printed, problem) = self.start(&commands)?.output_and_problem()?;
        if let Some(message) = problem.filter(|message| !has_no_target(message)) {
            return Err(Error::Program { program: "tmux".to_owned(), message });
        }
        Ok(window_of(&printed))
    }

    /// Shows the offer to reopen sessions; an empty text removes it.
    pub(crate) fn show_offer(&self, text: &str) -> Result<(), Error> {
        self.run(&[words(["set-option", "-g", "@longhaul-to-reopen", text])]).map(drop)
    }

    /// Runs a text of commands as the server would read it from a file.
    pub fn run_text(&self, text: &str) -> Result<(), Error> {
        let command = TerminalCommand { stdin: Some(text.to_owned()), ..self.step(&[words(["source-file", "-"])]) };
        process::run(&command, self.limit).map(drop)
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

/// Returns whether the error only means that there is no client, or that the pane no longer exists.
fn has_no_target(message: &str) -> bool {
    ["no current client", "no current target", "no such pane", "can't find pane"]
        .iter()
        .any(|start| message.starts_with(start))
}
