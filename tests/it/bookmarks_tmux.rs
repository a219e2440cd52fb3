//! Bookmarks in a real tmux pane.

use std::fs;
use std::io::Write;
use std::thread;

use longhaul_inject::Pane as _;
use serde_json::{Value, json};

use crate::poll::{DEADLINE, SLACK, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::standin::{Options, StandIn};
use crate::tmux::{Pane, Tmux};

const SESSION: &str = "tmux-session";

/// A client in a pane, with every bookmark due at the third tool call and no cooldown.
struct Stage {
    standin: StandIn,
    pane: Pane,
    tmux: Tmux,
    sandbox: Sandbox,
}

fn stage(config: Value) -> Stage {
    let sandbox = Sandbox::new();
    let mut all = json!({ "bookmarks": { "thresholds": { "min_tool_calls": 3, "cooldown_seconds": 0 } } });
    merge(&mut all, config);
    sandbox.write_config(&all.to_string());
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some(SESSION.to_owned()), ..Options::default() };
    let (standin, pane) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.session_start("startup");
    Stage { standin, pane, tmux, sandbox }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

impl Stage {
    fn count(&self, letter: &str) -> usize {
        self.sandbox.count_lines(SESSION, letter)
    }

    #[track_caller]
    fn wait_for_lines(&self, letter: &str, n: usize) {
        wait_until(DEADLINE, &format!("{n} {letter} lines"), || self.count(letter) >= n);
        assert_eq!(self.count(letter), n, "{:?}", self.sandbox.log_lines(SESSION));
    }

    #[track_caller]
    fn wait_for_error(&self, text: &str) {
        wait_until(DEADLINE, text, || self.sandbox.error_log().contains(text));
    }

    /// Fires a hook beside the stand-in, as the client in the pane would.
    fn fire(&self, executable: &str, name: &str) {
        let mut command = self.sandbox.executable(executable);
        command.envs(self.tmux.variables(&self.pane)).env("CLAUDE_PID", self.standin.state().pid.to_string());
        let input = payload(name, json!({ "session_id": SESSION }));
        let outcome = crate::sandbox::Outcome::of(&mut command, input.as_bytes());
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }

    /// Adds as many tool calls to the log as a bookmark needs.
    fn add_activity(&self) {
        let path = self.sandbox.data_dir().join(format!("sessions/{SESSION}.log"));
        let mut log = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        log.write_all(b"T 1000 1\nT 1000 1\nT 1000 1\n").unwrap();
    }
}

#[test]
fn a_turn_that_is_stopped_is_not_bookmarked_in_its_middle() {
    let thresholds = json!({ "min_tool_calls": 10 });
    let stage = stage(json!({ "limits": { "loops": "stop" }, "bookmarks": { "thresholds": thresholds } }));
    stage.standin.turn();
    let answers = stage.standin.tools(10);
    assert!(answers[9].contains("\"continue\":false"), "{answers:?}");
    assert_eq!(stage.standin.state().texts(), [""; 0]);
    stage.standin.stop();
    wait_until(DEADLINE, "the bookmark after the turn", || stage.standin.state().texts() == ["·"]);
    assert!(!stage.standin.state().submitted[0].mid_turn);
}

#[test]
fn a_long_turn_is_bookmarked_in_its_middle_exactly_once_per_window() {
    let stage = stage(json!({}));
    stage.standin.turn_with_tools(7);
    let state = stage.standin.state();
    assert_eq!(state.texts(), ["·", "·"]);
    assert!(state.submitted.iter().all(|submission| submission.mid_turn));
    assert!(state.submitted[0].prompt_hook_stdout.as_ref().is_some_and(|reply| reply.contains("automatic bookmark")));
    let letters: String = stage.sandbox.log_lines(SESSION).iter().map(|line| &line[..1]).collect();
    // L: the calls are all the same, which the model is told once.
    assert_eq!(letters, "STTTNIBTTLTNIBT");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn after_the_turn_one_bookmark_is_typed_and_makes_no_request() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" } }));
    stage.standin.turn_with_tools(5);
    assert_eq!(stage.count("I"), 0);
    stage.standin.stop();
    stage.wait_for_lines("B", 1);
    let state = stage.standin.wait_for_state("the marker", |state| state.submitted.len() == 1);
    assert_eq!(state.texts(), ["·"]);
    assert!(!state.submitted[0].mid_turn && !state.submitted[0].started_turn);
    // The row is written after the line.
    wait_until(DEADLINE, "the row", || {
        stage.sandbox.longhaul(&["bookmarks", "--json"]).json()[0]["session"] == SESSION
    });
}

#[test]
fn a_draft_is_back_afterwards_and_was_not_sent() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" } }));
    stage.standin.turn_with_tools(5);
    stage.standin.draft("half typed");
    stage.standin.stop();
    stage.wait_for_lines("B", 1);
    let state = stage.standin.wait_for_state("the draft", |state| state.draft == "half typed");
    assert_eq!(state.texts(), ["·"]);
}

