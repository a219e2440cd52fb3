//! Other clients in the same terminal.

use std::fs;

use serde_json::{Value, json};

use super::{Bare, Stage, nonce};
use crate::standin::Options;

/// A client that the outer one has started, with the outer one's terminal around it.
struct Nested {
    stage: Stage,
    bare: Bare,
}

impl Nested {
    fn new() -> Self {
        let stage = Stage::with_config(Options::default(), json!({ "at": 1000 }));
        Self { stage, bare: Bare::new() }
    }

    /// Fires its Stop; its process is a child of the outer client's.
    fn stop(&self, changes: Value) -> Value {
        let script = self.stage.script("Notification", "longhaul-stop", "CLAUDE_PID=$$ {hook} < $0.in > $0.out");
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
    nested.stage.resume();
    let chain = nested.stage.chain().unwrap();
    assert_ne!(chain["state"], "done", "{chain}");
    assert_eq!(nested.stage.prompts(), [""; 0]);
}
