//! The chord that submits instead of Enter: bound in keybindings.json, and used once Claude Code has shown that it works.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;
use crate::screen_session::ScreenSession;
use crate::standin::{Options, StandIn};
use crate::tmux::Tmux;

const SESSION: &str = "chord-session";
const BOUND: &str =
    r#"{"bindings":[{"context":"Chat","bindings":{"ctrl+x ctrl+q":"chat:submit","ctrl+x ctrl+x":"chat:stash"}}]}"#;

/// Binds the chord, as long ago as the client needs in order to have read the file.
pub(crate) fn bind(sandbox: &Sandbox) {
    let folder = sandbox.home().join(".claude");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("keybindings.json");
    fs::write(&path, BOUND).unwrap();
    let written = SystemTime::now() - Duration::from_secs(60);
    File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
}

struct Stage {
    standin: StandIn,
    _tmux: Tmux,
    sandbox: Sandbox,
}

fn stage(config: &Value) -> Stage {
    let sandbox = Sandbox::new().impatient();
    sandbox.write_config(&config.to_string());
    bind(&sandbox);
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some(SESSION.to_owned()), ..Options::default() };
    let (standin, _) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.session_start("startup");
    Stage { standin, _tmux: tmux, sandbox }
}

fn every_third_call() -> Value {
    json!({ "bookmarks": { "thresholds": { "min_tool_calls": 3, "cooldown_seconds": 0 } } })
}

impl Stage {
    /// Returns what is noted of the client.
    fn notes(&self) -> Value {
        let file = self.sandbox.data_dir().join(format!("clients/{}.json", self.standin.state().pid));
        serde_json::from_slice(&fs::read(file).unwrap_or_default()).unwrap_or_default()
    }

    /// Returns how each prompt was submitted.
    fn by_chord(&self) -> Vec<bool> {
        self.standin.state().submitted.iter().map(|submission| submission.by_chord).collect()
    }

    fn return_subagents(&self, n: usize) {
        for id in (0..n).map(|n| format!("a{n}")) {
            self.standin.hook("SubagentStart", json!({ "agent_id": id, "agent_type": "general-purpose" }));
        }
        for id in (0..n).map(|n| format!("a{n}")) {
            self.standin.hook("SubagentStop", json!({ "agent_id": id, "agent_type": "general-purpose" }));
        }
    }
}

#[test]
fn a_bound_chord_submits_and_is_believed_once_a_marker_was_received() {
    let stage = stage(&every_third_call());
    stage.standin.turn_with_tools(6);
    assert_eq!(stage.standin.state().texts(), ["·", "·"]);
    assert_eq!(stage.by_chord(), [true, true]);
    assert_eq!(stage.notes()["experience"]["proof"], "received");
    assert_eq!(stage.sandbox.error_log(), "");
}

#[test]
fn a_client_that_ignores_the_chord_gets_enter_at_once_and_from_then_on() {
    let stage = stage(&every_third_call());
    stage.standin.ignore_keybindings();
    stage.standin.turn();
    // On a slow machine, the hook that notices it has no time left for Enter.
    wait_until(DEADLINE, "two bookmarks", || {
        stage.standin.tools(1);
        stage.standin.state().texts().len() == 2
    });
    let state = stage.standin.state();
    assert_eq!(state.texts(), ["·", "·"], "{}", stage.sandbox.error_log());
    assert_eq!((stage.by_chord(), state.draft.as_str()), (vec![false, false], ""));
    assert_eq!(stage.notes()["experience"]["proof"], "ignored");
}

#[test]
fn a_file_that_has_just_been_written_is_not_counted_on() {
    let stage = stage(&every_third_call());
    fs::write(stage.sandbox.home().join(".claude/keybindings.json"), BOUND).unwrap();
    stage.standin.turn_with_tools(3);
    assert_eq!((stage.by_chord(), stage.notes()), (vec![false], Value::Null));
}

#[test]
fn while_a_subagent_runs_the_chord_still_bookmarks_the_turn() {
    let stage = stage(&every_third_call());
    stage.standin.turn();
    stage.standin.hook("SubagentStart", json!({ "agent_id": "a1", "agent_type": "general-purpose" }));
    stage.standin.tools(3);
    assert_eq!(stage.standin.state().texts(), ["·"]);
    assert_eq!(stage.by_chord(), [true]);
}

#[test]
fn while_a_subagent_runs_a_client_that_ignores_the_chord_is_not_typed_at_with_enter() {
    let stage = stage(&every_third_call());
    stage.standin.ignore_keybindings();
    stage.standin.turn();
    stage.standin.hook("SubagentStart", json!({ "agent_id": "a1", "agent_type": "general-purpose" }));
    stage.standin.tools(5);
    let state = stage.standin.wait_for_state("the marker to be taken back", |state| state.draft.is_empty());
    assert!(state.submitted.is_empty(), "{state:?}");
}

#[test]
fn three_returned_subagents_bring_a_bookmark_into_the_running_turn() {
    let stage = stage(&json!({ "bookmarks": { "thresholds": { "cooldown_seconds": 0 } } }));
    stage.standin.turn();
    stage.return_subagents(3);
    wait_until(DEADLINE, "the bookmark", || stage.sandbox.count_lines(SESSION, "B") == 1);
    let state = stage.standin.state();
    assert_eq!(state.texts(), ["·"]);
    assert!(state.submitted[0].mid_turn && state.submitted[0].by_chord, "{state:?}");
}

