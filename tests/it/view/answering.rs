//! Permission dialogs that are answered from the view, and those that close at that very moment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::{OpenView, session};
use crate::poll::{DEADLINE, becomes_true, wait_until};
use crate::sandbox::{Sandbox, programs};
use crate::standin::StandIn;
use crate::tmux::{Pane, Tmux};

/// A session with an open dialog.
struct Stage {
    standin: StandIn,
    pane: Pane,
    tmux: Tmux,
    sandbox: Sandbox,
}

fn stage() -> Stage {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let (standin, pane) = session(&sandbox, &tmux, "asks-1");
    standin.turn();
    Stage { standin, pane, tmux, sandbox }
}

impl Stage {
    /// Opens a dialog, as Claude Code does it: the hook first.
    fn ask(&self, file: &str) {
        self.standin.hook("PermissionRequest", json!({ "tool_name": "Write", "tool_input": { "file_path": file } }));
        self.standin.open_dialog_for(file);
    }

    /// Fails if a key went anywhere but into a dialog.
    #[track_caller]
    fn nothing_else_was_typed(&self) {
        let state = self.standin.state();
        assert!(state.draft.is_empty() && state.submitted.is_empty(), "{state:?}");
        assert!(!self.standin.log().iter().any(|event| event["event"] == "swallowed"), "{:?}", self.standin.log());
    }

    /// Returns a folder for `PATH` whose tmux waits, before it presses a key in a dialog, until the file `go` is there.
    fn waiting_tmux(&self) -> PathBuf {
        let folder = self.sandbox.path("waiting");
        fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "#!/bin/sh\nfor word; do\n  if [ \"$word\" = if-shell ]; then\n    : > {0}/asked\n    \
             until [ -e {0}/go ]; do sleep 0.01; done\n  fi\ndone\nexec {1} \"$@\"\n",
            folder.display(),
            programs().join("tmux").display()
        );
        let program = folder.join("tmux");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    /// Asks for `one.txt`, and answers yes in the view, up to the last check. Returns the view, and the folder in which `go`
    /// lets it press the key.
    fn answer_up_to_the_last_check(&self) -> (OpenView<'_>, PathBuf) {
        self.ask("one.txt");
        let folder = self.waiting_tmux();
        let view = OpenView::open_with(&self.tmux, "1 session", Some(&folder));
        view.press(&["y"]);
        view.shows("Do you want to create one.txt?");
        press_until(&view, "y", "the last check", || folder.join("asked").exists());
        (view, folder)
    }
}

/// Presses `key` until `done`: the view ignores a key that is pressed before the dialog could be read.
#[track_caller]
fn press_until(view: &OpenView<'_>, key: &str, what: &str, mut done: impl FnMut() -> bool) {
    let came = becomes_true(DEADLINE, || {
        done() || {
            view.press(&[key]);
            becomes_true(Duration::from_millis(500), &mut done)
        }
    });
    assert!(came, "waited in vain for {what}:\n{}", view.screen());
}

#[test]
fn y_and_n_answer_the_dialog_that_was_read_each_time() {
    let stage = stage();
    let view = OpenView::open(&stage.tmux, "1 session");
    for round in 0..6_usize {
        let (key, answer, word) = if round.is_multiple_of(2) { ("y", "1", "Yes") } else { ("n", "3", "No") };
        if round > 0 {
            stage.standin.turn();
        }
        let file = format!("file-{round}.txt");
        stage.ask(&file);
        view.press(&[key]);
        view.shows(&format!("Do you want to create {file}?"));
        assert_eq!(stage.standin.state().dialog_answers.len(), round, "shown first, not answered");
        press_until(&view, key, "the answer", || stage.standin.state().dialog_answers.len() > round);
        assert_eq!(stage.standin.state().dialog_answers[round], answer, "{word}");
        stage.nothing_else_was_typed();
        stage.standin.stop();
    }
}

#[test]
fn a_dialog_that_closes_or_changes_at_that_moment_gets_no_key() {
    for case in ["closed", "answered", "another", "draft"] {
        let stage = stage();
        let (view, folder) = stage.answer_up_to_the_last_check();
        match case {
            "closed" => stage.standin.close_dialog(),
            "answered" => {
                stage.tmux.send_keys(&stage.pane, &["Escape"]);
                stage.standin.wait_for_state("the refusal", |state| state.dialog_answers == ["esc"]);
                wait_until(DEADLINE, "the input", || !stage.tmux.capture(&stage.pane).contains("1. Yes"));
            }
            "another" => stage.standin.open_dialog_for("two.txt"),
            _ => {
                stage.standin.close_dialog();
                stage.standin.draft("step 1");
            }
        }
        let answers = stage.standin.state().dialog_answers;
        fs::write(folder.join("go"), "").unwrap();
        view.shows("Nothing was typed");
        let state = stage.standin.state();
        assert_eq!(state.dialog_answers, answers, "{case}");
        assert_eq!(state.draft, if case == "draft" { "step 1" } else { "" }, "{case}");
        assert!(state.submitted.is_empty(), "{case}");
    }
}

#[test]
fn a_key_that_the_client_draws_late_is_removed_too() {
    let stage = stage();
    let (view, folder) = stage.answer_up_to_the_last_check();
    // The dialog is closed, and still on the screen.
    stage.standin.delay(Duration::from_millis(200));
    stage.standin.close_dialog();
    fs::write(folder.join("go"), "").unwrap();
    stage.standin.wait_for_state("the key", |state| !state.draft.is_empty());
    view.shows("the dialog was closed at the same moment");
    stage.standin.wait_for_state("an empty input", |state| state.draft.is_empty());
}

#[test]
fn dialogs_that_close_while_they_are_answered_leave_nothing_behind() {
    let stage = stage();
    let view = OpenView::open(&stage.tmux, "1 session");
    for round in 0..8_usize {
        if round > 0 {
            stage.standin.turn();
        }
        stage.ask(&format!("file-{round}.txt"));
        view.press(&["y"]);
        view.shows(&format!("create file-{round}.txt?"));
        let before = stage.standin.state().dialog_answers.len();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                press_until(&view, "y", "an end", || {
                    view.screen().contains("Nothing") || view.screen().contains("Answered")
                });
            });
            scope.spawn(|| {
                // Each round a little later than the one before.
                for _ in 0..10 * round {
                    stage.standin.state();
                }
                stage.standin.close_dialog();
            });
        });
        let state = stage.standin.wait_for_state("an empty input", |state| state.draft.is_empty());
        assert!(state.dialog_answers.len() <= before + 1, "{state:?}");
        assert!(state.submitted.is_empty() && state.status != "waiting", "{state:?}");
        stage.standin.stop();
    }
}

#[test]
fn other_screens_are_not_answered() {
    let stage = stage();
    let view = OpenView::open(&stage.tmux, "1 session");
    view.press(&["y"]);
    view.shows("Nothing to answer");
    stage.ask("one.txt");
    stage.tmux.run(&["copy-mode", "-t", &stage.pane.0]);
    view.press(&["n"]);
    view.shows("Nothing to answer");
    stage.tmux.run(&["send-keys", "-t", &stage.pane.0, "-X", "cancel"]);
    view.press(&["y"]);
    view.shows("Do you want to create one.txt?");
    // It is noticed without a key.
    stage.standin.close_dialog();
    view.shows("The dialog is gone");
    assert!(stage.standin.state().dialog_answers.is_empty());
    stage.nothing_else_was_typed();
}
