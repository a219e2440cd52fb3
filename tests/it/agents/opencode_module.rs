//! Longhaul's module for opencode, run by node, with a program in the place of `longhaul` that records how it is called.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Where the machine must have node, as in continuous integration, its absence is a failure.
const REQUIRED: &str = "LONGHAUL_REQUIRE_TSC";

/// Records its event and its payload, and prints the answer to that event. If it hangs, its output stays open.
const RECORDER: &str = r#"#!/bin/sh
here=${0%/*}
printf '%s\t%s\n' "$4" "$(cat)" >> "$here/calls"
if [ -e "$here/hangs-$4" ]; then sleep 8 & fi
if [ -e "$here/answer-$4" ]; then cat "$here/answer-$4"; fi
"#;

/// The installed module, and the program that it starts.
struct Module {
    sandbox: Sandbox,
    /// How long the module waits for an answer, in milliseconds.
    limit_ms: u32,
}

impl Module {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.home().join(".config/opencode")).unwrap();
        let installed = sandbox.longhaul(&["install", "--agent", "opencode"]);
        assert_eq!(installed.status, Some(0), "{installed:?}");
        let module = Self { sandbox, limit_ms: 6_000 };
        let program = module.folder().join("longhaul");
        fs::create_dir_all(module.folder()).unwrap();
        fs::write(&program, RECORDER).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        module
    }

    fn folder(&self) -> PathBuf {
        self.sandbox.path("recorder")
    }

    fn answers(&self, event: &str, answer: &Value) {
        fs::write(self.folder().join(format!("answer-{event}")), answer.to_string()).unwrap();
    }

    fn hangs(&self, event: &str) {
        fs::write(self.folder().join(format!("hangs-{event}")), "").unwrap();
    }

    /// Plays `steps` to the module; `None` where there is no node.
    fn play(&self, steps: &Value) -> Option<Value> {
        let text = fs::read_to_string(self.sandbox.home().join(".config/opencode/plugin/longhaul.js")).unwrap();
        let line = text.lines().find(|line| line.starts_with("const LONGHAUL = ")).expect("the program is named");
        let program = json!(self.folder().join("longhaul"));
        let text = text.replacen(line, &format!("const LONGHAUL = {program}"), 1);
        // A test does not wait as long as a user may have to.
        let text = text.replacen("LIMIT_MS = 6_000", &format!("LIMIT_MS = {}", self.limit_ms), 1);
        let module = self.folder().join("module.mjs");
        fs::write(&module, text).unwrap();
        let player = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/opencode/play.mjs");
        let output = match self.sandbox.program("node").arg(player).arg(module).arg(steps.to_string()).output() {
            Ok(output) => output,
            Err(error) => {
                assert!(std::env::var_os(REQUIRED).is_none(), "no node: {error}");
                return None;
            }
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }

    /// Returns the payloads of an event.
    fn calls(&self, event: &str) -> Vec<Value> {
        let calls = fs::read_to_string(self.folder().join("calls")).unwrap_or_default();
        let calls = calls.lines().filter_map(|line| line.split_once('\t'));
        calls.filter(|(name, _)| *name == event).map(|(_, payload)| serde_json::from_str(payload).unwrap()).collect()
    }
}

fn prompt(session: &str, text: &str) -> Value {
    let parts = json!([{ "id": "prt_1", "type": "text", "text": text }]);
    json!(["chat.message", { "sessionID": session }, { "message": { "id": "msg_1" }, "parts": parts }])
}

fn result(call: &str, result: Value) -> Value {
    json!(["tool.execute.after", { "tool": "notes_search", "sessionID": "s1", "callID": call, "args": {} }, result])
}

#[test]
fn the_texts_of_an_mcp_servers_result_are_its_output() {
    let module = Module::new();
    let content =
        json!([{ "type": "text", "text": "one" }, { "type": "image", "data": "" }, { "type": "text", "text": "two" }]);
    let steps = json!([
        prompt("s1", "look it up"),
        result("c1", json!({ "content": content })),
        result("c2", json!({ "content": [{ "type": "text", "text": "no such note" }], "isError": true })),
        result("c3", json!({ "title": "x", "output": "plain", "metadata": { "exit": 3 } })),
        prompt("s1", "and again"),
    ]);
    let Some(played) = module.play(&steps) else { return };
    assert_eq!(played["errors"], json!([]));
    let found: Vec<Value> =
        module.calls("tool.execute.after").into_iter().map(|call| call["tool_response"].clone()).collect();
    assert_eq!(
        found,
        [json!({ "output": "one\ntwo" }), json!({ "error": "no such note" }), json!({ "output": "plain", "exit": 3 })]
    );
}

#[test]
fn no_hook_of_the_module_fails() {
    let module = Module::new();
    let steps = json!([
        ["tool.execute.after", null, null],
        ["chat.message", { "sessionID": "s1" }, { "message": null, "parts": null }],
        ["event", { "event": { "type": "message.updated", "properties": null } }],
        ["event", null],
        ["config", null],
        result("c1", Value::Null),
        prompt("s1", "go on"),
    ]);
    let Some(played) = module.play(&steps) else { return };
    assert_eq!(played["errors"], json!([]));
    assert_eq!(module.calls("chat.message").len(), 1, "the module goes on working");
}

#[test]
fn what_a_summary_lacks_is_added_to_the_system_prompt() {
    let module = Module::new();
    let event =
        |kind: &str, properties: Value| json!(["event", { "event": { "type": kind, "properties": properties } }]);
    let system =
        |session: &str| json!(["experimental.chat.system.transform", { "sessionID": session }, { "system": ["own"] }]);
    let part = |part: Value| event("message.part.updated", json!({ "part": part }));
    let text = |id: &str, message: &str, text: &str| {
        part(json!({ "id": id, "sessionID": "s1", "messageID": message, "type": "text", "text": text }))
    };
    let summary = json!({ "info": { "id": "msg_9", "sessionID": "s1", "role": "assistant", "summary": true } });
    module.answers("session.start", &json!({ "hookSpecificOutput": { "additionalContext": "it lacks this" } }));
    let steps = json!([
        prompt("s1", "begin"),
        prompt("s2", "another session"),
        system("s1"),
        part(json!({ "id": "prt_8", "sessionID": "s1", "messageID": "msg_8", "type": "compaction", "auto": true })),
        ["experimental.session.compacting", { "sessionID": "s1" }, { "context": [] }],
        event("message.updated", summary),
        text("prt_9", "msg_9", "half"),
        text("prt_9", "msg_9", "half of it is said"),
        text("prt_7", "msg_7", "no summary"),
        event("session.compacted", json!({ "sessionID": "s1" })),
        system("s1"),
        system("s2"),
        ["experimental.session.compacting", { "sessionID": "s1" }, { "context": [] }],
        system("s1"),
    ]);
    let Some(played) = module.play(&steps) else { return };
    assert_eq!(played["errors"], json!([]));
    assert_eq!(played["systems"], json!([["own"], ["own", "it lacks this"], ["own"], ["own"]]));
    assert_eq!(module.calls("session.compacting")[0]["trigger"], "auto");
    assert_eq!(module.calls("session.compacted")[0]["compact_summary"], "half of it is said");
    assert_eq!(module.calls("session.start").last().unwrap()["source"], "compact");
}

#[test]
fn a_prompt_that_longhaul_has_handled_is_reported_to_the_user_and_the_model() {
    let module = Module::new();
    module.answers("chat.message", &json!({ "continue": false, "stopReason": "baton written" }));
    let Some(played) = module.play(&json!([prompt("s1", "/tl")])) else { return };
    assert_eq!(played["toasts"], json!(["baton written"]));
    let added = played["parts"][0][1]["text"].as_str().unwrap_or_default();
    assert!(added.contains("baton written") && added.contains("Nothing is left to do"), "{played}");
}

#[test]
fn opencode_never_waits_long_for_a_program_that_hangs() {
    let module = Module { limit_ms: 1_000, ..Module::new() };
    for event in ["session.start", "chat.message", "session.end"] {
        module.hangs(event);
    }
    let [first, second, third] = ["s1", "s2", "s3"].map(|session| prompt(session, "go on"));
    let Some(played) = module.play(&json!([first, second, third, ["dispose"]])) else { return };
    assert_eq!(played["errors"], json!([]));
    let ms: Vec<u64> = serde_json::from_value(played["ms"].clone()).unwrap();
    assert!(ms[..3].iter().all(|ms| *ms < 1_900), "a prompt waits for one second, also with its session: {ms:?}");
    assert!(ms[3] < 3_000, "the end waits for 1.5 s, also with three sessions: {ms:?}");
    assert_eq!(module.calls("session.end").len(), 3, "and each of them is reported");
}

#[test]
fn results_that_come_faster_than_they_are_stored_are_left_out() {
    let module = Module::new();
    let results = (0..300).map(|call| result(&format!("c{call}"), json!({ "output": "x" })));
    let steps: Vec<Value> =
        std::iter::once(prompt("s1", "go on")).chain(results).chain([prompt("s1", "and?")]).collect();
    let Some(played) = module.play(&json!(steps)) else { return };
    assert_eq!(played["errors"], json!([]));
    let stored = module.calls("tool.execute.after").len();
    assert!((1..=100).contains(&stored), "{stored} were reported");
}
