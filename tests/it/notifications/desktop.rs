//! notify-send, with a real D-Bus session and a real notification daemon (dunst) on a virtual display.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::terminal::{Terminal, block_in};
use super::{PATIENCE, Stage, result};
use crate::poll::{wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox};
use crate::tmux::Tmux;

const PROGRAMS: [&str; 4] = ["Xvfb", "dunst", "notify-send", "dbus-run-session"];

/// A display, a bus and a daemon. They end when this is dropped.
struct Desktop {
    x_server: Child,
    session: Child,
    display: String,
    bus: String,
}

impl Desktop {
    /// Starts a desktop; `None` if a program for it is not installed.
    fn start(sandbox: &Sandbox) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |name: &&str| std::env::split_paths(&path).any(|dir| dir.join(name).exists());
        if !PROGRAMS.iter().all(is_there) {
            assert!(std::env::var_os("LONGHAUL_REQUIRE_DESKTOP").is_none(), "install {PROGRAMS:?}");
            eprintln!("SKIPPED: a desktop needs {PROGRAMS:?}");
            return None;
        }
        let mut x_server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(x_server.stdout.as_mut().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());
        let (address, shown) = (sandbox.path("bus"), sandbox.path("shown"));
        let script = format!(
            "printf %s \"$DBUS_SESSION_BUS_ADDRESS\" > '{0}.part'; mv '{0}.part' '{0}'; exec dunst -print",
            address.display()
        );
        let session = sandbox
            .program("dbus-run-session")
            .args(["--", "sh", "-c", &script])
            .env("DISPLAY", &display)
            .stdout(File::create(&shown).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let bus = wait_for(PATIENCE, "the bus", || fs::read_to_string(&address).ok());
        let desktop = Self { x_server, session, display, bus };
        // It answers as soon as it runs.
        wait_until(PATIENCE, "dunst", || Outcome::of(&mut desktop.dunstctl(sandbox, "count"), b"").status == Some(0));
        Some(desktop)
    }

    fn dunstctl(&self, sandbox: &Sandbox, what: &str) -> Command {
        let mut command = sandbox.program("dunstctl");
        command.arg(what).env("DBUS_SESSION_BUS_ADDRESS", &self.bus).env("DISPLAY", &self.display);
        command
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in [&mut self.session, &mut self.x_server] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn the_desktop_shows_texts_without_markup_and_a_click_brings_the_pane() {
    let stage = Stage::new(r#"{"blocked": {"ways": ["desktop"]}}"#);
    let Some(desktop) = Desktop::start(&stage.sandbox) else { return };
    let sandbox =
        stage.sandbox.with_env("DISPLAY", &desktop.display).with_env("DBUS_SESSION_BUS_ADDRESS", &desktop.bus);
    let stage = Stage { sandbox };
    let tmux = Tmux::start(&stage.sandbox);
    let terminal = Terminal::attach(&stage.sandbox, "xterm-256color", &tmux);
    let pane = tmux.pane(&["cat"], &[]);
    block_in(&stage, &tmux, &pane, "s1");
    assert_eq!(stage.results(1), [result("desktop", "sent", "")]);
    let shown = || fs::read_to_string(stage.sandbox.path("shown")).unwrap_or_default();
    wait_until(PATIENCE, "the notification", || shown().contains("project waits for you"));
    assert!(shown().contains("wants to run: cargo publish, after 0s"), "{}", shown());
    let active = || tmux.run(&["list-clients", "-F", "#{pane_id}"]);
    assert_ne!(active(), pane.0);
    assert_eq!(Outcome::of(&mut desktop.dunstctl(&stage.sandbox, "action"), b"").status, Some(0));
    wait_until(PATIENCE, "the pane", || active() == pane.0);
    drop((terminal, tmux));
    // Outside tmux there is no pane to go to. The text is neither markup nor an option.
    stage.block("s2", "a && b > c <b>bold</b> --help");
    assert_eq!(stage.results(2)[1], result("desktop", "sent", ""));
    let text = "wants to run: a &amp;&amp; b &gt; c &lt;b&gt;bold&lt;/b&gt; --help";
    wait_until(PATIENCE, "the other notification", || shown().contains(text));
}