#[test]
fn in_a_running_turn_a_draft_is_left_alone() {
    let stage = stage(json!({}));
    stage.standin.turn();
    stage.standin.draft("half typed");
    stage.standin.tools(6);
    let state = stage.standin.state();
    assert!(state.submitted.is_empty() && state.draft == "half typed", "{state:?}");
    assert_eq!(stage.count("I"), 0);
    stage.standin.draft("");
    stage.standin.tools(1);
    assert_eq!(stage.standin.state().texts(), ["·"]);
}

#[test]
fn with_a_dialog_open_nothing_is_typed() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" }, "inject": { "patience_seconds": 1 } }));
    stage.standin.turn_with_tools(5);
    stage.standin.open_dialog();
    stage.fire("longhaul-stop", "Stop");
    stage.wait_for_error("waited 1 s");
    let state = stage.standin.state();
    assert!(state.dialog_answers.is_empty() && state.submitted.is_empty(), "{state:?}");
    stage.standin.close_dialog();
    assert_eq!(stage.standin.state().draft, "");
}

#[test]
fn without_the_clients_record_the_screen_alone_shows_the_dialog() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"bookmarks":{"thresholds":{"min_tool_calls":1}},"inject":{"patience_seconds":1}}"#);
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some(SESSION.to_owned()), record: false, ..Options::default() };
    let (standin, _pane) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.session_start("startup");
    standin.turn();
    standin.open_dialog();
    standin.tools(2);
    standin.hook("SubagentStop", json!({ "agent_id": "a", "agent_type": "general-purpose" }));
    wait_until(DEADLINE, "the injector to give up", || sandbox.error_log().contains("a dialog is open"));
    assert!(standin.state().dialog_answers.is_empty());
}

#[test]
fn markers_of_special_characters_arrive_as_they_are() {
    let stage = stage(json!({}));
    stage.standin.turn();
    // Short ones go as keys, a longer one is pasted.
    let markers = [";", r"\", "'", "-x", "C-m", "a;", "\"$", r##"'"\$;#{} $(x) #(y) %1 ; ~"##];
    for marker in markers {
        let thresholds = json!({ "min_tool_calls": 3, "cooldown_seconds": 0 });
        let config = json!({ "bookmarks": { "thresholds": thresholds, "marker": marker } });
        stage.sandbox.write_config(&config.to_string());
        stage.standin.tools(3);
    }
    assert_eq!(stage.standin.state().texts(), markers);
    assert_eq!(stage.count("B"), markers.len());
}

#[test]
fn a_pane_closed_meanwhile_is_a_line_in_the_log() {
    let stage = stage(json!({}));
    stage.add_activity();
    let (variables, pid) = (stage.tmux.variables(&stage.pane), stage.standin.state().pid.to_string());
    stage.tmux.pane(&["sleep", "100"], &[]);
    stage.tmux.run(&["kill-pane", "-t", &stage.pane.0]);
    let mut command = stage.sandbox.executable("longhaul-stop");
    command.envs(variables).env("CLAUDE_PID", pid);
    let input = payload("Stop", json!({ "session_id": SESSION }));
    assert_eq!(crate::sandbox::Outcome::of(&mut command, input.as_bytes()).status, Some(0));
    stage.wait_for_error("not typed");
}

#[test]
fn a_pane_in_which_the_client_no_longer_runs_is_not_typed_into() {
    let stage = stage(json!({ "inject": { "patience_seconds": 1 } }));
    stage.add_activity();
    let shell = stage.tmux.pane(&["cat"], &[]);
    let record = stage.sandbox.data_dir().join(format!("sessions/{SESSION}.json"));
    let moved = fs::read_to_string(&record).unwrap().replace(&stage.pane.0, &shell.0);
    fs::write(&record, moved).unwrap();
    stage.fire("longhaul-stop", "Stop");
    stage.wait_for_error("Claude Code does not run in pane");
    assert_eq!(stage.tmux.capture(&shell).trim(), "");
}

#[test]
fn in_copy_mode_nothing_is_typed_until_it_ends() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" } }));
    stage.standin.turn_with_tools(5);
    stage.tmux.run(&["copy-mode", "-t", &stage.pane.0]);
    stage.standin.stop();
    assert!(stage.standin.state().submitted.is_empty());
    stage.tmux.run(&["send-keys", "-t", &stage.pane.0, "-X", "cancel"]);
    stage.wait_for_lines("B", 1);
}

