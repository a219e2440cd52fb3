//! The stand-in behaves as Claude Code was observed to behave.

use std::fs;

use longhaul_inject::{EditorMode, ScreenState, TmuxPane, TurnSign, UnsafeScreen, parse_inspection, screen_state};
use serde_json::Value;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox};
use crate::standin::{Hooks, Options, StandIn};
use crate::tmux::{Pane, Tmux};

struct Stage {
    standin: StandIn,
    pane: Pane,
    tmux: Tmux,
    sandbox: Sandbox,
}

fn stage() -> Stage {
    stage_with(&Options { hooks: Hooks::None, ..Options::default() })
}

fn stage_with(options: &Options) -> Stage {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let (standin, pane) = StandIn::in_tmux(&sandbox, &tmux, options);
    Stage { standin, pane, tmux, sandbox }
}

impl Stage {
    /// Returns the last `n` lines of the screen, without trailing blanks, rules shortened.
    fn bottom(&self, n: usize) -> Vec<String> {
        let screen = self.tmux.capture(&self.pane);
        let lines: Vec<&str> = screen.lines().collect();
        let rule = "─".repeat(120);
        lines[lines.len() - n..].iter().map(|line| line.trim_end_matches(' ').replace(&rule, "─")).collect()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        wait_until(DEADLINE, text, || self.tmux.capture(&self.pane).contains(text));
    }

    /// Returns what our own reader of screens makes of the pane.
    fn look(&self) -> ScreenState {
        let socket = self.tmux.socket().display().to_string();
        let step = TmuxPane { socket, pane: self.pane.0.clone() }.inspect();
        let outcome = Outcome::of(self.sandbox.program(&step.argv[0]).args(&step.argv[1..]), b"");
        screen_state(&parse_inspection(&outcome.stdout).expect("the pane is there"), EditorMode::Normal)
    }

    fn record(&self) -> Value {
        let path = self.sandbox.home().join(format!(".claude/sessions/{}.json", self.standin.state().pid));
        serde_json::from_str(&fs::read_to_string(path).expect("there is a record")).expect("the record is JSON")
    }
}

#[test]
fn an_idle_client_shows_an_empty_ruled_box() {
    let stage = stage();
    assert_eq!(stage.bottom(4), ["─", "❯\u{a0}", "─", "  ⏸ manual mode on · ? for shortcuts"]);
    assert_eq!(stage.record()["status"], "idle");
    let colours = stage.tmux.capture_colours(&stage.pane);
    assert!(colours.contains("❯\u{a0}\u{1b}[7m"), "{colours}");
    assert!(colours.contains("\u{1b}[38;5;244m──"), "{colours}");
    assert_eq!(stage.tmux.format(&stage.pane, "#{pane_current_command} #{cursor_flag}"), "claude 0");
    assert_eq!(stage.tmux.format(&stage.pane, "#{pane_pid}"), stage.standin.state().pid.to_string());
}

#[test]
fn our_reader_judges_its_screens_as_it_judges_the_client_s() {
    let stage = stage();
    let input = |draft: Option<&str>, turn, stashed| ScreenState::Input {
        draft: draft.map(str::to_owned),
        turn,
        stashed,
        agents: false,
    };
    assert_eq!(stage.look(), input(None, TurnSign::Idle, false));
    stage.standin.draft("half a thought");
    assert_eq!(stage.look(), input(Some("half a thought"), TurnSign::Idle, false));
    stage.tmux.send_keys(&stage.pane, &["C-s"]);
    stage.shows("› stashed");
    assert_eq!(stage.look(), input(None, TurnSign::Idle, true));
    stage.tmux.send_keys(&stage.pane, &["C-s"]);
    stage.standin.wait_for_state("the draft", |state| state.stashed.is_none());
    stage.standin.turn();
    assert_eq!(stage.look(), input(Some("half a thought"), TurnSign::Running, false));
    stage.standin.draft("");
    assert_eq!(stage.look(), input(None, TurnSign::Running, false));
    stage.standin.open_dialog();
    assert_eq!(stage.look(), ScreenState::Unsafe(UnsafeScreen::Dialog));
    stage.standin.close_dialog();
    stage.standin.stop();
    assert_eq!(stage.look(), input(None, TurnSign::Idle, false));
    stage.tmux.run(&["copy-mode", "-t", &stage.pane.0]);
    assert_eq!(stage.look(), ScreenState::Unsafe(UnsafeScreen::PaneInMode));
}

