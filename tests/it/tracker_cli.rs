//! The commands of the tracker, in any terminal.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::{Outcome, Sandbox, payload};

const NOW_MS: u64 = 1_794_707_999_000;

/// Runs a hook `seconds` before now.
#[track_caller]
fn fire(sandbox: &Sandbox, seconds: u64, session: &str, event: &str, mut changes: serde_json::Value) {
    changes["session_id"] = json!(session);
    let mut command = sandbox.executable("longhaul");
    command.args(["hook", event]).env("LONGHAUL_NOW_MS", (NOW_MS - 1000 * seconds).to_string());
    let outcome = Outcome::of(&mut command, payload(event, changes).as_bytes());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert!(outcome.json()["continue"].is_boolean(), "{outcome:?}");
}

fn show(outcome: &Outcome) -> String {
    format!("exit {:?}\n{}--\n{}", outcome.status.unwrap_or(-1), outcome.stdout, outcome.stderr)
}

#[test]
fn status_lists_whoever_waits_first() {
    // Nothing runs behind these rows.
    let sandbox = Sandbox::new().at(NOW_MS).with_env("LONGHAUL_NO_REAP", "1");
    assert_snapshot!(show(&sandbox.longhaul(&["status"])), @r"
    exit 0
    --
    No sessions. A session appears when Claude Code starts with the plugin.
    ");
    assert!(!sandbox.data_dir().exists());
    let project = sandbox.path("tool");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(project.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
    fire(&sandbox, 7300, "idle", "SessionStart", json!({ "cwd": "/work/idle" }));
    let prompt = "fix\nthe \u{1b}[31mbug";
    fire(&sandbox, 200, "works", "UserPromptSubmit", json!({ "cwd": project, "prompt": prompt }));
    fire(&sandbox, 100, "waits", "UserPromptSubmit", json!({ "cwd": "/work/waits", "prompt": "go on" }));
    fire(&sandbox, 59, "waits", "PermissionRequest", json!({}));
    fire(&sandbox, 90, "done", "UserPromptSubmit", json!({ "cwd": "/work/done", "prompt": "do it" }));
    fire(&sandbox, 60, "done", "Stop", json!({}));
    assert_snapshot!(show(&sandbox.longhaul(&["status"])), @r"
    exit 0
    #  STATE        AGE  CONTEXT  PROJECT  BRANCH     PANE  LAST
    1  ! blocked    59s        -  waits    -          -     wants to write: n.txt
    2  + completed   1m        -  done     -          -     do it
    3  * working     3m        -  tool     feature/x  -     fix the [31mbug
    4  . idle        2h        -  idle     -          -
    --
    ");
    let rows = sandbox.longhaul(&["status", "--json"]).json();
    let sessions: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["session"].as_str().unwrap()).collect();
    assert_eq!(sessions, ["waits", "done", "works", "idle"]);
    assert_eq!(rows[2]["branch"], "feature/x");
    assert_eq!(rows[2]["age_seconds"], 200);
    assert_eq!(rows[3]["started_at"], "2026-11-14T23:58:19Z");
    assert_snapshot!(show(&sandbox.longhaul(&["next"])), @r"
    exit 0
    blocked (wants to write: n.txt): /work/waits
    --
    ");
}

#[test]
fn a_hook_is_known_by_any_spelling_of_its_event() {
    let sandbox = Sandbox::new();
    for event in ["SessionStart", "session-start", "sessionstart", "session_start"] {
        let mut command = sandbox.executable("longhaul");
        let outcome = Outcome::of(command.args(["hook", event]), payload("SessionStart", json!({})).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{event}");
        assert_eq!(outcome.json()["continue"], true);
    }
}

#[test]
fn refresh_prints_nothing_even_when_it_fails() {
    let sandbox = Sandbox::new();
    let quiet = |outcome: Outcome| assert_eq!(show(&outcome), "exit 0\n--\n");
    quiet(sandbox.longhaul(&["tmux", "refresh"]));
    assert_eq!(sandbox.error_log(), "");
    fs::write(sandbox.data_dir().join("longhaul.db"), "x".repeat(4096)).unwrap();
    for side in ["longhaul.db-wal", "longhaul.db-shm"] {
        let _ = fs::remove_file(sandbox.data_dir().join(side));
    }
    quiet(sandbox.longhaul(&["tmux", "refresh"]));
    assert!(sandbox.error_log().contains("refresh: the database was damaged"), "{}", sandbox.error_log());
}

#[test]
fn the_entry_point_says_what_is_missing() {
    let sandbox = Sandbox::new();
    let entry = sandbox.path("longhaul.tmux");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../longhaul.tmux"), &entry).unwrap();
    // A tmux that tells what it was told.
    let tools = sandbox.path("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("tmux"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    let made = sandbox.program("chmod").arg("+x").arg(tools.join("tmux")).status().unwrap();
    assert!(made.success());
    let sandbox = sandbox.with_programs(&tools);
    let mut command = sandbox.program("sh");
    command.arg(&entry);
    let outcome = Outcome::of(&mut command, b"");
    assert_snapshot!(outcome.stdout, @r"
    set-option
    -gF
    status-right
    #{?#{m:*longhaul*,#{status-right}},,#[reverse]longhaul is not installed#[default] }#{status-right}
    display-message
    longhaul is not installed: run cargo xtask install in a clone of its repository
    ");
}