#[test]
fn while_a_subagent_runs_a_turn_is_not_typed_into() {
    let stage = stage(json!({}));
    stage.standin.turn();
    stage.standin.hook("SubagentStart", json!({ "agent_id": "a1", "agent_type": "general-purpose" }));
    stage.standin.tools(4);
    assert_eq!(stage.count("I"), 0);
    // In a mode that asks nothing no dialog can open.
    stage.standin.tool_with(json!({ "payload": { "permission_mode": "bypassPermissions" } }));
    assert_eq!(stage.standin.state().texts(), ["·"]);
}

#[test]
fn three_hooks_at_the_same_moment_inject_once_each_time() {
    let stage = stage(json!({}));
    for round in 1..=20 {
        stage.add_activity();
        // Every other time the screen shows a turn, so that each of the three gets to be the one.
        if round % 2 == 0 {
            stage.standin.turn();
        }
        thread::scope(|scope| {
            scope.spawn(|| stage.fire("longhaul-post-tool-use", "PostToolUse"));
            scope.spawn(|| stage.fire("longhaul-stop", "Stop"));
            scope.spawn(|| stage.fire("longhaul-subagent-stop", "SubagentStop"));
        });
        assert_eq!(stage.count("I"), round, "{:?}", stage.sandbox.log_lines(SESSION));
        stage.standin.stop();
        stage.wait_for_lines("B", round);
        stage.standin.stop();
    }
    let state = stage.standin.wait_for_state("the last marker", |state| state.submitted.len() >= 20);
    assert_eq!(state.submitted.len(), 20);
    // A hook whose tmux is slow leaves the bookmark to the next one, and says so.
    let log = stage.sandbox.error_log();
    assert!(log.lines().all(|line| line.contains("tmux did not answer within")), "{log}");
}

#[test]
fn after_clear_the_new_session_gets_no_marker_of_the_old_one() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" } }));
    stage.standin.turn_with_tools(5);
    // What is being typed holds the injector up until the session is another.
    stage.tmux.run(&["copy-mode", "-t", &stage.pane.0]);
    stage.standin.stop();
    stage.wait_for_lines("I", 1);
    stage.standin.clear();
    stage.tmux.run(&["send-keys", "-t", &stage.pane.0, "-X", "cancel"]);
    let locks = stage.sandbox.data_dir().join("locks");
    assert!(locks.exists());
    wait_until(DEADLINE, "the injector to end", || !injector_runs(&stage.sandbox));
    let state = stage.standin.state();
    assert!(state.submitted.is_empty() && state.draft.is_empty(), "{state:?}");
}

