//! A tmux server with an attached client, so that there is a screen to read.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, becomes_true, wait_until};
use crate::sandbox::{Outcome, Sandbox, bin_dir, part_of_payload, payload};
use crate::tmux::{Pane, Tmux};

/// The time at which everything happens, unless a command is run at another.
pub(crate) const NOW_MS: u64 = 1_794_707_999_000;

/// A server, and a client of it that runs in a pane of another server.
pub(crate) struct Attached {
    pub(crate) tmux: Tmux,
    pub(crate) sandbox: Sandbox,
    screen: Pane,
    around: Tmux,
    _outside: Sandbox,
}

impl Attached {
    /// Attaches a client of 120 × 39 to a new server.
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new().at(NOW_MS).with_programs(&bin_dir()).with_env("TZ", "UTC");
        let tmux = Tmux::start(&sandbox);
        let outside = Sandbox::new();
        let around = Tmux::start(&outside);
        let screen = attach(&around, &tmux);
        wait_until(DEADLINE, "the client", || !tmux.run(&["list-clients"]).is_empty());
        Self { tmux, sandbox, screen, around, _outside: outside }
    }

    /// The same, with the tracker set up.
    pub(crate) fn with_setup() -> Self {
        let stage = Self::new();
        stage.longhaul(&["tmux", "setup"]);
        stage
    }

    /// Attaches one more client.
    pub(crate) fn attach(&self) -> Pane {
        attach(&self.around, &self.tmux)
    }

    /// Returns the screen of a further client.
    pub(crate) fn screen_of(&self, client: &Pane) -> String {
        self.around.capture(client)
    }

    /// Returns the client's screen.
    pub(crate) fn screen(&self) -> String {
        self.around.capture(&self.screen)
    }

    /// Waits until the client's screen shows `text`.
    #[track_caller]
    pub(crate) fn wait_for_screen(&self, text: &str) {
        let mut last = String::new();
        let came = becomes_true(DEADLINE, || {
            last = self.screen();
            last.contains(text)
        });
        assert!(came, "waited in vain for {text:?}; the screen is\n{last}\n{}", self.sandbox.error_log());
    }

    /// Waits until the status line begins its right side with these counts.
    #[track_caller]
    pub(crate) fn wait_for_counts(&self, counts: &str) {
        self.wait_for_screen(counts);
    }

    /// Presses keys in the client.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.around.send_keys(&self.screen, keys);
    }

    /// Resizes the client's terminal, and waits until the client has noticed it.
    #[track_caller]
    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let resize = |columns: usize| {
            let (columns, rows) = (columns.to_string(), rows.to_string());
            self.around.run(&["resize-window", "-t", &self.screen.0, "-x", &columns, "-y", &rows]);
        };
        let size = format!("{columns}x{rows}");
        let is_resized = || self.tmux.run(&["list-clients", "-F", "#{client_width}x#{client_height}"]) == size;
        // On a busy machine, tmux misses the signal of a new size now and then.
        let came = (0..10).any(|_| {
            resize(columns + 1);
            resize(columns);
            becomes_true(DEADLINE / 10, is_resized)
        });
        assert!(came, "the client's size is not {size}");
    }

    /// Returns the pane that the client shows.
    pub(crate) fn shown(&self) -> String {
        self.tmux.run(&["list-clients", "-F", "#{pane_id}"]).lines().next().unwrap_or_default().to_owned()
    }

    /// Returns a command for `longhaul` inside the server.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.executable("longhaul");
        command.env("TMUX", self.tmux.variable()).args(args);
        command
    }

    /// Runs `longhaul` inside the server; it must succeed.
    #[track_caller]
    pub(crate) fn longhaul(&self, args: &[&str]) -> String {
        let outcome = Outcome::of(&mut self.command(args), b"");
        assert_eq!(outcome.status, Some(0), "{args:?}: {outcome:?}");
        outcome.stdout
    }

    /// Runs `longhaul tmux refresh`, `seconds` later than everything else, looking for the dead too.
    #[track_caller]
    pub(crate) fn refresh_after(&self, seconds: u64) {
        let _ = std::fs::remove_file(self.sandbox.data_dir().join("reaped"));
        let mut command = self.command(&["tmux", "refresh"]);
        command.env("LONGHAUL_NOW_MS", (NOW_MS + 1000 * seconds).to_string());
        let outcome = Outcome::of(&mut command, b"");
        assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""));
    }

    /// Moves the clock of what tmux runs by itself.
    pub(crate) fn let_pass(&self, seconds: u64) {
        let later = (NOW_MS + 1000 * seconds).to_string();
        self.tmux.run(&["set-environment", "-g", "LONGHAUL_NOW_MS", &later]);
    }

    /// Runs something that process lists show as `claude` in a window of its own.
    pub(crate) fn client(&self) -> Pane {
        let claude = self.sandbox.path("claude");
        if !claude.exists() {
            symlink("/bin/sleep", &claude).unwrap();
        }
        let pane = self.tmux.pane(&[claude.to_str().unwrap(), "3600"], &[]);
        wait_until(DEADLINE, "the client's process", || self.tmux.format(&pane, "#{pane_current_command}") == "claude");
        pane
    }

    /// Runs the hook of an event as the client in `pane` would.
    #[track_caller]
    pub(crate) fn fire(&self, pane: &Pane, session: &str, event: &str, mut changes: Value) {
        let executable = part_of_payload(event);
        changes["session_id"] = json!(session);
        let mut command = self.sandbox.executable(&executable);
        command.envs(self.tmux.variables(pane)).env("LONGHAUL_NOW_MS", NOW_MS.to_string());
        let outcome = Outcome::of(&mut command, payload(event, changes).as_bytes());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert_eq!(self.sandbox.error_log(), "");
    }

    /// Returns each session's id and status, as `longhaul status --json` tells.
    pub(crate) fn statuses(&self) -> Vec<(String, String)> {
        let rows: Value = serde_json::from_str(&self.longhaul(&["status", "--json"])).unwrap();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let mut rows: Vec<_> =
            rows.as_array().unwrap().iter().map(|row| (text(row, "session"), text(row, "status"))).collect();
        rows.sort();
        rows
    }

    /// Waits until a session has this status.
    #[track_caller]
    pub(crate) fn wait_for_status(&self, session: &str, status: &str) {
        let wanted = (session.to_owned(), status.to_owned());
        wait_until(DEADLINE, &format!("{session} to be {status}"), || self.statuses().contains(&wanted));
    }
}

fn attach(around: &Tmux, tmux: &Tmux) -> Pane {
    let socket = tmux.socket().to_str().unwrap().to_owned();
    around.pane(&["-u", "TMUX", "tmux", "-u", "-S", &socket, "attach", "-t", "main"], &[])
}
