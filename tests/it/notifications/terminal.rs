//! A terminal with a tmux client in it: a pty whose output is recorded.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::json;

use super::{PATIENCE, Stage, result};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;
use crate::tmux::{Pane, Tmux};

/// A program in a pty of its own.
pub(super) struct Terminal {
    child: Child,
    output: PathBuf,
}

impl Terminal {
    /// Runs a program with arguments that need no quoting.
    pub(super) fn run(sandbox: &Sandbox, term: &str, name: &str, program: &[&str]) -> Self {
        let output = sandbox.path(name);
        let mut command = sandbox.program("script");
        command.env("TERM", term).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        if cfg!(target_os = "macos") {
            command.arg("-qF").arg(&output).args(program);
        } else {
            command.args(["-q", "-f", "-c", &program.join(" ")]).arg(&output);
        }
        Self { child: command.spawn().unwrap(), output }
    }

    /// Attaches a client to a server.
    pub(super) fn attach(sandbox: &Sandbox, term: &str, tmux: &Tmux) -> Self {
        let socket = tmux.socket().to_str().unwrap();
        let terminal = Self::run(sandbox, term, "typescript", &["tmux", "-u", "-S", socket, "attach", "-t", "main"]);
        wait_until(DEADLINE, "the client", || !tmux.run(&["list-clients"]).is_empty());
        terminal
    }

    /// Returns everything that was written to the terminal.
    pub(super) fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }

    /// Sends bytes as the keyboard does.
    pub(super) fn press(&mut self, bytes: &[u8]) {
        let keyboard = self.child.stdin.as_mut().unwrap();
        keyboard.write_all(bytes).and_then(|()| keyboard.flush()).unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a session in a pane ask for permission.
#[track_caller]
pub(super) fn block_in(stage: &Stage, tmux: &Tmux, pane: &Pane, session: &str) {
    let variables = tmux.variables(pane);
    stage.fire_with(session, "UserPromptSubmit", json!({ "prompt": "go on" }), &variables);
    let asks = json!({ "tool_name": "Bash", "tool_input": { "command": "cargo publish" } });
    stage.fire_with(session, "PermissionRequest", asks, &variables);
}

#[test]
fn the_terminal_of_the_client_gets_the_sequence_also_for_a_pane_that_is_not_visible() {
    for (term, expected) in [
        ("xterm-256color", "\u{1b}]9;project waits for you: wants to run: cargo publish, after 0s\u{7}\u{7}"),
        ("rxvt", "\u{1b}]777;notify;project waits for you;wants to run: cargo publish, after 0s\u{7}\u{7}"),
    ] {
        let stage = Stage::new(r#"{"blocked": ["terminal"]}"#);
        let tmux = Tmux::start(&stage.sandbox);
        let terminal = Terminal::attach(&stage.sandbox, term, &tmux);
        let pane = tmux.pane(&["cat"], &[]);
        block_in(&stage, &tmux, &pane, "s1");
        assert_eq!(stage.results(1), [result("terminal", "sent", "")]);
        wait_until(PATIENCE, "the sequence", || terminal.output().contains(expected));
        drop(terminal);
        drop(tmux);
    }
}

#[test]
fn a_tmux_around_the_client_passes_the_sequence_on() {
    let stage = Stage::new(r#"{"blocked": ["terminal"]}"#);
    let outside = Sandbox::new();
    let around = Tmux::start(&outside);
    around.run(&["set", "-g", "allow-passthrough", "on"]);
    let terminal = Terminal::attach(&outside, "xterm-256color", &around);
    let tmux = Tmux::start(&stage.sandbox);
    let socket = tmux.socket().to_str().unwrap().to_owned();
    let inner = around.pane(&["-u", "TMUX", "tmux", "-u", "-S", &socket, "attach", "-t", "main"], &[]);
    around.run(&["select-window", "-t", &inner.0]);
    wait_until(DEADLINE, "the client", || !tmux.run(&["list-clients"]).is_empty());
    let pane = tmux.pane(&["cat"], &[]);
    block_in(&stage, &tmux, &pane, "s1");
    assert_eq!(stage.results(1), [result("terminal", "sent", "")]);
    let expected = "\u{1b}]9;project waits for you: wants to run: cargo publish, after 0s\u{7}";
    wait_until(PATIENCE, "the sequence", || terminal.output().contains(expected));
    drop((terminal, around, tmux));
}

#[test]
fn without_a_terminal_the_way_fails() {
    let stage = Stage::new(r#"{"blocked": ["terminal"]}"#);
    let tmux = Tmux::start(&stage.sandbox);
    let pane = tmux.pane(&["cat"], &[]);
    block_in(&stage, &tmux, &pane, "s1");
    assert_eq!(stage.results(1), [result("terminal", "failed", "no terminal shows the session")]);
    drop(tmux);
}
