//! A tmux server that starts with what `longhaul install` writes into tmux.conf.
//!
//! `LONGHAUL_TEST_STARTS=200` starts that many servers of each kind instead of a few.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use longhaul_setup::tmux;

use crate::poll::{DEADLINE, becomes_true};
use crate::sandbox::{Outcome, Sandbox, bin_dir};
use crate::tmux::Tmux;

/// How a server is started.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// By `tmux new-session -d`.
    Detached,
    /// By `tmux new-session` in a terminal.
    Attached,
}

/// A home with the program in `~/.local/bin`, and a server that is not started yet.
struct Starter {
    sandbox: Sandbox,
}

impl Starter {
    /// Makes one whose tmux.conf has exactly this in it.
    fn new(conf: &str) -> Self {
        let sandbox = Sandbox::new().with_env("TERM", "screen");
        fs::write(sandbox.home().join(".tmux.conf"), conf).unwrap();
        let starter = Self { sandbox };
        fs::create_dir_all(starter.program().parent().unwrap()).unwrap();
        starter.install();
        starter
    }

    fn install(&self) {
        symlink(bin_dir().join("longhaul"), self.program()).unwrap();
    }

    fn program(&self) -> PathBuf {
        self.sandbox.home().join(".local/bin/longhaul")
    }

    fn socket(&self) -> PathBuf {
        self.sandbox.path("started")
    }

    /// Returns a tmux command for the server. Its tmux.conf is found as for any user: in the home.
    fn tmux(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.program("tmux");
        command.arg("-S").arg(self.socket()).args(args);
        command
    }

    /// Returns what a tmux command prints, empty where it fails.
    fn ask(&self, args: &[&str]) -> String {
        Outcome::of(&mut self.tmux(args), b"").stdout.trim_end().to_owned()
    }

    /// Starts the server; `terminal` is where an attached client runs.
    fn start(&self, start: Start, terminal: &Tmux) {
        match start {
            Start::Detached => {
                let started = Outcome::of(&mut self.tmux(&["new-session", "-d", "-s", "s", "sleep", "3600"]), b"");
                assert_eq!(started.status, Some(0), "{started:?}");
            }
            Start::Attached => {
                let socket = self.socket().to_str().unwrap().to_owned();
                let client = ["-u", "TMUX", "tmux", "-S", &socket, "new-session", "-s", "s", "sleep", "3600"];
                terminal.pane(&client, self.sandbox.variables());
            }
        }
    }

    /// Starts the server, waits until it is set up, and ends it; returns what is missing where it is not.
    fn try_once(&self, start: Start, terminal: &Tmux) -> Result<(), String> {
        self.start(start, terminal);
        let mut missing = Vec::new();
        let is_set_up = becomes_true(DEADLINE, || {
            missing = self.missing();
            missing.is_empty()
        });
        self.ask(&["kill-server"]);
        becomes_true(DEADLINE, || self.ask(&["list-sessions"]).is_empty());
        let _ = fs::remove_file(self.socket());
        if is_set_up { Ok(()) } else { Err(format!("{missing:?}; {}", self.sandbox.error_log())) }
    }

