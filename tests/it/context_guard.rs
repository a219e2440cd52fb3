//! The context guard.

use std::fs;

use serde_json::json;

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, payload};
use crate::standin::{Options, StandIn};
use crate::submit_chord::bind;
use crate::tmux::Tmux;

fn write_transcript(sandbox: &Sandbox, tokens: u64) -> String {
    let path = sandbox.path("transcript.jsonl");
    let entry = json!({ "type": "assistant", "message": { "model": "claude-sonnet-4-5", "usage": { "input_tokens": tokens } } });
    fs::write(&path, format!("{entry}\n")).unwrap();
    path.display().to_string()
}

#[test]
fn subagents_are_denied_when_the_context_is_nearly_full() {
    let sandbox = Sandbox::new();
    let launch = |tokens| {
        let transcript = write_transcript(&sandbox, tokens);
        let input = payload("PreToolUse-Agent", json!({ "transcript_path": transcript }));
        sandbox.hook("longhaul-pre-tool-use", input).json()
    };
    assert_eq!(launch(190_000), json!({ "continue": true }), "off by default");
    sandbox.write_config(r#"{"guard":{"compact_percent":0.76,"deny_percent":0.85}}"#);
    assert_eq!(launch(160_000), json!({ "continue": true }));
    let denied = launch(171_000);
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.starts_with("The context window is 86 % full"), "{reason}");
}

#[test]
fn a_full_context_is_compacted_once_after_the_turn() {
    let sandbox = Sandbox::new();
    sandbox.write_config(
        r#"{"guard":{"compact_percent":0.76},"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":1}}}"#,
    );
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some("guard".to_owned()), ..Options::default() };
    let (standin, _pane) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.session_start("startup");
    let transcript = write_transcript(&sandbox, 153_000);
    for _ in 0..2 {
        standin.turn_with_tools(2);
        standin.stop_with(json!({ "transcript_path": transcript }));
        wait_until(DEADLINE, "the compaction", || sandbox.count_lines("guard", "C") == 1);
    }
    let compactions =
        standin.log().iter().filter(|entry| entry["event"] == "hook" && entry["name"] == "PreCompact").count();
    assert_eq!(compactions, 1, "{:?}", standin.log());
}

#[test]
fn compact_is_submitted_by_the_chord_although_commands_open_a_menu() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"guard":{"compact_percent":0.76},"bookmarks":{"enabled":false}}"#);
    bind(&sandbox);
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some("guard".to_owned()), ..Options::default() };
    let (standin, _pane) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.session_start("startup");
    standin.turn_with_tools(2);
    standin.stop_with(json!({ "transcript_path": write_transcript(&sandbox, 153_000) }));
    wait_until(DEADLINE, "the compaction", || sandbox.count_lines("guard", "C") == 1);
    let state = standin.state();
    assert_eq!(state.texts(), ["/compact "]);
    assert!(state.submitted[0].by_chord && state.draft.is_empty(), "{state:?}");
}

#[test]
fn a_client_that_ignores_the_chord_gets_compact_by_enter_and_keeps_nothing_of_the_first_try() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"guard":{"compact_percent":0.76},"bookmarks":{"enabled":false}}"#);
    bind(&sandbox);
    let tmux = Tmux::start(&sandbox);
    let options = Options { session: Some("guard".to_owned()), ..Options::default() };
    let (standin, _pane) = StandIn::in_tmux(&sandbox, &tmux, &options);
    standin.ignore_keybindings();
    standin.session_start("startup");
    standin.turn_with_tools(2);
    standin.stop_with(json!({ "transcript_path": write_transcript(&sandbox, 153_000) }));
    wait_until(DEADLINE, "the compaction", || sandbox.count_lines("guard", "C") == 1);
    let state = standin.state();
    assert_eq!(state.texts(), ["/compact"]);
    assert!(!state.submitted[0].by_chord && state.draft.is_empty(), "{state:?}");
}
