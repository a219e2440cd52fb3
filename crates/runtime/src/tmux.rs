//! A tmux server: its state, and the commands that are sent to it. Its setup is in `setup/src/tmux.rs`, its menu in
//! `bins/src/cli/tmux.rs`.
//!
//! Every method starts tmux once, unless it says otherwise, because starting tmux costs more than its commands.

mod clients;
mod commands;
mod look;
mod socket_owner;
mod window;

pub use self::clients::Client;
pub use self::look::ServerOptions;
pub(crate) use self::socket_owner::check as check_socket;
pub use self::window::{OpenedWindow, PaneState};
pub(crate) use self::window::{server_pid, window_of_pane};

use std::time::Duration;

use longhaul_core::Env;
use longhaul_inject::{TerminalCommand, protect_semicolon, tmux_socket};

use crate::process::{self, Started};
use crate::{Deadline, Error, waiting_times};

/// Separates two values in the output of tmux. A control character is not possible: newer versions print it as `\037`.
const SEPARATOR: &str = "=-longhaul-=";

/// A running tmux server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The path of its socket.
    pub socket: String,
    /// The time by which the calling process must be done.
    pub(crate) deadline: Option<Deadline>,
    /// Time limit for one call of tmux.
    pub(crate) limit: Duration,
}

impl Server {
    /// Returns the server that `$TMUX` names; `None` outside tmux.
    pub fn of(env: &Env) -> Option<Self> {
        let socket = tmux_socket(env.tmux.as_deref()?)?;
        Some(Self { socket: socket.to_owned(), deadline: None, limit: waiting_times::TMUX_IN_HOOK })
    }

    /// Returns the server with a socket, for a process that no hook waits for.
    pub fn at(socket: &str) -> Self {
        Self { socket: socket.to_owned(), deadline: None, limit: waiting_times::TMUX }
    }

    /// Returns the same server with a longer time limit per call, for commands that no hook waits for.
    pub fn patient(self) -> Self {
        Self { limit: waiting_times::TMUX, ..self }
    }

    /// Returns the same server with another time limit per call.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the same server, whose calls together take no longer than one may.
    pub(crate) fn for_once(&self) -> Self {
        Self { deadline: Some(Deadline::after(self.time_limit())), ..self.clone() }
    }

    /// Runs commands in order up to the first that fails, and returns their output. Each is a list of words.
    pub fn run(&self, commands: &[Vec<String>]) -> Result<String, Error> {
        self.start(commands)?.output()
    }

    /// Starts to run commands, as [`Server::run`] does.
    fn start(&self, commands: &[Vec<String>]) -> Result<Started, Error> {
        process::start(&self.step(commands), self.time_limit())
    }

    /// Returns how long the next call of tmux may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.deadline.map_or(self.limit, |deadline| self.limit.min(deadline.left()))
    }

    fn step(&self, commands: &[Vec<String>]) -> TerminalCommand {
        // -u: without it, tmux replaces all characters that are not ASCII if the locale of the hook is not UTF-8.
        let mut argv: Vec<String> = ["tmux", "-u", "-S", &self.socket].map(str::to_owned).to_vec();
        for (at, command) in commands.iter().enumerate() {
            argv.extend((at > 0).then(|| ";".to_owned()));
            argv.extend(command.iter().map(|argument| protect_semicolon(argument)));
        }
        TerminalCommand { argv, stdin: None }
    }

    /// Returns the global values of options; an option that is not set is empty.
    pub fn globals(&self, names: &[&str]) -> Result<Vec<String>, Error> {
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

/// Returns the words of a command, for [`Server::run`].
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests;
