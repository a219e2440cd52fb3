//! Payloads that are late, deep or misleading.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Agent;
use crate::poll::SLACK;
use crate::sandbox::payload;

/// The limit that Gemini CLI has for the event.
const LIMIT: Duration = Duration::from_secs(3);

#[test]
fn the_wait_for_a_late_payload_is_part_of_the_time() {
    let mut gemini = Agent::new("gemini");
    gemini.sandbox = gemini.sandbox.impatient();
    gemini.send("SessionStart", json!({}));
    // Another process writes all the time.
    let database = rusqlite::Connection::open(gemini.sandbox.data_dir().join("longhaul.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let changes = json!({ "session_id": gemini.id, "cwd": gemini.sandbox.project(), "prompt": "beans?" });
    let text = payload("gemini/BeforeAgent", changes);
    let mut command = gemini.sandbox.executable("longhaul");
    command.args(["hook", "--agent", "gemini", "BeforeAgent"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The agent is slow: this is what is tested, not a wait for something to happen.
    std::thread::sleep(Duration::from_secs(2));
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let took = started.elapsed();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"continue\":true"), "{output:?}");
    assert!(took < LIMIT + SLACK, "{took:?}");
}

#[test]
fn a_result_of_any_depth_is_stored() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "where are the beans kept?" }));
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let text = payload(
        "gemini/AfterTool",
        json!({ "session_id": gemini.id, "cwd": gemini.sandbox.project(),
        "tool_input": { "command": "cat beans.txt", "deep": "DEEP" },
        "tool_response": { "llmContent": "Output: beans", "returnDisplay": "beans", "data": "DEEP" } }),
    );
    let text = text.replace("\"DEEP\"", &deep);
    let mut command = gemini.sandbox.executable("longhaul");
    let outcome =
        crate::sandbox::Outcome::of(command.args(["hook", "--agent", "gemini", "AfterTool"]), text.as_bytes());
    assert_eq!(outcome.json(), json!({ "continue": true }));
    gemini.send("AfterAgent", json!({ "prompt_response": "In the jar." }));
    assert_eq!(gemini.sandbox.error_log(), "");
    gemini.finds("beans.txt", "beans.txt");
}

#[test]
fn a_text_about_an_exit_code_is_no_failure() {
    let gemini = Agent::new("gemini");
    gemini.send("SessionStart", json!({}));
    gemini.send("BeforeAgent", json!({ "prompt": "read the beans report" }));
    let read = json!({ "tool_name": "read_file", "tool_input": { "file_path": "report.txt" },
                       "tool_response": { "llmContent": "All beans\nExit Code: 3\ncounted", "returnDisplay": "" } });
    gemini.send("AfterTool", read);
    gemini.send("AfterAgent", json!({ "prompt_response": "Read." }));
    let rows: Value = serde_json::from_str(&gemini.longhaul(&["memory", "search", "report.txt", "--json"])).unwrap();
    let kinds: Vec<&Value> =
        rows.as_array().unwrap().iter().map(|row| &row["kind"]).filter(|kind| !kind.is_null()).collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| **kind != "problem"), "{rows}");
}