#[test]
fn without_the_chord_three_returned_subagents_wait_for_the_end_of_the_turn() {
    let stage = stage(&json!({ "bookmarks": { "thresholds": { "cooldown_seconds": 0 } } }));
    fs::remove_file(stage.sandbox.home().join(".claude/keybindings.json")).unwrap();
    stage.standin.turn();
    stage.return_subagents(3);
    wait_until(DEADLINE, "the injector to be asked", || stage.sandbox.count_lines(SESSION, "I") == 1);
    stage.standin.stop();
    wait_until(DEADLINE, "the bookmark", || stage.sandbox.count_lines(SESSION, "B") == 1);
    let state = stage.standin.state();
    assert!(!state.submitted[0].mid_turn && !state.submitted[0].by_chord, "{state:?}");
}

#[test]
fn a_marker_that_a_dialog_kept_from_being_submitted_is_submitted_later_and_not_doubled() {
    let stage = stage(&every_third_call());
    stage.standin.turn_with_tools(3);
    let notes = stage.sandbox.data_dir().join(format!("clients/{}.json", stage.standin.state().pid));
    let mut noted = stage.notes();
    noted["left"] = json!("·");
    fs::write(notes, noted.to_string()).unwrap();
    stage.standin.draft("·");
    stage.standin.tools(3);
    let state = stage.standin.state();
    assert_eq!((state.texts(), state.draft.as_str()), (vec!["·", "·"], ""));
    assert_eq!(stage.notes()["left"], Value::Null);
}

/// Returns the injectors that run for this test's data folder.
#[cfg(target_os = "linux")]
fn injectors(sandbox: &Sandbox) -> Vec<u32> {
    let data = sandbox.data_dir().to_string_lossy().into_owned();
    let holds = |pid: u32, file: &str, text: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| holds(pid, "cmdline", "run-injector") && holds(pid, "environ", &data)).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_marker_whose_typist_was_killed_before_the_chord_is_submitted_by_the_next_order() {
    let stage = stage(&every_third_call());
    stage.standin.turn();
    // The chord is not pressed before the marker shows, which it does not.
    stage.standin.delay(Duration::from_secs(30));
    stage.return_subagents(3);
    stage.standin.wait_for_state("the marker in the input", |state| state.draft == "·");
    for pid in injectors(&stage.sandbox) {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    wait_until(DEADLINE, "the end of the injector", || injectors(&stage.sandbox).is_empty());
    stage.standin.delay(Duration::ZERO);
    wait_until(DEADLINE, "the next bookmark", || {
        stage.standin.tools(1);
        stage.sandbox.count_lines(SESSION, "B") == 1
    });
    let state = stage.standin.state();
    assert_eq!((state.texts(), state.draft.as_str()), (vec!["·"], ""));
    assert_eq!(stage.notes()["left"], Value::Null);
}

#[test]
fn a_dialog_that_is_open_is_still_left_alone() {
    let stage = stage(&json!({
        "bookmarks": { "thresholds": { "min_tool_calls": 1, "cooldown_seconds": 0 } },
        "inject": { "patience_seconds": 1 },
    }));
    stage.standin.turn();
    stage.standin.open_dialog();
    stage.standin.tools(2);
    stage.return_subagents(3);
    wait_until(DEADLINE, "the injector to give up", || stage.sandbox.error_log().contains("waited 1 s"));
    let state = stage.standin.state();
    assert!(state.dialog_answers.is_empty() && state.submitted.is_empty(), "{state:?}");
    assert!(!stage.standin.log().iter().any(|event| event["event"] == "swallowed"), "something was typed");
}

#[test]
fn in_gnu_screen_a_draft_that_cannot_be_seen_comes_back() {
    let sandbox = Sandbox::new().impatient();
    sandbox.write_config(
        r#"{"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":3,"cooldown_seconds":0}},"inject":{"patience_seconds":5}}"#,
    );
    bind(&sandbox);
    let options = Options { session: Some(SESSION.to_owned()), ..Options::default() };
    let screen = ScreenSession::start(&sandbox, &options);
    screen.standin.session_start("startup");
    screen.standin.turn_with_tools(3);
    screen.standin.draft("half typed");
    screen.standin.stop_with(json!({}));
    wait_until(DEADLINE, "the bookmark", || sandbox.count_lines(SESSION, "B") == 1);
    let state = screen.standin.wait_for_state("the draft", |state| state.draft == "half typed");
    assert_eq!(state.texts(), ["·"]);
    assert!(state.submitted[0].by_chord);
}

#[test]
fn in_gnu_screen_a_client_that_ignores_the_chord_gets_enter_and_one_marker() {
    let sandbox = Sandbox::new().impatient();
    sandbox.write_config(r#"{"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":3}}}"#);
    bind(&sandbox);
    let options = Options { session: Some(SESSION.to_owned()), ..Options::default() };
    let screen = ScreenSession::start(&sandbox, &options);
    screen.standin.ignore_keybindings();
    screen.standin.session_start("startup");
    screen.standin.turn_with_tools(3);
    screen.standin.stop_with(json!({}));
    wait_until(DEADLINE, "the bookmark", || sandbox.count_lines(SESSION, "B") == 1);
    let state = screen.standin.state();
    assert_eq!((state.texts(), state.draft.as_str()), (vec!["·"], ""));
}
