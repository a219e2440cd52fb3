//! notify-send, with a real D-Bus session and a real notification daemon (dunst) on a virtual display.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::terminal::{Terminal, block_in};
use super::{PATIENCE, Stage, result};
use crate::poll::{becomes_true, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox, programs};
use crate::tmux::Tmux;

const PROGRAMS: [&str; 5] = ["Xvfb", "dunst", "notify-send", "dbus-run-session", "dbus-send"];

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
        if !PROGRAMS.iter().all(|name| programs().join(name).exists()) {
            assert!(std::env::var_os("LONGHAUL_REQUIRE_DESKTOP").is_none(), "install {PROGRAMS:?}");
            eprintln!("SKIPPED: a desktop needs {PROGRAMS:?}");
            return None;
        }
        let mut x_server = sandbox
            .program("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(x_server.stdout.as_mut().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());
        let (address, shown) = (sandbox.path("bus"), sandbox.path("shown"));
        // The bus itself is asked for the daemon: a call to the daemon would make the bus start a second one.
        let script = format!(
            "dunst -print & \
             until dbus-send --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner \
                 string:org.freedesktop.Notifications | grep -q true; do sleep 0.05; done; \
             printf %s \"$DBUS_SESSION_BUS_ADDRESS\" > '{0}.part'; mv '{0}.part' '{0}'; wait",
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
        Some(Self { x_server, session, display, bus })
    }

    fn dunstctl(&self, sandbox: &Sandbox, what: &str) -> Command {
        let mut command = sandbox.program("dunstctl");
        command.arg(what).env("DBUS_SESSION_BUS_ADDRESS", &self.bus).env("DISPLAY", &self.display);
        command
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        // Without its display the daemon ends, and with it the bus.
        let _ = self.x_server.kill();
        let _ = self.x_server.wait();
        if !becomes_true(PATIENCE, || self.session.try_wait().is_ok_and(|ended| ended.is_some())) {
            let _ = self.session.kill();
            let _ = self.session.wait();
        }
    }
}

#[test]
fn the_desktop_shows_texts_without_markup_and_a_click_brings_the_pane() {
    let stage = Stage::new(r#"{"blocked": ["desktop"]}"#);
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
    // The action is added to the notification after it was shown.
    wait_until(PATIENCE, "the pane", || {
        assert_eq!(Outcome::of(&mut desktop.dunstctl(&stage.sandbox, "action"), b"").status, Some(0));
        active() == pane.0
    });
    drop((terminal, tmux));
    // Outside tmux there is no pane to go to. The text is neither markup nor an option.
    stage.block("s2", "a && b > c <b>bold</b> --help");
    assert_eq!(stage.results(2)[1], result("desktop", "sent", ""));
    let text = "wants to run: a &amp;&amp; b &gt; c &lt;b&gt;bold&lt;/b&gt; --help";
    wait_until(PATIENCE, "the other notification", || shown().contains(text));
}
