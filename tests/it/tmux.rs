//! A real tmux server for one test.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::sandbox::{Outcome, Sandbox, tool};

/// A private server with a socket in the sandbox; killed when dropped.
pub(crate) struct Tmux {
    socket: PathBuf,
    environment: Vec<(String, String)>,
    directory: PathBuf,
    pid: String,
}

/// One pane, by its id (`%3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pane(pub(crate) String);

impl Tmux {
    /// Starts a server with one session, `main`, of 120 × 40.
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let mut tmux = Self {
            socket: sandbox.path("tmux"),
            environment: sandbox.variables().to_vec(),
            directory: sandbox.project(),
            pid: String::new(),
        };
        tmux.run(&["new-session", "-d", "-s", "main", "-x", "120", "-y", "40", "sleep", "3600"]);
        tmux.pid = tmux.run(&["display-message", "-p", "#{pid}"]);
        tmux
    }

    /// Runs a program in a new window's only pane, with `variables` added to the sandbox's.
    pub(crate) fn pane(&self, program: &[&str], variables: &[(String, String)]) -> Pane {
        let assignments: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut args = vec!["new-window", "-d", "-t", "main:", "-P", "-F", "#{pane_id}"];
        for assignment in &assignments {
            args.extend(["-e", assignment]);
        }
        // tmux would hand a single word to a shell; `env` keeps the process below the pane the program itself.
        args.push("env");
        args.extend(program);
        Pane(self.run(&args))
    }

    /// Returns the pane's screen as text.
    pub(crate) fn capture(&self, pane: &Pane) -> String {
        self.run(&["capture-pane", "-p", "-t", &pane.0])
    }

    /// Returns the pane's screen with its colours.
    pub(crate) fn capture_colours(&self, pane: &Pane) -> String {
        self.run(&["capture-pane", "-p", "-e", "-t", &pane.0])
    }

    /// Presses keys by tmux's names for them, as `Enter` and `C-s`.
    pub(crate) fn send_keys(&self, pane: &Pane, keys: &[&str]) {
        let mut args = vec!["send-keys", "-t", &pane.0];
        args.extend(keys);
        self.run(&args);
    }

    /// Types `text` literally.
    pub(crate) fn type_text(&self, pane: &Pane, text: &str) {
        self.run(&["send-keys", "-t", &pane.0, "-l", "--", text]);
    }

    /// Pastes `text` in brackets, as a terminal does.
    pub(crate) fn paste(&self, pane: &Pane, text: &str) {
        self.run(&["set-buffer", "-b", "test", "--", text]);
        self.run(&["paste-buffer", "-p", "-d", "-b", "test", "-t", &pane.0]);
    }

    /// Returns what `format` (`#{pane_in_mode}`) says of the pane.
    pub(crate) fn format(&self, pane: &Pane, format: &str) -> String {
        self.run(&["display-message", "-p", "-t", &pane.0, format])
    }

    /// Returns the path of the server's socket.
    pub(crate) fn socket(&self) -> &PathBuf {
        &self.socket
    }

    /// Returns the value of `TMUX` inside the server.
    pub(crate) fn variable(&self) -> String {
        format!("{},{},0", self.socket.display(), self.pid)
    }

    /// Returns the two variables by which a hook knows its pane.
    pub(crate) fn variables(&self, pane: &Pane) -> [(&'static str, String); 2] {
        [("TMUX", self.variable()), ("TMUX_PANE", pane.0.clone())]
    }

    /// Runs any tmux command that must succeed, and returns its output without the last line end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let outcome = Outcome::of(self.command().args(args), b"");
        assert_eq!(outcome.status, Some(0), "tmux {args:?}: {}", outcome.stderr);
        outcome.stdout.strip_suffix('\n').unwrap_or(&outcome.stdout).to_owned()
    }

    /// Runs any tmux command, and returns its output; nothing if the server does not run.
    pub(crate) fn try_run(&self, args: &[&str]) -> String {
        Outcome::of(self.command().args(args), b"").stdout
    }

    fn command(&self) -> Command {
        let mut command = tool("tmux");
        command.envs(self.environment.iter().cloned()).current_dir(&self.directory);
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let is_there = self.socket.parent().is_some_and(Path::exists);
        assert!(is_there || std::thread::panicking(), "a server whose sandbox is gone cannot be ended: drop it before");
        // It may have ended by itself.
        let _ = self.command().arg("kill-server").output();
        // Until it has ended, it accepts clients, and would refuse the session of the next server in this sandbox.
        let deadline = Instant::now() + Duration::from_secs(5);
        while UnixStream::connect(&self.socket).is_ok() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
