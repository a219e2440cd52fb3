//! Other clients in the same terminal.

use std::fs;

use serde_json::{Value, json};

use super::{Bare, Stage, full_turn, handoff, nonce};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::shell_line;
use crate::standin::{Kind, Options};

/// A client that the outer one has started, with the outer one's terminal around it.
struct Nested {
    stage: Stage,
    bare: Bare,
}

impl Nested {
    fn new() -> Self {
        Self::inside(Stage::with_config(Options::default(), json!({ "at": 1000 })))
    }

    fn inside(stage: Stage) -> Self {
        Self { stage, bare: Bare::new() }
    }

    /// Fires its Stop; its process is a child of the outer client's.
    fn stop(&self, changes: Value) -> Value {
        self.run("export CLAUDE_PID=$$; {hook} < $0.in > $0.out", changes)
    }

    /// Fires its Stop, with its module running.
    fn stop_with_module(&self, changes: Value) -> Value {
        let longhaul = shell_line("longhaul");
        let module = format!(r#"echo '{{"session":"a","interactive":true}}' | {} bridge start"#, longhaul);
        self.run(&format!("export CLAUDE_PID=$$; {module} > /dev/null; {{hook}} < $0.in > $0.out"), changes)
    }

    fn run(&self, line: &str, changes: Value) -> Value {
        let script = self.stage.script("Notification", "longhaul-stop", line);
        let path = |end: &str| script.with_file_name(format!("Notification-script.{end}"));
        fs::write(path("in"), self.bare.stop_payload(changes)).unwrap();
        self.stage.standin.hook("Notification", json!({}));
        serde_json::from_str(&fs::read_to_string(path("out")).unwrap()).unwrap()
    }
}

#[test]
fn a_client_inside_another_does_not_clear_that_one() {
    let nested = Nested::new();
    let asked = nested.stop(json!({}));
    let reply = format!("---\ncontinue: true\nnonce: {}\n---\n# Remaining\n- it\n", nonce(&asked));
    let taken = nested.stop(json!({ "stop_hook_active": true, "last_assistant_message": reply }));
    // It has no terminal of its own.
    assert!(taken["systemMessage"].as_str().is_some_and(|said| said.contains("type /clear")), "{taken}");
    assert_eq!(nested.stage.chain().unwrap()["state"], "clearing");
    // And by hand it is no better.
    let resumed = nested.stage.resume();
    assert!(resumed.stderr.contains("its terminal is unknown"), "{resumed:?}");
    // Nor is the outer one shown what it wrote, now that it is gone.
    nested.stage.standin.clear();
    let shown = nested.stage.standin.shown_by("SessionStart", Kind::AdditionalContext);
    assert!(shown.iter().all(|shown| !shown.contains("Handoff from session a")), "{shown:?}");
    assert_eq!(nested.stage.prompts(), [""; 0]);
}

#[test]
fn what_a_client_inside_another_leaves_is_not_that_ones_for_its_module() {
    let nested = Nested::new();
    let asked = nested.stop(json!({}));
    let reply = format!("---\ncontinue: true\nnonce: {}\n---\n# Remaining\n- it\n", nonce(&asked));
    let taken = nested.stop_with_module(json!({ "stop_hook_active": true, "last_assistant_message": reply }));
    assert_eq!(taken.get("systemMessage"), None, "its module clears it: {taken}");
    assert_eq!(nested.stage.chain().unwrap()["state"], "clearing");
    // It is gone; the outer one, in the same terminal, has not inherited anything.
    nested.stage.standin.clear();
    let shown = nested.stage.standin.shown_by("SessionStart", Kind::AdditionalContext);
    assert!(shown.iter().all(|shown| !shown.contains("Handoff from session a")), "{shown:?}");
    assert_eq!(nested.stage.prompts(), [""; 0]);
}

#[test]
fn word_for_the_outer_client_is_left_to_it() {
    let options = Options::default().swallowing_clears(u32::MAX);
    let stage = Stage::with_step(options, 1.0);
    stage.standin.replies([full_turn(), handoff("the rest")]);
    stage.types("count");
    stage.wait_for_state("failed");
    let nested = Nested::inside(stage);
    let answered = nested.stop(json!({}));
    assert_eq!(answered.get("systemMessage"), None, "{answered}");
    let standin = &nested.stage.standin;
    wait_until(DEADLINE, "the outer client to be told", || {
        standin.submit("what is the matter?");
        let said = standin.shown_by("UserPromptSubmit", Kind::SystemMessage);
        said.iter().any(|said| said.contains("not continued"))
    });
}
