use std::collections::BTreeSet;

use longhaul_core::event::EventName;
use longhaul_core::{AGENTS_WITH_SEVERAL_SESSIONS, OTHER_AGENTS, SessionId};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{ALL, Condition, Feature, Payload, PayloadError, Support, find, newest_use, resume_command};

/// Returns a recorded payload, and the event in its name.
macro_rules! recorded {
    ($agent:literal, $name:literal) => {
        (
            $agent,
            $name.split('-').next().unwrap(),
            include_str!(concat!("../../../tests/payloads/", $agent, "/", $name, ".json")),
        )
    };
}

fn translated((agent, event, text): (&str, &str, &str)) -> Option<Payload> {
    Payload::parse(find(agent).unwrap(), event, text).unwrap()
}

#[track_caller]
fn check(recorded: (&str, &str, &str), event: EventName, wanted: Value) {
    let payload = translated(recorded).expect("it counts");
    assert_eq!(payload.event, event);
    let got: Value = serde_json::from_str(&payload.to_claude()).unwrap();
    assert_eq!(got["hook_event_name"], event.as_str());
    assert!(got["session_id"].as_str().unwrap().starts_with(&format!("{}:", recorded.0)), "{got}");
    assert_eq!(got["transcript_path"], Value::Null, "Longhaul does not read it as a transcript of Claude Code");
    for (name, value) in wanted.as_object().unwrap() {
        assert_eq!(&got[name], value, "{name} in {got}");
    }
}

#[test]
fn gemini_starts_and_ends() {
    check(recorded!("gemini", "SessionStart"), EventName::SessionStart, json!({ "source": "startup" }));
    check(recorded!("gemini", "SessionStart-clear"), EventName::SessionStart, json!({ "source": "clear" }));
    check(recorded!("gemini", "SessionEnd-clear"), EventName::SessionEnd, json!({ "reason": "clear" }));
    check(recorded!("gemini", "SessionEnd-exit"), EventName::SessionEnd, json!({ "reason": "exit" }));
}

#[test]
fn gemini_shows_the_model_nothing_after_a_clear() {
    assert!(translated(recorded!("gemini", "SessionStart-clear")).unwrap().is_not_shown());
    assert!(!translated(recorded!("gemini", "SessionStart")).unwrap().is_not_shown());
    assert!(!translated(recorded!("qwen", "SessionStart-clear")).unwrap().is_not_shown());
}