    /// Returns what setup has not put in place.
    fn missing(&self) -> Vec<&'static str> {
        let right = self.ask(&["show-options", "-gv", "status-right"]);
        let is_there = [
            ("session", !self.ask(&["list-sessions"]).is_empty()),
            ("counts", right.starts_with("#{@longhaul-status}#(#{@longhaul-command} tmux refresh)")),
            ("status", self.ask(&["show-options", "-gv", "@longhaul-status"]).contains("0!")),
            ("command", self.ask(&["show-options", "-gv", "@longhaul-command"]).contains(".local/bin/longhaul")),
            ("key", self.ask(&["list-keys", "-T", "prefix", "a"]).contains("tmux menu")),
            ("hooks", self.ask(&["show-hooks", "-g"]).contains("session-window-changed[7390]")),
            ("no problem", self.ask(&["show-options", "-gqv", "@longhaul-problem"]).is_empty()),
        ];
        is_there.into_iter().filter(|(_, is_there)| !is_there).map(|(what, _)| what).collect()
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

fn starts() -> usize {
    std::env::var("LONGHAUL_TEST_STARTS").ok().and_then(|count| count.parse().ok()).unwrap_or(4)
}

/// Checks that every one of some starts sets the server up.
#[track_caller]
fn every_start_works(conf: &str, start: Start) {
    let outside = Sandbox::new();
    let terminal = Tmux::start(&outside);
    let starter = Starter::new(conf);
    let count = starts();
    let failures: Vec<String> = (0..count).filter_map(|_| starter.try_once(start, &terminal).err()).collect();
    eprintln!("{start:?}: {} of {count} starts set up", count - failures.len());
    assert!(failures.is_empty(), "{} of {count} failed: {}", failures.len(), failures[0]);
    // A refresh may run while its server is ended.
    assert!(!starter.sandbox.error_log().contains("tmux setup"), "{}", starter.sandbox.error_log());
}

fn installed() -> String {
    tmux::with_line(None).unwrap()
}

fn entry_point() -> String {
    let entry = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longhaul.tmux").canonicalize().unwrap();
    format!("run-shell '{}'\n", entry.display())
}

#[test]
fn a_detached_start_is_set_up_by_the_installed_line() {
    every_start_works(&installed(), Start::Detached);
}

#[test]
fn an_attached_start_is_set_up_by_the_installed_line() {
    every_start_works(&installed(), Start::Attached);
}

#[test]
fn the_line_of_the_version_before_and_the_entry_point_work_too() {
    let older = "run-shell '~/.local/bin/longhaul tmux setup' # by longhaul install\n";
    let outside = Sandbox::new();
    let terminal = Tmux::start(&outside);
    for conf in [older, "run-shell -b '~/.local/bin/longhaul tmux setup'\n", &entry_point()] {
        for start in [Start::Detached, Start::Attached] {
            let starter = Starter::new(conf);
            assert_eq!(starter.try_once(start, &terminal), Ok(()), "{conf} {start:?}");
        }
    }
}

#[test]
fn a_program_that_is_missing_is_shown_in_the_status_line_until_it_is_back() {
    let outside = Sandbox::new();
    let terminal = Tmux::start(&outside);
    let starter = Starter::new(&installed());
    fs::remove_file(starter.program()).unwrap();
    starter.start(Start::Detached, &terminal);
    let right = || starter.ask(&["show-options", "-gv", "status-right"]);
    assert!(right().starts_with("#[reverse]longhaul is not set up: longhaul doctor#[default] "), "{}", right());
    let conf = starter.sandbox.home().join(".tmux.conf");
    starter.ask(&["source-file", conf.to_str().unwrap()]);
    assert_eq!(right().matches("not set up").count(), 1, "{}", right());
    starter.install();
    starter.ask(&["source-file", conf.to_str().unwrap()]);
    assert_eq!(starter.missing(), [""; 0]);
    assert!(!right().contains("not set up"), "{}", right());
}

#[test]
fn a_setup_that_fails_is_shown_in_the_status_line_and_found_by_the_doctor() {
    let outside = Sandbox::new();
    let terminal = Tmux::start(&outside);
    let starter = Starter::new(&format!("set -g @longhaul-key no-such-key\n{}", installed()));
    starter.start(Start::Detached, &terminal);
    let right = || starter.ask(&["show-options", "-gv", "status-right"]);
    let is_shown = becomes_true(DEADLINE, || right().contains("longhaul is not set up"));
    assert!(is_shown, "{}\n{}", right(), starter.sandbox.error_log());
    let problem = starter.ask(&["show-options", "-gv", "@longhaul-problem"]);
    assert!(problem.contains("no-such-key"), "{problem}");
    assert!(starter.sandbox.error_log().contains("tmux setup: "), "{}", starter.sandbox.error_log());
    let variable = starter.ask(&["display-message", "-p", "#{socket_path},#{pid},0"]);
    let doctor = || {
        let mut command = starter.sandbox.program(starter.program());
        let found = Outcome::of(command.args(["doctor", "--json"]).env("TMUX", &variable), b"").json();
        let tmux = found.as_array().unwrap().iter().filter(|one| one["check"] == "tmux");
        tmux.map(|one| format!("{}: {}", one["level"].as_str().unwrap(), one["what"].as_str().unwrap())).collect()
    };
    let found: Vec<String> = doctor();
    assert!(found[0].starts_with("broken: the server could not be set up: "), "{found:?}");
    starter.ask(&["set-option", "-g", "@longhaul-key", "a"]);
    let mut setup = starter.sandbox.program(starter.program());
    let again = Outcome::of(setup.args(["tmux", "setup"]).env("TMUX", &variable), b"");
    assert_eq!((again.status, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(starter.missing(), [""; 0]);
    assert!(!right().contains("not set up"), "{}", right());
    assert_eq!(doctor(), ["ok: the server shows the sessions"]);
    // The line is there, and the server knows nothing of it.
    let mut teardown = starter.sandbox.program(starter.program());
    Outcome::of(teardown.args(["tmux", "teardown"]).env("TMUX", &variable), b"");
    assert!(doctor()[0].starts_with("broken: tmux.conf has the line, but this server is not set up"), "{:?}", doctor());
}
