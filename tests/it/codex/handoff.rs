//! Handing over between Claude Code and Codex, rewinds, and the limit of the context.

use std::fs;

use serde_json::{Value, json};

use super::written_rollout::Rollout;
use super::{Codex, SESSION, TURNS, rollout};
use crate::sandbox::with;

/// A session of Claude Code in the same project.
fn claude(codex: &Codex, session: &str, event: &str, more: Value) -> Value {
    let payload =
        with(json!({ "session_id": session, "cwd": codex.sandbox.project(), "hook_event_name": event }), &more);
    let executable = match event {
        "SessionStart" => "longhaul-session-start",
        "UserPromptSubmit" => "longhaul-user-prompt-submit",
        _ => "longhaul-stop",
    };
    codex.sandbox.hook(executable, payload.to_string()).json()
}

/// The beginning of a handoff. The page of the memory has another one.
const HANDED_OVER: &str = "Recorded from the session before this one";

fn context(answer: &Value) -> String {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// Claude Code asks for the beans, and passes on with `command`.
fn begun_in_claude(codex: &Codex, command: &str) {
    claude(codex, "aaaa", "SessionStart", json!({ "source": "startup" }));
    claude(codex, "aaaa", "UserPromptSubmit", json!({ "prompt": "Where are the beans?" }));
    claude(codex, "aaaa", "Stop", json!({ "last_assistant_message": "In the jar." }));
    claude(codex, "aaaa", "UserPromptSubmit", json!({ "prompt": command }));
}

/// The clock of a sandbox at its start, and how far each event is after the one before.
const BEGIN: u64 = 1_794_800_000_000;

fn later(codex: Codex) -> Codex {
    Codex { sandbox: codex.sandbox.at(BEGIN + 60_000), ..codex }
}

#[test]
fn codex_goes_on_with_what_claude_code_passed_on_purpose() {
    let codex = Codex::new().at(BEGIN);
    begun_in_claude(&codex, "/longhaul:tl");
    let codex = later(codex);
    let start = codex.hook("SessionStart", "session-start", json!({ "source": "startup" })).json();
    let shown = context(&start);
    assert!(shown.contains("Where are the beans?") && shown.contains("In the jar."), "{shown}");
    assert!(
        shown.contains("That session ran in Claude Code, another agent. Its tools are called Bash, Read"),
        "{shown}"
    );
    codex.prompt(0, "Count them.");
    let log = codex.sandbox.longhaul(&["handoff", "log"]).stdout;
    assert!(log.contains("merged"), "{log}");
}

#[test]
fn claude_code_goes_on_with_what_codex_passed_on_purpose() {
    let codex = Codex::new().at(BEGIN);
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.prompt(0, "What does hello.txt say?");
    codex.stop(0);
    let answer = codex.prompt(1, "$longhaul handoff").json();
    assert_eq!(answer["continue"], false, "{answer}");
    assert!(answer["stopReason"].as_str().unwrap().contains("handed over"), "{answer}");
    let codex = later(codex);
    let shown = context(&claude(&codex, "bbbb", "SessionStart", json!({ "source": "startup" })));
    assert!(shown.contains("What does hello.txt say?") && shown.contains("ran in Codex, another agent"), "{shown}");
    assert!(shown.contains("exec_command (recorded as Bash)"), "{shown}");
}

#[test]
fn a_cleared_session_is_left_to_its_own_agent() {
    let codex = Codex::new().at(BEGIN);
    begun_in_claude(&codex, "/clear");
    let codex = later(codex);
    for source in ["startup", "clear"] {
        let start = codex.hook("SessionStart", "session-start", json!({ "source": source })).json();
        assert!(!context(&start).contains(HANDED_OVER), "{source}: {start}");
    }
}

#[test]
fn after_a_clear_codex_goes_on_with_its_own_session() {
    let codex = Codex::new().at(BEGIN);
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.prompt(0, "What does hello.txt say?");
    codex.stop(0);
    let codex = later(codex);
    let next = json!({ "source": "clear", "session_id": "next", "transcript_path": null });
    let shown = context(&codex.hook("SessionStart", "session-start", next).json());
    assert!(shown.contains("What does hello.txt say?") && !shown.contains("another agent"), "{shown}");
}

#[test]
fn turns_that_a_rewind_took_back_are_not_handed_over() {
    let codex = Codex::new();
    fs::write(&codex.rollout, rollout(2)).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.stop(1);
    let show = || codex.sandbox.longhaul(&["handoff", "show"]).stdout;
    assert!(show().contains("Run the tests"), "{}", show());
    // The user goes back to the second prompt, and Codex writes another rollout.
    let end = String::from_utf8(rollout(1)).unwrap().lines().count();
    let base = json!({ "thread_id": SESSION, "end_ordinal_exclusive": end, "end_byte_offset": 1 });
    let meta = json!({ "ordinal": end, "type": "session_meta", "payload": { "id": SESSION, "history_base": base } });
    let content = json!([{ "type": "input_text", "text": "Leave the tests alone" }]);
    let item = json!({ "type": "message", "role": "user", "id": "msg_01a1de69-0000-0000", "content": content });
    let prompt = json!({ "ordinal": end + 1, "timestamp": "2026-11-15T09:00:00.000Z", "type": "response_item", "payload": item });
    let new = codex.rollout.with_file_name(format!("rollout-2026-11-15T09-00-00-{SESSION}_x.jsonl"));
    fs::write(&new, format!("{meta}\n{prompt}\n")).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "resume", "transcript_path": new }));
    codex.hook("Stop", "stop", json!({ "transcript_path": new, "last_assistant_message": "Done." }));
    let shown = show();
    assert!(shown.contains("hello.txt") && shown.contains("Leave the tests alone"), "{shown}");
    assert!(!shown.contains("Run the tests"), "{shown}");
}

