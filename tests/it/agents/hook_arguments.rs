//! `longhaul hook` with wrong arguments: an agent that reads a failure as an order must not be stopped by it.

use serde_json::json;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, bin_dir, payload};
use crate::tmux::Tmux;

#[test]
fn an_agent_is_answered_whatever_the_arguments_are() {
    let sandbox = Sandbox::new();
    let wrong: [&[&str]; 6] = [
        &["hook"],
        &["hook", "Stopp"],
        &["hook", "--agent", "nobody", "AfterTool"],
        &["hook", "--agent", "gemini", "AfterTools"],
        &["hook", "--agent", "gemini"],
        &["hook", "--agent", "gemini", "--new-option", "AfterTool"],
    ];
    for arguments in wrong {
        let text = payload("gemini/AfterTool", json!({}));
        let outcome = Outcome::of(sandbox.executable("longhaul").args(arguments), text.as_bytes());
        let answer = (outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str());
        assert_eq!(answer, (Some(0), "{\"continue\":true}\n", ""), "{arguments:?}");
    }
    let log = sandbox.error_log();
    assert_eq!(log.lines().count(), wrong.len(), "{log}");
    assert!(log.contains("no such event: \"Stopp\"") && log.contains("gemini, qwen, opencode"), "{log}");
}

#[test]
fn a_missing_executable_is_answered_and_logged() {
    let sandbox = Sandbox::new();
    let alone = sandbox.path("alone/longhaul");
    std::fs::create_dir_all(alone.parent().unwrap()).unwrap();
    std::fs::copy(bin_dir().join("longhaul"), &alone).unwrap();
    let outcome = Outcome::of(sandbox.program(&alone).args(["hook", "--agent", "gemini", "AfterTool"]), b"{}");
    assert_eq!((outcome.status, outcome.stdout.trim()), (Some(0), r#"{"continue":true}"#), "{outcome:?}");
    assert!(sandbox.error_log().contains("cannot run"), "{}", sandbox.error_log());
}

#[test]
fn a_person_sees_what_is_wrong() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let longhaul = bin_dir().join("longhaul");
    for (arguments, message, status) in [
        ("hook Stopp", "no such event: \"Stopp\"; use one of SessionStart", "[1]"),
        ("hook --agent nobody Stop", "no such agent", "[2]"),
    ] {
        let script = format!("{} {arguments}; echo \"[$?]\"; exec sleep 600", longhaul.display());
        let pane = tmux.pane(&["sh", "-c", &script], &[]);
        wait_until(DEADLINE, "the exit status", || tmux.capture(&pane).contains(status));
        let shown = tmux.capture(&pane);
        assert!(shown.contains(message), "{shown}");
    }
    drop(tmux);
    let help = Outcome::of(sandbox.executable("longhaul").args(["hook", "--help"]), b"");
    assert!(help.status == Some(0) && help.stdout.contains("Usage"), "{help:?}");
}