#[test]
fn a_dialog_takes_enter_as_yes_and_swallows_text() {
    let stage = stage();
    stage.standin.turn();
    stage.standin.open_dialog();
    stage.shows(" ❯ 1. Yes");
    stage.shows(" Esc to cancel · Tab to amend");
    assert_eq!(stage.record()["status"], "waiting");
    assert_eq!(stage.record()["waitingFor"], "permission prompt");
    stage.tmux.type_text(&stage.pane, "·");
    stage.tmux.send_keys(&stage.pane, &["Enter"]);
    let state = stage.standin.wait_for_state("the answer", |state| !state.dialog_answers.is_empty());
    assert_eq!((state.dialog_answers, state.draft.as_str(), state.submitted.len()), (vec!["1".to_owned()], "", 0));

    stage.standin.open_dialog();
    stage.tmux.send_keys(&stage.pane, &["Escape"]);
    let state = stage.standin.wait_for_state("the refusal", |state| state.dialog_answers.len() == 2);
    assert_eq!((state.dialog_answers[1].as_str(), state.status.as_str()), ("esc", "idle"));
}

#[test]
fn it_runs_the_hooks_of_a_hooks_file_and_keeps_drawing_meanwhile() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.path("hooks.json");
    // The hook tells what it was given, then waits until the test lets it go.
    let script = r#"cat > "$0/payload"; echo "$CLAUDE_PID $CLAUDE_CODE_SESSION_ID $TMUX_PANE" > "$0/environment"
        until [ -e "$0/go" ]; do sleep 0.01; done; echo '{"continue":true}'"#;
    let file = serde_json::json!({ "hooks": { "PostToolUse": [
        { "matcher": "Read", "hooks": [{ "type": "command", "command": "/bin/false", "args": [] }] },
        { "matcher": "Bash|Write", "hooks": [
            { "type": "command", "command": "/bin/sh", "args": ["-c", script, "${CLAUDE_PLUGIN_ROOT}"], "timeout": 30 },
        ] },
    ] } });
    fs::write(&hooks, file.to_string()).unwrap();
    let tmux = Tmux::start(&sandbox);
    let root = sandbox.path("tmp");
    let hooks = Hooks::File { path: hooks, root: root.clone() };
    let (standin, pane) = StandIn::in_tmux(&sandbox, &tmux, &Options { hooks, ..Options::default() });
    standin.turn();

    std::thread::scope(|scope| {
        let answer =
            scope.spawn(|| standin.tool_with(serde_json::json!({ "name": "Bash", "response": { "stdout": "hi" } })));
        wait_until(DEADLINE, "the hook", || root.join("environment").exists());
        tmux.type_text(&pane, "typed while the hook runs");
        wait_until(DEADLINE, "the draft", || tmux.capture(&pane).contains("❯\u{a0}typed while the hook runs"));
        fs::write(root.join("go"), "").unwrap();
        assert_eq!(answer.join().unwrap(), "{\"continue\":true}\n");
    });

    let state = standin.state();
    let environment = fs::read_to_string(root.join("environment")).unwrap();
    assert_eq!(environment, format!("{} {} {}\n", state.pid, state.session_id, pane.0));
    let payload: Value = serde_json::from_str(&fs::read_to_string(root.join("payload")).unwrap()).unwrap();
    assert_eq!(payload["hook_event_name"], "PostToolUse");
    assert_eq!(payload["tool_response"]["stdout"], "hi");
    assert_eq!(payload["session_id"], state.session_id.as_str());
}
