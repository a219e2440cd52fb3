//! The recorded payloads of Codex, event by event.

use serde_json::json;

use super::Codex;
use crate::sandbox::{Outcome, payload};

/// Sends a recorded payload as Codex does; returns the states of the tracker after it.
fn send(codex: &Codex, recorded: &str, argument: &str) -> Vec<String> {
    let changes = json!({ "cwd": codex.sandbox.project(), "transcript_path": codex.rollout });
    let text = payload(&format!("codex/{recorded}"), changes);
    let mut command = codex.sandbox.executable("longhaul");
    let outcome = Outcome::of(command.args(["hook", "--codex", argument]), text.as_bytes());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.json()["continue"], true, "{outcome:?}");
    codex.sandbox.rows("SELECT agent_client || ' ' || status FROM agents")
}

#[test]
fn a_recorded_session_is_tracked_from_its_start_to_its_end() {
    let codex = Codex::new();
    for (recorded, argument, state) in [
        ("SessionStart", "session-start", Some("codex idle")),
        ("UserPromptSubmit", "user-prompt-submit", Some("codex working")),
        ("PermissionRequest", "permission-request", Some("codex blocked")),
        ("PostToolUse", "post-tool-use", Some("codex working")),
        ("Stop", "stop", Some("codex completed")),
        ("PreCompact", "pre-compact", Some("codex completed")),
        ("SessionEnd", "session-end", None),
    ] {
        assert_eq!(send(&codex, recorded, argument), state.into_iter().collect::<Vec<_>>(), "{recorded}");
    }
    let prompts = codex.sandbox.rows("SELECT prompt FROM prompts");
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert_eq!(codex.sandbox.error_log(), "");
}