/// Returns whether an injector of this sandbox runs.
fn injector_runs(sandbox: &Sandbox) -> bool {
    let home = sandbox.data_dir().display().to_string();
    let contains = |path: std::path::PathBuf, text: &str| {
        fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut injectors = processes.filter(|path| contains(path.join("cmdline"), "run-injector"));
    injectors.any(|path| contains(path.join("environ"), &home))
}

#[test]
fn while_somebody_else_types_into_the_pane_nothing_is_typed() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" }, "inject": { "patience_seconds": 1 } }));
    stage.standin.turn_with_tools(3);
    let socket = stage.tmux.socket().display().to_string();
    let pane = longhaul_inject::TmuxPane { socket, pane: stage.pane.0.clone() };
    let name = longhaul_inject::Terminal::Tmux(pane).lock_name();
    let locks = stage.sandbox.data_dir().join("locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(name)).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    stage.standin.stop();
    stage.wait_for_error("another injection holds the pane");
    assert!(stage.standin.state().submitted.is_empty());
}

#[test]
fn a_marker_that_somebody_is_typing_is_not_submitted_at_once() {
    let stage = stage(json!({ "bookmarks": { "enabled": "turn_end" }, "inject": { "patience_seconds": 1 } }));
    stage.standin.turn_with_tools(3);
    stage.standin.draft("·");
    stage.standin.stop();
    stage.wait_for_error("a draft is being typed");
    let state = stage.standin.state();
    assert!(state.submitted.is_empty() && state.draft == "·", "{state:?}");
}

#[test]
fn what_was_never_typed_does_not_switch_bookmarks_off() {
    let stage = stage(json!({ "inject": { "patience_seconds": 0 } }));
    stage.standin.turn();
    stage.standin.draft("in the way");
    for round in 1..=3 {
        stage.add_activity();
        stage.fire("longhaul-subagent-stop", "SubagentStop");
        stage.wait_for_lines("G", round);
    }
    stage.standin.draft("");
    stage.standin.tools(1);
    assert_eq!(stage.standin.state().texts(), ["·"]);
}

#[test]
fn a_tmux_that_hangs_does_not_hold_the_hook_past_its_limit() {
    let stage = stage(json!({ "bookmarks": { "thresholds": { "cooldown_seconds": 25 } } }));
    let socket = stage.sandbox.path("hung");
    // It takes the connection and never answers.
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let record = stage.sandbox.data_dir().join(format!("sessions/{SESSION}.json"));
    fs::remove_file(record).unwrap();
    stage.add_activity();
    let call = || {
        let mut command = stage.sandbox.executable("longhaul-post-tool-use");
        command.env("TMUX", format!("{},1,0", socket.display())).env("TMUX_PANE", "%0").env("LONGHAUL_PATIENCE", "1");
        let started = std::time::Instant::now();
        let input = payload("PostToolUse", json!({ "session_id": SESSION }));
        let outcome = crate::sandbox::Outcome::of(&mut command, input.as_bytes());
        assert_eq!(outcome.json(), json!({ "continue": true }));
        started.elapsed()
    };
    assert!(call() < std::time::Duration::from_secs(3) + SLACK);
    stage.wait_for_error("did not answer within");
    call();
    let asked = stage.sandbox.error_log().matches("did not answer within").count();
    assert_eq!(asked, 1, "the cooldown keeps the next call from asking again: {}", stage.sandbox.error_log());
}

#[test]
fn a_bookmark_with_a_note_is_typed_from_the_command_line() {
    let stage = stage(json!({}));
    let mut command = stage.sandbox.executable("longhaul");
    command.envs(stage.tmux.variables(&stage.pane)).args(["bookmark", "green", "tests"]);
    let outcome = crate::sandbox::Outcome::of(&mut command, b"");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(stage.standin.state().texts(), ["· green tests"]);
    // The receipt is in the activity log before the bookmark is in the database.
    stage.standin.wait_for_answers("UserPromptSubmit", 1);
    let listed = stage.sandbox.longhaul(&["bookmarks", "--session", SESSION, "--json"]).json();
    assert_eq!(listed[0]["note"], "green tests");
}

#[test]
fn a_session_that_its_pane_no_longer_shows_gets_no_bookmark_and_keeps_no_claim() {
    let stage = stage(json!({}));
    // As after `/clear`.
    let record = stage.sandbox.home().join(format!(".claude/sessions/{}.json", stage.standin.state().pid));
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace(SESSION, "newer")).unwrap();
    let outcome = stage.sandbox.longhaul(&["bookmark", "--session", SESSION, "note"]);
    assert_eq!(outcome.status, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("its terminal shows another session now"), "{outcome:?}");
    assert!(stage.standin.state().submitted.is_empty());
    let lines = stage.sandbox.log_lines(SESSION);
    assert!(lines.last().is_some_and(|line| line.starts_with("G ")), "{lines:?}");
}

#[test]
fn in_a_shell_beside_the_only_session_a_bookmark_needs_no_name() {
    let stage = stage(json!({}));
    let outcome = stage.sandbox.longhaul(&["bookmark", "from", "beside"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains(SESSION), "it says in which: {outcome:?}");
    assert_eq!(stage.standin.state().texts(), ["· from beside"]);
    // With a second one, it is not clear which is meant.
    stage.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "another" })));
    let outcome = stage.sandbox.longhaul(&["bookmark", "which"]);
    assert!(outcome.status == Some(1) && outcome.stderr.contains("--session ID"), "{outcome:?}");
}

/// tmux 3.3a crashes, with all its sessions, if something is pasted into such a pane.
#[test]
fn a_text_for_a_program_that_has_ended_leaves_tmux_alive() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    tmux.run(&["set-option", "-g", "remain-on-exit", "on"]);
    let pane = tmux.pane(&["true"], &[]);
    wait_until(DEADLINE, "the program's end", || tmux.format(&pane, "#{pane_dead}") == "1");
    let socket = tmux.socket().display().to_string();
    let command = longhaul_inject::TmuxPane { socket, pane: pane.0 }.type_text("· a note that is pasted");
    let mut typing = sandbox.program(&command.argv[0]);
    let typed = Outcome::of(typing.args(&command.argv[1..]), command.stdin.unwrap_or_default().as_bytes());
    assert_eq!((typed.status, typed.stderr.as_str()), (Some(0), ""));
    assert_eq!(tmux.run(&["list-buffers"]), "", "the text does not stay in tmux");
}
