//! A tmux server: what it shows, and what it is told.
//!
//! Every method is one invocation of tmux, unless it says otherwise: starting tmux costs more than what it then does.

mod commands;
mod fit_label;
mod look;
mod menu;
mod setup;
mod setup_problem;
mod status_right;

pub use self::setup::command;
pub use self::setup_problem::SetupState;
pub use self::status_right::NOT_SET_UP;

use std::time::Duration;

use longhaul_core::Env;
use longhaul_inject::{TerminalCommand, protect_semicolon, tmux_socket};

use crate::{Deadline, Error, process, waiting_times};

/// Stands between two values that tmux prints. A control character would not do: newer versions print it as `\037`.
const SEPARATOR: &str = "=-longhaul-=";

/// A tmux server that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The path of its socket.
    pub socket: String,
    /// When whoever asks it must be done.
    pub(crate) deadline: Option<Deadline>,
    /// How long one invocation of tmux may take.
    pub(crate) limit: Duration,
}

impl Server {
    /// Returns the server that `$TMUX` names; `None` outside tmux.
    pub fn of(env: &Env) -> Option<Self> {
        let socket = tmux_socket(env.tmux.as_deref()?)?;
        Some(Self { socket: socket.to_owned(), deadline: None, limit: waiting_times::TMUX_IN_HOOK })
    }

    /// Returns the same server with more time for each invocation, for commands that no hook waits for.
    pub fn patient(self) -> Self {
        Self { limit: waiting_times::TMUX, ..self }
    }

    /// Runs commands one after the other, up to the first that fails, and returns what they print.
    fn run(&self, commands: &[Vec<String>]) -> Result<String, Error> {
        let limit = self.deadline.map_or(self.limit, |deadline| self.limit.min(deadline.left()));
        process::run(&self.step(commands), limit)
    }

    fn step(&self, commands: &[Vec<String>]) -> TerminalCommand {
        // -u: without it tmux replaces what is not ASCII where the hook's locale is not UTF-8.
        let mut argv: Vec<String> = ["tmux", "-u", "-S", &self.socket].map(str::to_owned).to_vec();
        for (at, command) in commands.iter().enumerate() {
            argv.extend((at > 0).then(|| ";".to_owned()));
            argv.extend(command.iter().map(|argument| protect_semicolon(argument)));
        }
        TerminalCommand { argv, stdin: None }
    }

    /// Returns the global values of options, empty where one is not set.
    fn globals(&self, names: &[&str]) -> Result<Vec<String>, Error> {
        let mut commands = Vec::with_capacity(2 * names.len());
        for name in names {
            commands.push(words(["show-options", "-gqv", name]));
            commands.push(words(["display-message", "-p", SEPARATOR]));
        }
        let printed = self.run(&commands)?;
        let end = format!("{SEPARATOR}\n");
        let values = printed.split(end.as_str()).map(|value| value.strip_suffix('\n').unwrap_or(value).to_owned());
        Ok(values.take(names.len()).collect())
    }
}

/// Returns a command's words.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests;
