//! Prompts, bookmarks and continuations from the view and from scripts.

use serde_json::json;

use super::{OpenView, session};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Sandbox;
use crate::standin::StandIn;
use crate::tmux::Tmux;

struct Stage {
    standin: StandIn,
    tmux: Tmux,
    sandbox: Sandbox,
}

fn stage() -> Stage {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{ "snapshots": { "enabled": false }, "inject": { "patience_seconds": 5 } }"#);
    let tmux = Tmux::start(&sandbox);
    let (standin, _) = session(&sandbox, &tmux, "5e55-one");
    Stage { standin, tmux, sandbox }
}

impl Stage {
    #[track_caller]
    fn refused(&self, args: &[&str], why: &str) {
        let outcome = self.sandbox.longhaul(&[&["send"], args].concat());
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(why), "{outcome:?}");
    }
}

#[test]
fn a_prompt_is_sent_from_the_view_to_the_chosen_session() {
    let stage = stage();
    let view = OpenView::open(&stage.tmux, "1 session");
    view.press(&["p"]);
    view.shows("Prompt for project:");
    view.type_text("go on, quickly; y/n?");
    stage.tmux.paste(&view.pane, "first\nq\ny\n");
    view.shows("n?first q y");
    view.press(&["Enter"]);
    view.shows("project has received the prompt.");
    let has_turn = |state: &crate::standin::State| state.submitted.iter().any(|submission| submission.started_turn);
    let state = stage.standin.wait_for_state("a turn", has_turn);
    assert_eq!(state.texts(), ["go on, quickly; y/n?first q y"]);
    view.shows("go on, quickly");
    stage.standin.stop();
    view.press(&["b"]);
    view.type_text("half way");
    view.press(&["Enter"]);
    view.shows("Bookmark set in project.");
    assert_eq!(stage.standin.state().texts()[1], "· half way");
}

#[test]
fn a_session_is_continued_in_a_new_one() {
    let stage = stage();
    stage.standin.submit("count the words");
    stage.standin.stop();
    let view = OpenView::open(&stage.tmux, "count the words");
    view.press(&["c"]);
    view.shows("/clear is typed");
    view.press(&["n", "c", "y"]);
    view.shows("project continues in session");
    let state = stage.standin.state();
    assert_eq!(state.texts(), ["count the words", "/clear", "Continue from the handoff: do what is left to do."]);
    assert_ne!(state.session_id, "5e55-one");
}

#[test]
fn a_script_names_a_session_by_number_id_or_its_beginning() {
    let stage = stage();
    let status = stage.sandbox.longhaul(&["status"]).stdout;
    assert!(status.lines().nth(1).is_some_and(|line| line.starts_with("1  ")), "{status}");
    assert_eq!(stage.sandbox.longhaul(&["status", "--json"]).json()[0]["number"], 1);
    for (name, text) in [("1", "by number"), ("5e55-one", "by id"), ("5e5", "by its beginning")] {
        let outcome = stage.sandbox.longhaul(&["send", name, text]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert_eq!(outcome.stderr, "project has received the prompt.\n");
        stage.standin.stop();
    }
    assert_eq!(stage.standin.state().texts(), ["by number", "by id", "by its beginning"]);
    // Several words are one prompt; what would be a control character is a space.
    let outcome = stage.sandbox.longhaul(&["send", "1", "two", "lines\nof\ttext"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(stage.standin.state().texts()[3], "two lines of text");
}

#[test]
fn a_text_that_is_wrapped_at_a_space_is_sent() {
    let stage = stage();
    for length in [115, 116, 117] {
        let text = format!("{} tail", "x".repeat(length));
        let outcome = stage.sandbox.longhaul(&["send", "5e", &text]);
        assert_eq!(outcome.status, Some(0), "{length}: {outcome:?}");
        let state = stage.standin.state();
        assert_eq!((state.texts().last().copied(), state.draft.as_str()), (Some(text.as_str()), ""));
        stage.standin.stop();
    }
}

#[test]
fn what_cannot_be_sent_is_an_error_that_says_why() {
    let stage = stage();
    stage.refused(&["7", "x"], "no running session has the number 7");
    stage.refused(&["zzz", "x"], "no session has an id that begins with \"zzz\"");
    stage.refused(&["", "x"], "the name of the session is empty");
    for text in ["/clear", "!rm x", " ", "a\u{1b}[31m"] {
        stage.refused(&["5e", text], "a prompt must not be empty");
    }
    stage.standin.turn();
    stage.refused(&["5e", "x", "--wait", "0"], "waited 0 s: a turn is running");
    stage.standin.hook("PermissionRequest", json!({}));
    stage.standin.open_dialog();
    stage.refused(&["5e", "x"], "Claude Code waits for an answer: answer it first");
    stage.standin.close_dialog();
    let state = stage.standin.state();
    assert!(state.submitted.is_empty() && state.draft.is_empty() && state.dialog_answers.is_empty(), "{state:?}");
    let empty = Sandbox::new();
    let outcome = empty.longhaul(&["send", "1", "x"]);
    assert_eq!((outcome.status, outcome.stderr.contains("no session is running")), (Some(1), true), "{outcome:?}");
    assert!(!empty.data_dir().exists());
}

#[test]
fn a_prompt_waits_for_the_end_of_the_turn() {
    let stage = stage();
    stage.standin.turn();
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| stage.sandbox.longhaul(&["send", "5e55", "afterwards", "--wait", "60"]));
        // It types nothing while the turn runs.
        let locks = || std::fs::read_dir(stage.sandbox.data_dir().join("locks")).into_iter().flatten().count();
        wait_until(DEADLINE, "the lock of the pane", || locks() > 0);
        assert!(stage.standin.state().submitted.is_empty());
        stage.standin.stop();
        let outcome = sent.join().unwrap();
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    });
    let state = stage.standin.state();
    assert_eq!(state.texts(), ["afterwards"]);
    assert!(!state.submitted[0].mid_turn);
}

#[test]
fn a_draft_is_in_the_input_again() {
    let stage = stage();
    stage.standin.draft("half typed");
    let outcome = stage.sandbox.longhaul(&["send", "5e55", "between"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let state = stage.standin.wait_for_state("the draft", |state| state.draft == "half typed");
    assert_eq!(state.texts(), ["between"]);
}
