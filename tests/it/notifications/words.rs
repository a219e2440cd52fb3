//! What a notification says, and what it must never say.

use serde_json::json;

use super::{Stage, result};
use crate::sandbox::payload;

const BLOCKED: &str = r#"{"blocked": ["command"], "command": ["COMMAND"]}"#;

#[test]
fn nothing_of_a_private_turn_is_said() {
    let stage = Stage::new(BLOCKED);
    stage.fire(
        "s1",
        "UserPromptSubmit",
        json!({ "prompt": "<private>deploy the secret thing</private>", "prompt_id": "p1" }),
    );
    let input = json!({ "tool_name": "Bash", "tool_input": { "command": "deploy secret-thing" }, "prompt_id": "p1" });
    stage.fire("s1", "PermissionRequest", input);
    assert_eq!(stage.results(1), [result("command", "sent", "")]);
    let recorded = stage.recorded().join("\n");
    assert!(recorded.contains("wants to use: Bash"), "{recorded}");
    assert!(!recorded.contains("secret") && !stage.log()[0].to_string().contains("secret-thing"), "{recorded}");
}

#[test]
fn secrets_and_control_characters_are_removed() {
    let stage = Stage::new(BLOCKED);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    stage
        .block("s1", &format!("curl -H 'Authorization: Bearer {token}' \u{1b}]0;x\u{7} \u{202e}\n{}", "y".repeat(500)));
    stage.results(1);
    let recorded = stage.recorded();
    assert_eq!(recorded.len(), 1, "{recorded:?}");
    assert!(!recorded[0].contains(&token) && recorded[0].contains("[redacted]"), "{recorded:?}");
    assert!(!recorded[0].contains(['\u{1b}', '\u{7}', '\u{202e}']), "{recorded:?}");
    assert!(recorded[0].chars().count() < 400, "{recorded:?}");
}

#[test]
fn the_main_conversation_is_reported_whatever_a_subagent_asks_before_or_after() {
    let stage = Stage::new(BLOCKED);
    let asks = |session: &str, command: &str, agent: Option<&str>| {
        let input = json!({ "tool_name": "Bash", "tool_input": { "command": command }, "agent_id": agent });
        stage.fire(session, "PermissionRequest", input);
    };
    stage.block("s1", "cargo publish");
    asks("s1", "ls", Some("a1"));
    assert_eq!(stage.results(1), [result("command", "sent", "")]);
    assert!(stage.recorded()[0].contains("wants to run: cargo publish"), "{:?}", stage.recorded());
    stage.fire("s2", "UserPromptSubmit", json!({ "prompt": "go on" }));
    asks("s2", "ls", Some("a1"));
    let why = "the session is of the kind subagent, which notify.also does not name";
    assert_eq!(stage.results(2)[1], result("command", "suppressed", why));
    asks("s2", "cargo yank", None);
    assert_eq!(stage.results(3)[2], result("command", "sent", ""));
    assert!(stage.recorded()[1].contains("wants to run: cargo yank"), "{:?}", stage.recorded());
}

#[test]
fn of_a_turn_with_a_private_passage_only_the_tool_is_said() {
    let stage = Stage::new(BLOCKED);
    let prompt = "<private>the password is correct-horse</private> run the migration";
    let asks = |id: &str| {
        let input =
            json!({ "tool_name": "Bash", "tool_input": { "command": "migrate correct-horse" }, "prompt_id": id });
        stage.fire("s1", "PermissionRequest", input);
    };
    stage.fire("s1", "UserPromptSubmit", json!({ "prompt": prompt, "prompt_id": "p1" }));
    asks("p1");
    stage.results(1);
    assert!(stage.recorded()[0].contains("wants to use: Bash"), "{:?}", stage.recorded());
    // The next turn is public again.
    stage.fire("s1", "UserPromptSubmit", json!({ "prompt": "go on", "prompt_id": "p2" }));
    asks("p2");
    stage.results(2);
    assert!(stage.recorded()[1].contains("wants to run: migrate"), "{:?}", stage.recorded());
}

#[test]
fn the_value_of_a_password_option_is_not_said() {
    let stage = Stage::new(BLOCKED);
    stage
        .block("s1", "sshpass -p swordfish ssh host && curl -u admin:swordfish x && docker login --password swordfish");
    stage.results(1);
    let recorded = stage.recorded().join("");
    assert!(recorded.contains("sshpass -p [redacted] ssh host") && !recorded.contains("swordfish"), "{recorded}");
}

#[test]
fn a_session_of_the_user_in_a_worktree_is_reported() {
    let stage = Stage::new(BLOCKED);
    let worktree = stage.sandbox.project().join(".claude/worktrees/fix");
    std::fs::create_dir_all(&worktree).unwrap();
    let fire = |event: &str, executable: &str, changes: serde_json::Value| {
        let mut changes = changes;
        changes["session_id"] = json!("w1");
        changes["cwd"] = json!(worktree);
        assert_eq!(stage.sandbox.hook(executable, payload(event, changes)).status, Some(0));
    };
    fire("UserPromptSubmit", "longhaul-user-prompt-submit", json!({ "prompt": "go on" }));
    fire("PermissionRequest", "longhaul-permission-request", json!({ "tool_name": "Bash" }));
    assert_eq!(stage.results(1), [result("command", "sent", "")]);
}

#[test]
fn the_dialog_of_a_teammate_and_of_a_headless_session_is_silent() {
    let stage = Stage::new(BLOCKED);
    let why = |kind: &str| format!("the session is of the kind {kind}, which notify.also does not name");
    stage.fire("s1", "UserPromptSubmit", json!({ "prompt": "go on" }));
    let idle = json!({ "hook_event_name": "TeammateIdle", "session_id": "s1", "cwd": stage.sandbox.project() });
    assert_eq!(stage.sandbox.hook("longhaul-teammate-idle", idle.to_string()).status, Some(0));
    stage.block("s1", "make");
    assert_eq!(stage.results(1), [result("command", "suppressed", &why("teammate"))]);
    // A process whose arguments are those of `claude -p`. It ends when its input is closed.
    let mut client = stage.sandbox.program("sh");
    client.args(["-c", "read line", "claude", "-p"]).stdin(std::process::Stdio::piped());
    let mut client = client.spawn().unwrap();
    let variables = [("CLAUDE_PID", client.id().to_string())];
    stage.fire_with("s2", "UserPromptSubmit", json!({ "prompt": "go on" }), &variables);
    stage.fire_with("s2", "PermissionRequest", json!({ "tool_name": "Bash" }), &variables);
    assert_eq!(stage.results(2)[1], result("command", "suppressed", &why("print")));
    drop(client.stdin.take());
    client.wait().unwrap();
}