#[test]
fn the_agents_own_name_of_an_event_and_its_transcript_are_kept() {
    let payload = translated(recorded!("gemini", "AfterAgent")).unwrap();
    assert_eq!(payload.theirs, "AfterAgent");
    let transcript = "/home/dev/.gemini/tmp/project/chats/session-2026-11-16T17-30-37474396.jsonl";
    assert_eq!(payload.transcript.as_deref(), Some(transcript));
    let payload = translated(("gemini", "after-agent", r#"{"session_id":"a"}"#)).unwrap();
    assert_eq!((payload.theirs, payload.transcript.as_deref()), ("AfterAgent", None));
}

#[test]
fn geminis_prompt_is_identified_by_its_time() {
    let payload = translated(recorded!("gemini", "BeforeAgent")).unwrap();
    assert_eq!(payload.event, EventName::UserPromptSubmit);
    assert_eq!(payload.text("prompt").as_deref(), Some("WRITE:note.txt;;SAY:written"));
    assert_eq!(payload.text("prompt_id"), payload.text("timestamp"));
    let mut after = translated(recorded!("gemini", "AfterAgent")).unwrap();
    assert!(after.lacks_prompt_id());
    after.set_prompt_id("p1");
    assert!(!after.lacks_prompt_id());
    check(recorded!("gemini", "AfterAgent"), EventName::Stop, json!({ "last_assistant_message": "written" }));
}

#[test]
fn geminis_calls_have_claude_codes_names() {
    let input = json!({ "command": "echo hello", "description": "as ordered", "is_background": false });
    let wanted = json!({ "tool_name": "Bash", "tool_input": input, "tool_response": "hello" });
    check(recorded!("gemini", "AfterTool"), EventName::PostToolUse, wanted);
    let wanted = json!({ "tool_name": "Bash", "error": "Exit code 1\noops" });
    check(recorded!("gemini", "AfterTool-failed"), EventName::PostToolUseFailure, wanted);
    let payload = translated(recorded!("gemini", "AfterTool-write_file")).unwrap();
    assert_eq!(payload.text("tool_name").as_deref(), Some("Write"));
}

#[test]
fn a_call_without_an_id_gets_one() {
    let id = |text: &str| {
        let payload = Payload::parse(find("gemini").unwrap(), "AfterTool", text).unwrap().unwrap();
        payload.text("tool_use_id").unwrap()
    };
    let (_, _, text) = recorded!("gemini", "AfterTool");
    assert_eq!(id(text), id(text));
    assert_ne!(id(text), id(&text.replace("echo hello", "echo hullo")));
    assert!(id(text).starts_with("gemini_"));
}

#[test]
fn geminis_dialog_says_what_it_asks_for() {
    let wanted = json!({ "tool_name": "Edit", "tool_input": { "file_path": "/home/dev/project/note.txt" } });
    check(recorded!("gemini", "Notification"), EventName::PermissionRequest, wanted);
    let (agent, event, text) = recorded!("gemini", "Notification");
    assert!(translated((agent, event, &text.replace("ToolPermission", "Other"))).is_none());
    let mut other: Value = serde_json::from_str(text).unwrap();
    other["details"] = json!({ "type": "mcp", "serverName": "longhaul", "toolName": "search" });
    check(
        (agent, event, &other.to_string()),
        EventName::PermissionRequest,
        json!({ "tool_name": "mcp__longhaul__search" }),
    );
    other["details"] = json!({ "type": "ask_user", "toolName": "search" });
    check((agent, event, &other.to_string()), EventName::PermissionRequest, json!({ "tool_name": "ask_user" }));
}

#[test]
fn qwen_sends_claude_codes_names() {
    check(recorded!("qwen", "SessionStart"), EventName::SessionStart, json!({ "model": "qwen3-coder" }));
    check(recorded!("qwen", "SessionEnd-clear"), EventName::SessionEnd, json!({ "reason": "clear" }));
    check(recorded!("qwen", "PermissionRequest"), EventName::PermissionRequest, json!({ "tool_name": "Write" }));
    let wanted = json!({ "tool_name": "Bash", "tool_response": "hello", "duration_ms": 58 });
    check(recorded!("qwen", "PostToolUse"), EventName::PostToolUse, wanted);
    let wanted = json!({ "tool_name": "Bash", "error": "Exit code 1", "tool_use_id": "toolu_1794850251162_xrpfd6pwo" });
    check(recorded!("qwen", "PostToolUseFailure"), EventName::PostToolUseFailure, wanted);
}

#[test]
fn the_message_of_a_failed_command_is_its_exit_code_and_its_output() {
    let report = "Command: make\nOutput: oops\n\nno rule\nError: (none)\nExit Code: 2\nSignal: (none)";
    let failed = |tool: &str| {
        let text = json!({ "session_id": "a", "tool_name": tool, "tool_input": {}, "error": report }).to_string();
        translated(("qwen", "PostToolUseFailure", &text)).unwrap().text("error").unwrap()
    };
    assert_eq!(failed("run_shell_command"), "Exit code 2\noops\n\nno rule");
    assert_eq!(failed("read_file"), report, "the error of another tool is no report about a command");
}

#[test]
fn qwens_result_of_a_tool_is_no_prompt() {
    assert!(translated(recorded!("qwen", "UserPromptSubmit-tool-result")).is_none());
    assert!(translated(recorded!("qwen", "UserPromptSubmit")).is_some());
}

#[test]
fn qwen_reports_the_use_of_the_context() {
    let usage = translated(recorded!("qwen", "Stop")).unwrap().usage().unwrap();
    assert_eq!((usage.tokens, usage.window, usage.model), (19489, Some(262_144), None));
    assert_eq!(translated(recorded!("qwen", "SessionStart")).unwrap().usage(), None);
    let usage = |agent: &str, event: &str, tokens: u64, window: u64| {
        let text = json!({ "session_id": "a", "input_tokens": tokens, "context_limit": window }).to_string();
        translated((agent, event, &text)).unwrap().usage().map(|usage| (usage.tokens, usage.window))
    };
    assert_eq!(usage("qwen", "Stop", 1, 2), Some((1, Some(2))));
    assert_eq!(usage("qwen", "Stop", 1, 0), Some((1, None)));
    assert_eq!(usage("qwen", "Stop", 0, 2), None, "nothing was counted");
    assert_eq!(usage("qwen", "SessionStart", 1, 2), None, "only the end of a turn reports it");
    assert_eq!(usage("gemini", "AfterAgent", 1, 2), None, "Gemini CLI reports it in the transcript");
}

#[test]
fn what_cannot_be_used_is_named() {
    let gemini = find("gemini").unwrap();
    let problem = |event: &str, text: &str| Payload::parse(gemini, event, text).unwrap_err().to_string();
    assert_eq!(problem("Nothing", "{}"), "gemini has no event \"Nothing\" that is registered");
    assert!(matches!(Payload::parse(gemini, "AfterTool", "[1"), Err(PayloadError::NotAnObject(_))));
    assert_eq!(problem("AfterTool", "{}"), "payload has no session_id");
    assert_eq!(
        problem("AfterTool", r#"{"hook_event_name":"BeforeTool"}"#),
        "payload is that of another event: BeforeTool"
    );
    assert!(Payload::parse(gemini, "after-tool", r#"{"session_id":"a"}"#).unwrap().is_some());
}

#[test]
fn a_member_with_claude_codes_name_is_kept() {
    let text = json!({ "session_id": "a", "tool_name": "edit", "tool_input": { "filePath": "x", "file_path": "y" } });
    let payload = Payload::parse(find("opencode").unwrap(), "tool.execute.after", &text.to_string()).unwrap().unwrap();
    let got: Value = serde_json::from_str(&payload.to_claude()).unwrap();
    assert_eq!(got["tool_input"], json!({ "filePath": "x", "file_path": "y" }));
}

/// Returns the event and the payload that a call of a tool of Gemini becomes.
fn call(tool: &str, response: Value) -> (EventName, Value) {
    let text = json!({ "session_id": "a", "tool_name": tool, "tool_input": {}, "tool_response": response });
    let payload = Payload::parse(find("gemini").unwrap(), "AfterTool", &text.to_string()).unwrap().unwrap();
    (payload.event, serde_json::from_str(&payload.to_claude()).unwrap())
}

#[test]
fn only_the_report_about_a_command_has_an_exit_code() {
    let report = "All is well\nExit Code: 3\nand counted";
    let (event, got) = call("read_file", json!({ "llmContent": report }));
    assert_eq!((event, &got["tool_response"]), (EventName::PostToolUse, &json!(report)));
    let text = "Output: Exit Code: 3\nExit Code: 4\nExit Code: 5\nProcess Group PGID: 1";
    let (event, got) = call("run_shell_command", json!({ "llmContent": text, "returnDisplay": "Exit Code: 4" }));
    assert_eq!((event, &got["error"]), (EventName::PostToolUseFailure, &json!("Exit code 5\nExit Code: 4")));
    // The command succeeded, and its output is such a line.
    let text = "Output:\nExit Code: 4\nProcess Group PGID: 1";
    let (event, got) = call("run_shell_command", json!({ "llmContent": text, "returnDisplay": "Exit Code: 4" }));
    assert_eq!((event, &got["tool_response"]), (EventName::PostToolUse, &json!("Exit Code: 4")));
    let (event, got) = call("run_shell_command", json!({ "llmContent": "Output: a\nb\nExit Code: 0" }));
    assert_eq!((event, &got["tool_response"]), (EventName::PostToolUse, &json!("a\nb")));
}

#[test]
fn a_result_may_have_any_shape() {
    let returned = |response: Value| call("read_file", response).1["tool_response"].clone();
    assert_eq!(returned(json!("plain")), "plain");
    assert_eq!(returned(json!({ "llmContent": ["a", { "text": "b" }, 3, { "inlineData": {} }] })), "a\nb");
    assert_eq!(returned(json!({ "other": [1] })), r#"{"other":[1]}"#);
    assert_eq!(returned(json!({ "llmContent": "", "error": null })), "");
    assert_eq!(returned(Value::Null), "");
    let failed = |error: Value| {
        let (event, got) = call("read_file", json!({ "llmContent": "x", "error": error }));
        assert_eq!(event, EventName::PostToolUseFailure);
        got["error"].clone()
    };
    assert_eq!(failed(json!("no such file")), "no such file");
    assert_eq!(failed(json!({ "message": "no such file", "type": "x" })), "no such file");
    assert_eq!(failed(json!({ "type": "x" })), r#"{"type":"x"}"#);
}

#[test]
fn a_payload_of_any_depth_is_translated() {
    let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
    let text = format!(
        r#"{{"session_id":"a","tool_name":"edit","tool_input":{{"filePath":"x","deep":{deep}}},
            "tool_response":{{"output":"done","deep":{deep}}},"deep":{deep}}}"#
    );
    let payload = Payload::parse(find("opencode").unwrap(), "tool.execute.after", &text).unwrap().unwrap();
    let claude = payload.to_claude();
    assert_eq!(payload.text("tool_response").as_deref(), Some("done"));
    assert!(claude.contains(r#""file_path":"x""#) && claude.contains(&deep), "the input is passed on");
    assert!(longhaul_core::event::parse(&claude).is_ok());
}

#[test]
fn a_reply_can_be_left_out() {
    let mut payload = translated(recorded!("gemini", "AfterAgent")).unwrap();
    payload.remove_reply();
    assert_eq!(payload.text("last_assistant_message"), None);
    assert!(!payload.to_claude().contains("\"written\""));
}

#[test]
fn subagents_and_failures_are_reported() {
    let agent = json!({ "agent_id": "general-purpose-call_000001", "agent_type": "general-purpose" });
    for (text, event) in [
        (recorded!("qwen", "SubagentStart"), EventName::SubagentStart),
        (recorded!("qwen", "SubagentStop"), EventName::SubagentStop),
    ] {
        check(text, event, agent.clone());
    }
    check(recorded!("qwen", "StopFailure"), EventName::StopFailure, json!({ "error": "invalid_request" }));
    let error = json!({ "error": "the scripted model refuses" });
    check(recorded!("opencode", "session.error"), EventName::StopFailure, error);
}

proptest! {
    #[test]
    fn any_payload_is_translated_or_refused(text in ".{0,200}", value in any::<Option<bool>>()) {
        let odd = json!({ "session_id": text, "prompt": text, "tool_name": text, "tool_response": value,
            "tool_input": text, "details": value, "notification_type": "ToolPermission", "timestamp": text });
        for agent in ALL {
            for rule in agent.events {
                let _ = Payload::parse(agent, rule.theirs, &text);
                if let Ok(Some(payload)) = Payload::parse(agent, rule.theirs, &odd.to_string()) {
                    prop_assert!(serde_json::from_str::<Value>(&payload.to_claude()).unwrap().is_object());
                }
            }
        }
    }
}

#[test]
fn every_agent_has_a_prefix_for_its_ids() {
    assert_eq!(ALL.map(|agent| agent.name), OTHER_AGENTS);
    for agent in ALL {
        assert_eq!(find(agent.name), Some(agent));
        assert_eq!(ALL.into_iter().filter(|other| *other == agent).count(), 1, "{}", agent.name);
    }
    assert_eq!(find("claude"), None);
}

#[test]
fn the_agents_with_several_sessions_are_agents() {
    assert!(AGENTS_WITH_SEVERAL_SESSIONS.iter().all(|name| find(name).is_some()));
}

#[test]
fn every_feature_that_is_limited_has_one_reason() {
    for agent in ALL {
        let limited: Vec<Feature> = agent.limits.iter().map(|(feature, _)| *feature).collect();
        let not_working = Feature::ALL
            .map(|(feature, _)| feature)
            .into_iter()
            .filter(|feature| agent.support(*feature) != Support::Works);
        assert_eq!(limited, not_working.collect::<Vec<_>>(), "{}", agent.name);
    }
}

#[test]
fn every_feature_has_a_description_of_its_own() {
    let texts: BTreeSet<&str> = Feature::ALL.into_iter().map(|(_, about)| about).collect();
    assert_eq!(texts.len(), Feature::ALL.len());
    assert!(texts.contains("How full the context is"));
}

/// Codex's users have trusted these commands: a change of one would make Codex ask for all of them again.
#[test]
fn the_commands_of_codex_never_change() {
    let codex = find("codex").unwrap();
    let arguments: Vec<(&str, &str, u64)> =
        codex.events.iter().map(|rule| (rule.theirs, rule.argument, rule.seconds)).collect();
    assert_eq!(codex.option, "--codex");
    assert_eq!(
        arguments,
        [
            ("SessionStart", "session-start", 5),
            ("UserPromptSubmit", "user-prompt-submit", 3),
            ("PermissionRequest", "permission-request", 3),
            ("PostToolUse", "post-tool-use", 3),
            ("PreCompact", "pre-compact", 10),
            ("Stop", "stop", 5),
            ("SessionEnd", "session-end", 3),
        ]
    );
}

#[test]
fn the_command_of_a_hook_names_the_agent() {
    for agent in ALL.into_iter().filter(|agent| agent.name != "codex") {
        assert_eq!(agent.option, format!("--agent {}", agent.name));
        assert!(agent.events.iter().all(|rule| rule.argument == rule.theirs));
    }
}

#[test]
fn no_event_is_in_a_table_twice() {
    for agent in ALL {
        let names: BTreeSet<&str> = agent.events.iter().map(|rule| rule.theirs).collect();
        assert_eq!(names.len(), agent.events.len(), "{}", agent.name);
        assert!(agent.events.iter().all(|rule| rule.seconds >= 3), "{}", agent.name);
    }
}

#[test]
fn a_session_is_resumed_by_the_agents_own_command() {
    let argv = |id: &str| resume_command(&SessionId::new(id).unwrap()).map(|argv| argv.join(" "));
    assert_eq!(argv("gemini:4ee8"), Some("gemini --resume 4ee8".to_owned()));
    assert_eq!(argv("qwen:4ee8"), Some("qwen --resume 4ee8".to_owned()));
    assert_eq!(argv("opencode:ses_e1"), Some("opencode --session ses_e1".to_owned()));
    assert_eq!(argv("codex:4ee8"), Some("codex resume 4ee8".to_owned()));
    for id in ["4ee8", "codex:-c", "gemini:--yolo"] {
        assert_eq!(argv(id), None, "{id}");
    }
    assert_eq!(argv(&format!("gemini:{}", "a".repeat(101))), None);
}

#[test]
fn the_use_of_the_context_is_that_of_the_newest_line() {
    let line = |input: u64| format!("{{\"type\":\"gemini\",\"tokens\":{{\"input\":{input}}},\"model\":\"flash\"}}\n");
    let tail = format!("cut off\"tokens\"\n{}{}{{\"$set\":{{}}}}\n", line(5), line(7));
    let found = newest_use(tail.as_bytes(), 100).unwrap();
    assert_eq!((found.tokens, found.window, found.model.as_deref()), (7, Some(100), Some("flash")));
    assert_eq!(newest_use(line(0).as_bytes(), 100), None);
    assert_eq!(newest_use(b"", 100), None);
}

#[test]
fn conditions_name_fields_of_the_payload() {
    let fields: BTreeSet<&str> = ALL
        .iter()
        .flat_map(|agent| agent.events)
        .filter_map(|rule| match rule.condition {
            Condition::Always => None,
            Condition::Filled(field) | Condition::Equals(field, _) => Some(field),
        })
        .collect();
    assert_eq!(fields, BTreeSet::from(["notification_type", "prompt"]));
}
