//! What Codex's sessions said is recalled, and so is what others said, in Codex.

use std::fs;

use serde_json::{Value, json};

use super::Codex;
use super::written_rollout::Rollout;
use crate::past::Past;
use crate::sandbox::payload;

const ASKED: &str = "why does the importer stall every night?";
const REPLIED: &str = "The exchange rates hold the lock while they wait for an answer; chunks of 500 rows cured it.";
const ASKED_AGAIN: &str = "what made the importer stall at night?";

fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

/// A session of Codex in which the importer was discussed.
fn discussed() -> Codex {
    let codex = Codex::new().at(1_794_707_999_000);
    fs::write(&codex.rollout, Rollout::first().turn(ASKED, REPLIED).text).unwrap();
    codex.stop(0);
    codex
}

#[test]
fn a_prompt_of_codex_brings_what_claude_code_said() {
    let codex = Codex::new().at(1_794_707_999_000);
    Past::new(&codex.sandbox, "aaaa-1111").prompt(ASKED).reply(REPLIED);
    assert_eq!(codex.sandbox.longhaul(&["memory", "import", "--quiet"]).status, Some(0));
    let answer = codex.prompt(0, ASKED_AGAIN).json();
    assert!(context(&answer).contains("chunks of 500 rows"), "{answer}");
    assert_eq!(answer["systemMessage"], "longhaul: recalled 1 passage of earlier sessions (P1)");
}

#[test]
fn a_prompt_of_codex_brings_what_another_session_of_codex_said_but_not_its_own() {
    let codex = discussed();
    let own = codex.prompt(1, ASKED_AGAIN).json();
    assert!(!context(&own).contains("chunks of 500 rows"), "it is in the conversation already: {own}");
    let other = json!({ "session_id": "01a1de70-1111-7213-b664-b016f981bf57", "transcript_path": null,
                        "turn_id": "turn-1", "prompt": ASKED_AGAIN });
    let answer = codex.hook("UserPromptSubmit", "user-prompt-submit", other).json();
    assert!(context(&answer).contains("chunks of 500 rows"), "{answer}");
}

#[test]
fn a_prompt_of_claude_code_brings_what_codex_said() {
    let codex = discussed();
    let text = payload(
        "UserPromptSubmit",
        json!({ "session_id": "dddd-4444", "cwd": codex.sandbox.project(), "prompt": ASKED_AGAIN }),
    );
    let answer = codex.sandbox.hook("longhaul-user-prompt-submit", text).json();
    let shown = context(&answer);
    assert!(shown.contains("chunks of 500 rows") && shown.contains("codex:"), "{answer}");
}
