//! A tmux server with sessions of the stand-in, which can be killed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, bin_dir};
use crate::standin::StandIn;
use crate::tmux::Tmux;

/// A session, its window and the folder in which it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) id: &'static str,
    pub(super) session: &'static str,
    pub(super) index: u32,
    pub(super) name: &'static str,
    pub(super) project: &'static str,
}

/// The tmux server is dropped before the sandbox with its socket.
pub(super) struct Scene {
    pub(super) tmux: Tmux,
    pub(super) sandbox: Sandbox,
    clients: Vec<u32>,
}

impl Scene {
    /// Starts a tmux server, in which `claude` is the stand-in.
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new();
        for folder in ["bin", "sockets"] {
            fs::create_dir(sandbox.path(folder)).unwrap();
        }
        symlink(bin_dir().join("examples/standin"), sandbox.path("bin/claude")).unwrap();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let (bin, sockets, log) = (sandbox.path("bin"), sandbox.path("sockets"), sandbox.path("standin.log"));
        let sandbox = sandbox
            .with_programs(&bin)
            .with_env("STANDIN_BIN_DIR", text(bin_dir()))
            .with_env("STANDIN_RECORD", "1")
            .with_env("STANDIN_SOCKETS", text(sockets))
            .with_env("STANDIN_LOG", text(log))
            // How much memory is free on the machine that runs the tests must not decide.
            .with_env("LONGHAUL_MEMORY_MB", "0");
        Self { tmux: Tmux::start(&sandbox), sandbox, clients: Vec::new() }
    }

    /// Makes `claude` a program that takes three seconds to start.
    pub(super) fn slow_client(&self) {
        self.write_client("sleep 3");
    }

    /// Makes `claude` a program that starts when a file exists. Returns its path and that of the file.
    pub(super) fn held_client(&self) -> [PathBuf; 2] {
        let release = self.sandbox.path("release");
        let client = self.write_client(&format!("while [ ! -e {} ]; do sleep 0.05; done", release.display()));
        [client, release]
    }

    /// Makes `claude` a script that runs a command before the stand-in.
    fn write_client(&self, first: &str) -> PathBuf {
        let client = self.sandbox.path("bin/claude");
        fs::remove_file(&client).unwrap();
        let standin = bin_dir().join("examples/standin");
        fs::write(&client, format!("#!/bin/sh\n{first}\nexec {} \"$@\"\n", standin.display())).unwrap();
        fs::set_permissions(&client, Permissions::from_mode(0o755)).unwrap();
        client
    }

    /// Starts a session in its window, with one prompt that was answered.
    pub(super) fn start(&mut self, spot: &Spot) -> StandIn {
        let folder = self.folder(spot);
        fs::create_dir_all(&folder).unwrap();
        self.start_in(spot, folder.to_str().unwrap())
    }

    /// As `start`, in a folder that tmux expands as a format.
    pub(super) fn start_in(&mut self, spot: &Spot, folder: &str) -> StandIn {
        let sessions = self.tmux.run(&["list-sessions", "-F", "#{session_name}"]);
        let window = format!("={}:{}", spot.session, spot.index);
        let id = format!("STANDIN_SESSION={}", spot.id);
        // A semicolon at the end would end the command.
        let escaped = spot.name.replace('#', "##").replace(';', "\\;");
        let program = ["env", "claude"];
        if sessions.lines().any(|name| name == spot.session) {
            let words = ["new-window", "-d", "-t", &window, "-n", &escaped, "-c", folder, "-e", &id];
            self.tmux.run(&[&words[..], &program].concat());
        } else {
            let words = ["new-session", "-d", "-s", spot.session, "-n", &escaped, "-c", folder, "-e", &id];
            self.tmux.run(&[&words[..], &program].concat());
            if spot.index != 0 {
                self.tmux.run(&["move-window", "-s", &format!("={}:0", spot.session), "-t", &window]);
            }
        }
        let client = self.resumed(spot.id);
        client.keep_transcript();
        client.session_start("startup");
        client.replies(["done"]);
        client.submit(&format!("work on {}", spot.name));
        let state = client.wait_for_state("the first turn", |state| state.stops == 1);
        self.clients.push(state.pid);
        client
    }

    /// Returns the folder of a session.
    pub(super) fn folder(&self, spot: &Spot) -> PathBuf {
        self.sandbox.path("projects").join(spot.project)
    }

    /// Returns the client that shows `session` now.
    pub(super) fn resumed(&self, session: &str) -> StandIn {
        StandIn::resumed(&self.sandbox.path("sockets"), session)
    }

    /// Kills the server as a crash does, and waits until its clients are gone.
    pub(super) fn kill_server(&mut self) {
        let pid: i32 = self.tmux.run(&["display-message", "-p", "#{pid}"]).parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        let is_gone = |pid: &u32| test_kill_process(Pid::from_raw(*pid as i32).unwrap()).is_err();
        wait_until(DEADLINE, "the end of the clients", || self.clients.iter().all(is_gone));
        self.clients.clear();
    }

    /// Returns the windows with clients: session, index, name and project.
    pub(super) fn windows(&self) -> Vec<String> {
        let format = "#{session_name}:#{window_index} #{window_name} #{b:pane_current_path}";
        let listing = self.tmux.run(&["list-windows", "-a", "-F", format]);
        listing.lines().filter(|line| !line.starts_with("main:")).map(str::to_owned).collect()
    }

    /// Returns what the stand-ins wrote when they were started.
    pub(super) fn started(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sandbox.path("standin.log")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == "started").collect()
    }

    /// Returns the transcript of a session.
    pub(super) fn transcript(&self, spot: &Spot) -> String {
        fs::read_to_string(self.transcript_path(spot)).unwrap()
    }

    /// Returns the path of the transcript of a session.
    pub(super) fn transcript_path(&self, spot: &Spot) -> PathBuf {
        let folder = self.folder(spot).canonicalize().unwrap();
        let project = folder.to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        self.sandbox.home().join(".claude/projects").join(project).join(format!("{}.jsonl", spot.id))
    }

    /// Runs `longhaul` outside tmux.
    pub(super) fn longhaul(&self, arguments: &[&str]) -> Outcome {
        self.sandbox.longhaul(arguments)
    }

    /// Runs `longhaul` as inside a server with a socket.
    pub(super) fn longhaul_in(&self, socket: &Path, arguments: &[&str]) -> Outcome {
        let variable = format!("{},1,0", socket.display());
        Outcome::of(self.sandbox.executable("longhaul").args(arguments).env("TMUX", variable), b"")
    }

    /// Runs `longhaul` inside the server.
    pub(super) fn longhaul_inside(&self, arguments: &[&str]) -> Outcome {
        let variable = self.tmux.run(&["display-message", "-p", "#{socket_path},#{pid},0"]);
        Outcome::of(self.sandbox.executable("longhaul").args(arguments).env("TMUX", variable), b"")
    }
}