#[test]
fn a_rollback_in_the_rollout_takes_turns_back() {
    let codex = Codex::new();
    let back = json!({ "timestamp": "2026-11-15T09:00:00.000Z", "type": "event_msg",
                       "payload": { "type": "thread_rolled_back", "num_turns": 1 } });
    let text = String::from_utf8(rollout(2)).unwrap();
    fs::write(&codex.rollout, &text).unwrap();
    codex.stop(1);
    fs::write(&codex.rollout, format!("{text}{back}\n")).unwrap();
    let shown = codex.sandbox.longhaul(&["handoff", "show"]).stdout;
    assert!(shown.contains("hello.txt") && !shown.contains("Run the tests"), "{shown}");
}

#[test]
fn near_the_limit_the_baton_is_written_and_the_user_is_informed_once() {
    let codex = Codex::new().at(BEGIN);
    codex.sandbox.write_config(r#"{ "continuation": { "at": "off" } }"#);
    fs::write(&codex.rollout, rollout(1)).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.prompt(0, "What does hello.txt say?");
    assert!(codex.stop(0).json()["systemMessage"].is_null(), "the context is nearly empty");
    let full = String::from_utf8(rollout(2)).unwrap().replace("\"total_tokens\":", "\"total_tokens\":200");
    fs::write(&codex.rollout, full).unwrap();
    let message = codex.stop(1).json()["systemMessage"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("% full; the baton is written: type /new"), "{message}");
    assert!(codex.stop(1).json()["systemMessage"].is_null(), "once for each session");
    let codex = later(codex);
    let next = json!({ "source": "startup", "session_id": "next", "transcript_path": null });
    let shown = context(&codex.hook("SessionStart", "session-start", next).json());
    assert!(shown.contains("Run the tests"), "{shown}");
    let other = context(&claude(&codex, "cccc", "SessionStart", json!({ "source": "startup" })));
    assert!(!other.contains(HANDED_OVER), "{other}");
}

/// Adds a call to a rollout, in the turn `turn`.
fn call(rollout: Rollout, id: &str, turn: &str, name: &str, arguments: &Value) -> Rollout {
    let (id, passed) = (format!("call_{id:0>16}"), json!({ "turn_id": turn }));
    let call = json!({ "type": "function_call", "name": name, "call_id": id, "arguments": arguments.to_string(),
        "internal_chat_message_metadata_passthrough": passed });
    let output = json!({ "type": "function_call_output", "call_id": id, "output": "ok",
        "internal_chat_message_metadata_passthrough": passed });
    rollout.line("response_item", call).line("response_item", output)
}

#[test]
fn after_a_compaction_codex_is_given_back_what_it_is_no_longer_shown() {
    let codex = Codex::new();
    let said =
        |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let mut asked = said("now write the parser");
    asked["internal_chat_message_metadata_passthrough"] = json!({ "turn_id": TURNS[0] });
    let patch = "*** Begin Patch\n*** Add File: src/lost.rs\n+x\n*** Update File: src/named.rs\n+y\n*** End Patch";
    let plan = json!({ "plan": [{ "step": "print the tree", "status": "pending" }] });
    let mut rollout = Rollout::first()
        .turn("never use tabs in the makefile", "noted")
        .turn("always name the file", "noted")
        .line("response_item", asked);
    for (id, name, arguments) in [
        ("1", "exec_command", json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF") })),
        ("2", "shell", json!({ "command": ["bash", "-lc", "make parser"] })),
        ("3", "exec_command", json!({ "cmd": "make named" })),
        ("4", "update_plan", plan),
    ] {
        rollout = call(rollout, id, TURNS[0], name, &arguments);
    }
    fs::write(&codex.rollout, &rollout.text).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "startup" }));
    codex.prompt(0, "now write the parser");
    codex.hook("PreCompact", "pre-compact", json!({ "turn_id": TURNS[0], "trigger": "auto" }));
    let kept = [said("always name the file"), said("now write the parser")];
    let compacted =
        json!({ "message": "They worked on src/named.rs and ran `make named`.", "replacement_history": kept });
    fs::write(&codex.rollout, &rollout.line("compacted", compacted).text).unwrap();
    let answer = codex.hook("SessionStart", "session-start", json!({ "source": "compact" })).json();
    let text = context(&answer);
    for part in
        ["- never use tabs in the makefile\n", "- pending: print the tree\n", " src/lost.rs\n", "- make parser\n"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    for absent in ["now write the parser", "always name the file", "src/named.rs", "make named", "apply_patch"] {
        assert!(!text.contains(absent), "{absent:?} is in {text}");
    }
    let message = answer["systemMessage"].as_str().unwrap();
    assert!(message.contains("after the compaction: 1 file, 1 command, 1 open task given back"), "{message}");
    assert_eq!(context(&codex.hook("SessionStart", "session-start", json!({ "source": "compact" })).json()), "");
    assert_eq!(codex.sandbox.error_log(), "");
}
