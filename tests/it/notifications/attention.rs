//! A user who looks at the pane, or types there, gets no notification.

use serde_json::json;

use super::terminal::{Terminal, block_in};
use super::{Stage, now_ms, result};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Outcome;
use crate::tmux::{Pane, Tmux};

const BLOCKED: &str = r#"{"blocked": ["command"], "command": ["COMMAND"]}"#;
const LOOKING: &str = "you were looking at the pane";

/// Starts a server whose active pane is shown in a terminal. Drop the terminal first.
fn attached(stage: &Stage, focus_events: &str) -> (Tmux, Pane, Terminal) {
    let tmux = Tmux::start(&stage.sandbox);
    tmux.run(&["set", "-g", "focus-events", focus_events]);
    let pane = tmux.pane(&["cat"], &[]);
    tmux.run(&["select-window", "-t", &pane.0]);
    let terminal = Terminal::attach(&stage.sandbox, "xterm-256color", &tmux);
    (tmux, pane, terminal)
}

#[test]
fn the_active_pane_is_silent_and_another_is_not() {
    let stage = Stage::new(BLOCKED);
    let tmux = Tmux::start(&stage.sandbox);
    let (seen, hidden) = (tmux.pane(&["cat"], &[]), tmux.pane(&["cat"], &[]));
    tmux.run(&["select-window", "-t", &seen.0]);
    let terminal = Terminal::attach(&stage.sandbox, "xterm-256color", &tmux);
    block_in(&stage, &tmux, &seen, "s1");
    assert_eq!(stage.results(1), [result("command", "suppressed", LOOKING)]);
    block_in(&stage, &tmux, &hidden, "s2");
    assert_eq!(stage.results(2)[1], result("command", "sent", ""));
    drop((terminal, tmux));
}

#[test]
fn a_terminal_without_the_focus_does_not_count() {
    let stage = Stage::new(BLOCKED);
    let (tmux, pane, mut terminal) = attached(&stage, "on");
    let focused = || tmux.run(&["list-clients", "-F", "#{client_flags}"]).contains("focused");
    wait_until(DEADLINE, "the focus", focused);
    block_in(&stage, &tmux, &pane, "s1");
    assert_eq!(stage.results(1), [result("command", "suppressed", LOOKING)]);
    terminal.press(b"\x1b[O");
    wait_until(DEADLINE, "the focus to be lost", || !focused());
    block_in(&stage, &tmux, &pane, "s2");
    assert_eq!(stage.results(2)[1], result("command", "sent", ""));
    drop((terminal, tmux));
}

#[test]
fn a_key_in_the_pane_shows_that_the_user_is_there() {
    let stage = Stage::new(BLOCKED);
    let (tmux, pane, mut terminal) = attached(&stage, "on");
    terminal.press(b"\x1b[O");
    let is_focused = || tmux.run(&["list-clients", "-F", "#{client_flags}"]).contains("focused");
    wait_until(DEADLINE, "the focus to be lost", || !is_focused());
    block_in(&stage, &tmux, &pane, "s1");
    // tmux counts in seconds: a key in the next one is certainly later.
    let asked = now_ms() / 1000;
    let active = || tmux.run(&["list-clients", "-F", "#{client_activity}"]).parse::<u64>().unwrap();
    wait_until(DEADLINE, "a key in a later second", || {
        terminal.press(b"x");
        active() > asked
    });
    assert_eq!(stage.results(1), [result("command", "suppressed", "you have typed in the pane since")]);
    drop((terminal, tmux));
}

#[test]
fn goto_brings_the_pane_from_outside_of_tmux() {
    let stage = Stage::new("{}");
    let tmux = Tmux::start(&stage.sandbox);
    let pane = tmux.pane(&["cat"], &[]);
    block_in(&stage, &tmux, &pane, "session-1");
    let alone = stage.sandbox.longhaul(&["goto", "session-1"]);
    assert!(alone.status == Some(1) && alone.stderr.contains("no client is attached"), "{alone:?}");
    let terminal = Terminal::attach(&stage.sandbox, "xterm-256color", &tmux);
    let shown = || tmux.run(&["list-clients", "-F", "#{pane_id}"]);
    assert_ne!(shown(), pane.0);
    let went = stage.sandbox.longhaul(&["goto", "session"]);
    assert_eq!((went.status, went.stderr.as_str()), (Some(0), ""));
    wait_until(DEADLINE, "the pane", || shown() == pane.0);
    // By its number, as `longhaul send`.
    assert_eq!(stage.sandbox.longhaul(&["status", "--json"]).json()[0]["number"], 1);
    assert_eq!(stage.sandbox.longhaul(&["goto", "1"]).status, Some(0));
    let wrong = stage.sandbox.longhaul(&["goto", "other"]);
    assert!(
        wrong.status == Some(1) && wrong.stderr.contains("no session has an id that begins with \"other\""),
        "{wrong:?}"
    );
    drop((terminal, tmux));
}

#[test]
fn a_user_with_a_draft_in_the_input_is_there_also_outside_of_tmux() {
    let stage = Stage::new(r#"{"completed": ["command"], "min_seconds": 0, "command": ["COMMAND"]}"#);
    let end_turn = |session: &str, is_empty: bool| {
        stage.fire(session, "UserPromptSubmit", json!({ "prompt": "go on" }));
        stage.fire(session, "Stop", json!({ "background_tasks": [] }));
        let report = json!({ "plugin": "longhaul", "session": session, "reason": "answer", "draft_empty": is_empty });
        let mut bridge = stage.sandbox.executable("longhaul");
        assert_eq!(Outcome::of(bridge.args(["bridge", "turn"]), report.to_string().as_bytes()).status, Some(0));
    };
    end_turn("s1", false);
    assert_eq!(stage.results(1), [result("command", "suppressed", "you have typed in the pane since")]);
    end_turn("s1", true);
    assert_eq!(stage.results(2)[1], result("command", "sent", ""));
}
