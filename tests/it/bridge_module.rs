//! The module inside Claude Code (`plugin/hooks/bridge.ts`): type-checked, and run without Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sandbox::tool;

/// Where the machine must have a compiler, as in continuous integration, its absence is a failure.
const REQUIRED: &str = "LONGHAUL_REQUIRE_TSC";

/// The module as JavaScript.
struct Compiled {
    folder: TempDir,
}

impl Compiled {
    fn module(&self) -> PathBuf {
        self.folder.path().join("plugin/hooks/bridge.js")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

static COMPILED: LazyLock<Option<Compiled>> = LazyLock::new(|| {
    let folder = TempDir::new().expect("cannot make a temporary directory");
    let mut tsc = tool("tsc");
    tsc.arg("-p").arg(root().join("tests/bridge")).arg("--rootDir").arg(root()).arg("--outDir").arg(folder.path());
    let output = match tsc.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os(REQUIRED).is_none(), "no TypeScript compiler: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    fs::write(folder.path().join("package.json"), r#"{"type":"module"}"#).expect("cannot write package.json");
    Some(Compiled { folder })
});

/// Plays `scenario` to the module and returns the calls that it makes; `None` where there is no compiler.
fn play(scenario: &Value) -> Option<Vec<Value>> {
    let compiled = COMPILED.as_ref()?;
    let mut node = tool("node");
    let output = node
        .arg(root().join("tests/bridge/play.mjs"))
        .arg(compiled.module())
        .arg(scenario.to_string())
        .output()
        .expect("where the compiler is, node is");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).ok()
}

/// Returns the names of the calls, with what was told.
fn names(calls: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let name = |call: &Value| match call[0].as_str() {
        Some("tell") => text(&call[1]),
        Some(name @ ("log" | "submit")) => name.to_owned(),
        _ => call.as_array().expect("calls are lists").iter().map(text).collect::<Vec<_>>().join(" "),
    };
    calls.iter().map(name).collect()
}

fn turn() -> Value {
    json!(["turn.complete", { "reason": "answer", "answer": "x", "turnId": "t" }])
}

/// One test for all: compiling takes longer than playing.
#[test]
fn the_module_does_as_it_is_told_and_no_more() {
    it_tells_what_happens_and_does_what_it_is_told();
    a_subagents_turn_is_none();
    what_it_does_not_understand_it_leaves_and_says_so_once();
    what_the_client_refuses_is_told_and_may_be_answered_again();
    what_has_begun_meanwhile_is_not_cleared();
    an_executable_that_fails_stops_nothing();
}

fn it_tells_what_happens_and_does_what_it_is_told() {
    let scenario = json!({
        "events": [["session.start", { "cwd": "/", "isInteractive": true }], turn(),
                   ["session.end", { "reason": "clear", "sessionId": "session-1" }]],
        "draft": "half a thought",
        "answers": {
            "turn": [{ "actions": [{ "do": "status", "text": "context 50 %" }, { "do": "clear" }] }],
            "cleared": [{ "actions": [{ "do": "submit", "text": "go on" }, { "do": "toast", "text": "gone on" }] }],
            "end": [{ "actions": [{ "do": "status", "text": null }] }],
        },
    });
    let Some(calls) = play(&scenario) else { return };
    assert_eq!(
        names(&calls),
        [
            "bridge start",
            "bridge turn",
            "status context 50 %",
            "run clear",
            "bridge cleared",
            "submit",
            "toast gone on",
            "bridge end",
            "status null"
        ]
    );
    assert_eq!(calls[0][2], json!({ "plugin": "longhaul", "session": "session-1", "interactive": true }));
    assert_eq!(calls[0][4], json!({ "CLAUDE_PID": "" }), "the number of a client around this one is none of its own");
    assert_eq!(calls[5][1], json!({ "text": "go on", "asUser": true }));
    let told = &calls[1][2];
    assert_eq!((&told["reason"], &told["draft_empty"]), (&json!("answer"), &json!(false)));
    assert_eq!(told["usage"]["context"]["tokens"], 5);
}

/// The client puts a `/clear` that comes while a turn runs behind that turn.
fn what_has_begun_meanwhile_is_not_cleared() {
    let start = |agent: Value| json!(["turn.start", { "text": "x", "turnId": "t", "agentId": agent }]);
    let answers = json!({
        "turn": [{ "actions": [{ "do": "status", "text": "full" }, { "do": "clear" }, { "do": "compact" }] }],
        "cleared": [{ "actions": [{ "do": "submit", "text": "go on" }] }],
    });
    let played = |during: &str, meanwhile: Value| {
        play(&json!({ "events": [turn()], "answers": answers, "meanwhile": { during: meanwhile } }))
    };
    for begun in [json!(["prompt.submit", { "text": "x" }]), json!(["turn.start", { "text": "x", "turnId": "t" }])] {
        let Some(calls) = played("turn", begun.clone()) else { return };
        assert_eq!(names(&calls), ["bridge turn", "status full", "bridge overtaken"], "{begun}");
        assert_eq!(calls[2][2]["do"], "clear");
        let Some(calls) = played("cleared", begun) else { return };
        assert_eq!(names(&calls)[2..5], ["run clear", "bridge cleared", "bridge overtaken"]);
    }
    let Some(calls) = played("turn", start(json!("agent"))) else { return };
    assert_eq!(names(&calls)[2..], ["run clear", "bridge cleared", "submit", "compact"], "a subagent's is none");
}

fn a_subagents_turn_is_none() {
    let agent = json!(["turn.complete", { "reason": "answer", "answer": "x", "turnId": "t", "agentId": "a" }]);
    let Some(calls) = play(&json!({ "events": [agent], "answers": {} })) else { return };
    assert_eq!(calls, [Value::Null; 0]);
}

fn what_it_does_not_understand_it_leaves_and_says_so_once() {
    for answer in [
        json!("no JSON"),
        json!("hang"),
        json!("{}"),
        json!({ "actions": [{ "do": "dance" }] }),
        json!({ "actions": [{ "do": "submit" }] }),
    ] {
        let answers = json!({ "turn": [answer.clone(), answer.clone()] });
        let Some(calls) = play(&json!({ "events": [turn(), turn()], "answers": answers })) else { return };
        assert_eq!(names(&calls), ["bridge turn", "log", "bridge trouble", "bridge turn"], "{answer}");
        assert_eq!(calls[1][1][1], "debug", "not into the conversation");
    }
}

fn what_the_client_refuses_is_told_and_may_be_answered_again() {
    let scenario = json!({
        "events": [turn()],
        "refuses": ["run"],
        "answers": {
            "turn": [{ "actions": [{ "do": "clear" }] }],
            "failed": [{ "actions": [{ "do": "clear" }] }],
        },
    });
    let Some(calls) = play(&scenario) else { return };
    assert_eq!(names(&calls), ["bridge turn", "run clear", "bridge failed", "run clear", "bridge cleared"]);
    assert_eq!((&calls[2][2]["do"], &calls[2][2]["error"]), (&json!("clear"), &json!("Error: not now")));
}

fn an_executable_that_fails_stops_nothing() {
    let Some(calls) = play(&json!({ "events": [turn()], "exitCode": 1, "answers": {} })) else { return };
    assert_eq!(names(&calls), ["bridge turn", "log", "bridge trouble"]);
}
