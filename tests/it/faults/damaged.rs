//! Files with anything in them: the log, the spool, the config, the session's record, a plan, what is cached.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::{Session, check_whole, in_time, stored_calls};
use crate::sandbox::{Outcome, Sandbox};

/// What can stand in a file that is not what it was.
fn damages() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("nothing", Vec::new()),
        ("zeros", vec![0; 8192]),
        ("no text", (0..=255_u8).cycle().take(10_000).collect()),
        ("deep", b"[".repeat(100_000)),
        ("half", br#"{"session":"s","started_at":"#.to_vec()),
        ("another shape", br#"{"session":7,"started_at":"x","terminal":[],"tool_use_id":{},"bookmarks":[1]}"#.to_vec()),
        ("one line of five megabytes", b"x".repeat(5 << 20)),
    ]
}

/// Damages a file of a session that has lived for a turn, in every way, and lives for another.
#[track_caller]
fn survives(file: impl Fn(&Sandbox) -> PathBuf) {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s");
    session.turn("before");
    fs::create_dir_all(file(&sandbox).parent().unwrap()).unwrap();
    let mut expected = vec!["before".to_owned()];
    for (name, content) in damages() {
        fs::write(file(&sandbox), &content).unwrap();
        expected.extend([format!("first call with {name}"), format!("turn after {name}")]);
        let [.., first, after] = &expected[..] else { panic!("two were added") };
        in_time("PostToolUse", || session.call(first));
        in_time("Stop", || session.fire("Stop", json!({ "last_assistant_message": "done" })));
        in_time("SessionStart", || session.fire("SessionStart", json!({ "source": "resume" })));
        session.turn(after);
        let stored = stored_calls(&sandbox);
        assert_eq!(stored, expected, "{name}: {}", sandbox.error_log());
        assert!(sandbox.count_lines("s", "T") >= 2, "{name}: {:?}", sandbox.log_lines("s"));
        assert!(!sandbox.error_log().contains("panicked"), "{name}: {}", sandbox.error_log());
        assert_eq!(sandbox.rows("SELECT status FROM agents"), ["completed"], "{name}");
    }
}

#[test]
fn an_activity_log_is_written_on() {
    survives(|sandbox| sandbox.data_dir().join("sessions/s.log"));
}

#[test]
fn a_spool_is_written_on_and_what_can_be_read_of_it_is_read() {
    survives(|sandbox| sandbox.data_dir().join("spool/s.jsonl"));
}

#[test]
fn nothing_is_stored_while_the_config_is_damaged() {
    for (name, content) in damages() {
        let sandbox = Sandbox::new();
        let session = Session::new(&sandbox, "s");
        session.turn("before");
        let path = sandbox.data_dir().join("config.json");
        let whole = fs::read(&path).unwrap();
        // A JSON object with bad values: each has its default.
        let is_in_force = name == "another shape";
        fs::write(&path, &content).unwrap();
        in_time("PostToolUse", || session.call("meanwhile"));
        in_time("Stop", || session.fire("Stop", json!({ "last_assistant_message": "done" })));
        fs::write(&path, whole).unwrap();
        session.turn("after");
        let expected = ["before", "meanwhile", "after"].into_iter().filter(|id| is_in_force || *id != "meanwhile");
        assert_eq!(stored_calls(&sandbox), expected.collect::<Vec<_>>(), "{name}: {}", sandbox.error_log());
        assert!(!sandbox.error_log().contains("panicked"), "{name}: {}", sandbox.error_log());
    }
}

#[test]
fn a_sessions_record_is_done_without() {
    survives(|sandbox| sandbox.data_dir().join("sessions/s.json"));
    survives(|sandbox| sandbox.data_dir().join("sessions/another.json"));
}

#[test]
fn a_cached_status_and_the_workers_file_are_done_without() {
    survives(|sandbox| sandbox.data_dir().join("status"));
    survives(|sandbox| sandbox.data_dir().join("worker.json"));
}

#[test]
fn a_pipe_in_place_of_the_config_is_not_waited_for() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    let path = sandbox.data_dir().join("config.json");
    fs::remove_file(&path).unwrap();
    assert_eq!(Outcome::of(sandbox.program("mkfifo").arg(&path), b"").status, Some(0));
    in_time("SessionStart", || session.fire("SessionStart", json!({ "source": "startup" })));
    in_time("PostToolUse", || session.call("one"));
    fs::remove_file(&path).unwrap();
    session.turn("two");
    assert_eq!(stored_calls(&sandbox), ["two"]);
}

#[test]
fn a_folder_in_place_of_a_file_costs_only_what_was_in_it() {
    for file in ["sessions/s.log", "sessions/s.json", "spool/s.jsonl", "config.json", "status", "longhaul.log"] {
        let sandbox = Sandbox::new();
        let session = Session::started(&sandbox, "s");
        session.turn("before");
        let path = sandbox.data_dir().join(file);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(&path).unwrap();
        session.turn("meanwhile");
        session.fire("SessionStart", json!({ "source": "resume" }));
        fs::remove_dir(&path).unwrap();
        session.turn("after");
        let stored = stored_calls(&sandbox);
        assert_eq!((stored.first(), stored.last()), (Some(&"before".to_owned()), Some(&"after".to_owned())), "{file}");
        check_whole(&sandbox);
    }
}

#[test]
fn a_plan_with_anything_in_its_row_holds_nothing_up() {
    for damage in [
        "state = 'dancing'",
        "fired = 'no list'",
        "fired = '[1, {\"x\": null}]'",
        "round = -1",
        "attempt = 99999999999",
        "since = -9223372036854775807, deadline = 9223372036854775807",
        "client_pid = -5",
        "paused = 7, question = -1, lifts = -1",
        "stuck_in = 'nowhere', nonce = ''",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write_config(r#"{"continuation":{"at":1000}}"#);
        let session = Session::new(&sandbox, "s");
        let usage = json!({ "input_tokens": 5_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
        let entry = json!({ "type": "assistant", "uuid": "u",
                            "message": { "model": "claude-opus-5-5", "usage": usage } });
        fs::write(session.transcript(), format!("{entry}\n")).unwrap();
        session.fire("SessionStart", json!({ "source": "startup" }));
        let asked = session.fire("Stop", json!({}));
        assert_eq!(asked["decision"], "block", "{asked}");
        let damaged = sandbox.database();
        damaged.pragma_update(None, "ignore_check_constraints", true).unwrap();
        assert_eq!(damaged.execute(&format!("UPDATE continuations SET {damage}"), []).unwrap(), 1);
        drop(damaged);
        session.turn("one");
        session.fire("Stop", json!({ "stop_hook_active": true }));
        session.fire("SessionEnd-clear", json!({}));
        session.fire("SessionStart", json!({ "source": "clear" }));
        assert_eq!(stored_calls(&sandbox), ["one"], "{damage}");
        let status = sandbox.longhaul(&["continuation", "status", "--json"]);
        assert!(matches!(status.status, Some(0 | 1)) && status.stdout.starts_with('['), "{damage}: {status:?}");
        assert!(!sandbox.error_log().contains("cannot "), "{damage}: {}", sandbox.error_log());
    }
}
