//! The cases that cannot be recorded, or that need another clock.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::INTERVAL;
use super::replay::Client;
use crate::sandbox::payload;
use crate::tmux::Tmux;

const SESSION: &str = "s";

fn event(name: &str) -> Value {
    serde_json::from_str(&payload(name, json!({ "session_id": SESSION }))).unwrap()
}

fn record(status: &str) -> Value {
    json!({ "sessionId": SESSION, "kind": "interactive", "status": status })
}

/// Returns a client that works since 1 s.
fn working() -> Client {
    let mut client = Client::new();
    client.hook(0, "SessionStart", &event("SessionStart"));
    client.hook(1_000, "UserPromptSubmit", &event("UserPromptSubmit"));
    client.write_record(1_000, &record("busy"));
    client
}

#[track_caller]
fn check(client: &Client, ms: u64, state: Option<&str>) {
    let states = client.check("by hand", ms);
    assert_eq!(states.first().map(|(_, state)| state.as_str()), state, "at {ms} ms");
}

#[test]
fn a_permissions_notification_that_comes_after_stop_changes_nothing() {
    let mut client = working();
    client.hook(2_000, "PermissionRequest", &event("PermissionRequest"));
    client.write_record(2_000, &json!({ "sessionId": SESSION, "kind": "interactive", "status": "waiting" }));
    client.write_record(3_000, &record("busy"));
    client.hook(3_100, "PostToolUse", &event("PostToolUse"));
    client.hook(3_200, "Stop", &event("Stop"));
    client.write_record(3_300, &record("idle"));
    client.hook(8_300, "Notification", &event("Notification-permission_prompt"));
    check(&client, 10_000, Some("completed"));
    // A new turn within 45 seconds of the question is not blocked by the late notification, either.
    client.hook(11_000, "UserPromptSubmit", &event("UserPromptSubmit"));
    client.write_record(11_000, &record("busy"));
    client.hook(12_000, "Notification", &event("Notification-permission_prompt"));
    check(&client, 20_000, Some("working"));
}

#[test]
fn a_client_that_is_stopped_by_a_signal_keeps_its_state() {
    let mut client = working();
    let pid = Pid::from_raw(client.pid() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    check(&client, 10_000, Some("working"));
    // An hour later it still has not changed.
    check(&client, 3_600_000, Some("working"));
    kill_process(pid, Signal::CONT).unwrap();
    client.hook(3_601_000, "Stop", &event("Stop"));
    client.write_record(3_601_100, &record("idle"));
    check(&client, 3_601_100 + INTERVAL, Some("completed"));
}

#[test]
fn the_machine_sleeps_for_an_hour_during_a_turn_and_during_a_dialog() {
    const HOUR: u64 = 3_600_000;
    let mut client = working();
    check(&client, 1_000 + HOUR, Some("working"));
    client.hook(2_000 + HOUR, "PermissionRequest", &event("PermissionRequest"));
    client.write_record(2_000 + HOUR, &json!({ "sessionId": SESSION, "kind": "interactive", "status": "waiting" }));
    check(&client, 2 * HOUR + 2_000, Some("blocked"));
    // Answered right after waking up.
    client.write_record(2 * HOUR + 3_000, &record("busy"));
    check(&client, 2 * HOUR + 3_000 + INTERVAL, Some("working"));
    client.hook(2 * HOUR + 20_000, "Stop", &event("Stop"));
    client.write_record(2 * HOUR + 20_100, &record("idle"));
    check(&client, 2 * HOUR + 20_000 + INTERVAL, Some("completed"));
}

#[test]
fn the_clock_goes_back_by_an_hour() {
    const LATER: u64 = 3_600_000;
    let mut client = Client::new();
    client.hook(LATER, "SessionStart", &event("SessionStart"));
    client.hook(LATER + 1_000, "UserPromptSubmit", &event("UserPromptSubmit"));
    client.write_record(LATER + 1_000, &record("busy"));
    // From here on it is an hour earlier. Esc, which no hook reports:
    client.write_record(2_000, &record("idle"));
    check(&client, 2_000 + INTERVAL, Some("idle"));
    client.hook(8_000, "UserPromptSubmit", &event("UserPromptSubmit"));
    client.write_record(8_000, &record("busy"));
    check(&client, 8_000 + INTERVAL, Some("working"));
    client.hook(14_000, "PermissionRequest", &event("PermissionRequest"));
    client.write_record(14_000, &json!({ "sessionId": SESSION, "kind": "interactive", "status": "waiting" }));
    check(&client, 14_000 + INTERVAL, Some("blocked"));
    // Refused, which no hook reports, either.
    client.write_record(20_000, &record("idle"));
    check(&client, 20_000 + INTERVAL, Some("idle"));
}

#[test]
fn the_tmux_server_is_gone_and_another_one_has_the_same_pane() {
    for stopped in [false, true] {
        let mut client = Client::new();
        let tmux = Tmux::start(&client.sandbox);
        let pane = tmux.run(&["list-panes", "-t", "main", "-F", "#{pane_id}"]);
        client.in_tmux(&tmux.variable(), &pane);
        client.hook(0, "SessionStart", &event("SessionStart"));
        client.hook(1_000, "UserPromptSubmit", &event("UserPromptSubmit"));
        if stopped {
            client.hook(2_000, "Stop", &event("Stop"));
        }
        drop(tmux);
        client.end();
        let tmux = Tmux::start(&client.sandbox);
        assert_eq!(tmux.run(&["list-panes", "-t", "main", "-F", "#{pane_id}"]), pane, "the same id");
        client.in_tmux(&tmux.variable(), &pane);
        // Also a session that was completed is not shown in a pane that is another one.
        check(&client, 5_000, None);
    }
}
