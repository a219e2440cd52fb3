//! One line per turn of a session of Codex, written by a model.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::fake::{Api, good};
use super::{DAY, NOW, Worker, with_api};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox};

const SESSION: &str = "01a1de69-9a48-7213-b664-b016f981bf57";

/// Returns the lines of the session, of a model (`model_line`) or by rule (`line`).
fn lines(sandbox: &Sandbox, column: &str) -> Vec<String> {
    let sql = format!(
        "SELECT t.{column} FROM turns t JOIN sessions s ON s.id = t.session_id
         WHERE t.{column} IS NOT NULL AND s.session_id = 'codex:{SESSION}' ORDER BY t.number"
    );
    sandbox.rows(&sql)
}

/// Codex ends a turn of the recorded session, with a configuration in which there is no model.
fn stop(sandbox: &Sandbox) {
    let folder = sandbox.home().join(".codex/sessions/2026/11/15");
    fs::create_dir_all(&folder).unwrap();
    let rollout = folder.join(format!("rollout-2026-11-15T08-53-45-{SESSION}.jsonl"));
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/codex/rollout.jsonl"), &rollout).unwrap();
    let config = sandbox.path("without-a-model.json");
    fs::write(&config, "{}").unwrap();
    let payload = json!({ "session_id": SESSION, "transcript_path": rollout, "cwd": sandbox.project(),
                          "hook_event_name": "Stop", "last_assistant_message": "The file says hello from the pane." });
    let mut command = sandbox.executable("longhaul");
    command.args(["hook", "--codex", "stop"]).env("LONGHAUL_CONFIG", config);
    assert_eq!(Outcome::of(&mut command, payload.to_string().as_bytes()).json()["continue"], true);
}

#[test]
fn every_turn_of_codex_gets_a_line_by_the_model_beside_the_rules_line() {
    let api = Api::start(|_, body| good(body));
    let sandbox = with_api(&api, json!({}));
    stop(&sandbox);
    let by_rule = lines(&sandbox, "line");
    assert_eq!(by_rule.len(), 2, "{by_rule:?}");
    // The recorded turns have their own time, which is before that.
    let _worker = Worker::start(&sandbox, NOW + DAY);
    let expected = ["Line for: The file says hello from the pane."; 2];
    wait_until(DEADLINE, "a line for each turn", || lines(&sandbox, "model_line") == expected);
    assert_eq!(lines(&sandbox, "line"), by_rule, "the rule's lines are kept");
    let asked: String = api.requests().iter().map(Value::to_string).collect();
    assert!(asked.contains("hello.txt") && !asked.contains("quittenmus"), "private text is not sent: {asked}");
}
