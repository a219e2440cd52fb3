//! Payloads that are late, deep or misleading.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

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
    let database = gemini.sandbox.database();
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
