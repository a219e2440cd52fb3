//! The tracker through its hooks: every row of its table, with the real executables and a real database.

mod crowds;
mod records;

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload, tool, with};
use crate::tmux::Tmux;

const SESSION: &str = "s";

/// Fires the hook of a recorded payload.
#[track_caller]
fn fire(sandbox: &Sandbox, name: &str, changes: Value) {
    let all = with(json!({ "session_id": SESSION }), &changes);
    let outcome = sandbox.hook(&part_of_payload(name), payload(name, all));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.json()["continue"].is_boolean(), "{outcome:?}");
}

/// Fires the hook of an event that could not be recorded.
#[track_caller]
fn fire_made_up(sandbox: &Sandbox, event: &str, mut payload: Value) {
    payload["hook_event_name"] = json!(event);
    let outcome = sandbox.hook(&part_of_payload(event), payload.to_string());
    assert_eq!(outcome.json(), json!({ "continue": true }));
}

fn rows(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.longhaul(&["status", "--json"]).json().as_array().cloned().unwrap_or_default()
}

#[track_caller]
fn check(sandbox: &Sandbox, status: &str) {
    let rows = rows(sandbox);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["status"], status, "{rows:?}");
}

/// Returns a sandbox whose one session has gone through `names`.
fn after(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for name in names {
        fire(&sandbox, name, json!({}));
    }
    sandbox
}

const NEW: &[&str] = &[];
const WORKING: &[&str] = &["SessionStart", "UserPromptSubmit"];
const BLOCKED: &[&str] = &["SessionStart", "UserPromptSubmit", "PermissionRequest"];
const COMPLETED: &[&str] = &["SessionStart", "UserPromptSubmit", "Stop"];
const IDLE: &[&str] = &["SessionStart"];

/// Each payload that a trigger is made of. What each trigger does in each state is in the table of the tracker's own tests.
#[test]
fn every_event_changes_the_state_as_the_machine_says() {
    let answered = &["SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse"][..];
    let none = || json!({});
    let notified = |kind: Value| json!({ "notification_type": kind });
    let shell = json!({ "background_tasks": [{ "id": "b1", "type": "shell", "status": "running" }] });
    let cases = [
        (NEW, "SessionStart", none(), "idle"),
        (WORKING, "SessionStart", none(), "working"),
        (NEW, "UserPromptSubmit", none(), "working"),
        (COMPLETED, "UserPromptSubmit", none(), "working"),
        (COMPLETED, "UserPromptSubmit", json!({ "prompt": "·" }), "completed"),
        (NEW, "PostToolUse", none(), "working"),
        (BLOCKED, "PostToolUse", none(), "working"),
        (COMPLETED, "PostToolUse", none(), "working"),
        (COMPLETED, "PostToolUseFailure-Bash", none(), "working"),
        (COMPLETED, "PostToolUse-in-subagent", none(), "completed"),
        (NEW, "PermissionRequest", none(), "blocked"),
        (WORKING, "PermissionRequest", json!({ "agent_id": "a1", "agent_type": "x" }), "blocked"),
        (COMPLETED, "PermissionRequest", none(), "completed"),
        (WORKING, "Notification-permission_prompt", none(), "blocked"),
        (WORKING, "Notification-permission_prompt", notified(json!("elicitation_dialog")), "blocked"),
        (WORKING, "Notification-permission_prompt", notified(Value::Null), "blocked"),
        (WORKING, "Notification-permission_prompt", notified(json!("idle_prompt")), "working"),
        (COMPLETED, "Notification-permission_prompt", none(), "completed"),
        (answered, "Notification-permission_prompt", none(), "working"),
        (BLOCKED, "Stop", none(), "completed"),
        (IDLE, "Stop", none(), "idle"),
        (WORKING, "Stop-background-tasks", none(), "working"),
        // A command in the background asks nothing and may run for ever.
        (WORKING, "Stop", shell, "completed"),
        (BLOCKED, "SubagentStop", none(), "working"),
        (COMPLETED, "SubagentStop", none(), "completed"),
        (WORKING, "StopFailure", json!({ "error": "rate_limit" }), "blocked"),
        (IDLE, "StopFailure", none(), "idle"),
    ];
    let sandbox = Sandbox::new();
    let session = |number: usize| format!("case{number:02}");
    for (number, (before, event, changes, _)) in cases.iter().enumerate() {
        for name in *before {
            fire(&sandbox, name, json!({ "session_id": session(number) }));
        }
        let mut changes = changes.clone();
        changes["session_id"] = json!(session(number));
        fire(&sandbox, event, changes);
    }
    let rows = rows(&sandbox);
    let row = |number: usize| rows.iter().find(|row| row["session"] == session(number)).unwrap_or(&Value::Null);
    for (number, (before, event, changes, expected)) in cases.iter().enumerate() {
        assert_eq!(row(number)["status"], *expected, "{event} after {before:?} with {changes}");
    }
    let reason = |of: &str| {
        let number = cases.iter().position(|(_, event, ..)| *event == of).unwrap();
        row(number)["reason"].clone()
    };
    assert_eq!(
        (reason("PermissionRequest"), reason("StopFailure")),
        (json!("wants to write: n.txt"), json!("rate_limit"))
    );
}

#[test]
fn subagents_are_counted_and_a_compaction_is_none() {
    let sandbox = after(WORKING);
    fire(&sandbox, "SubagentStart", json!({}));
    fire(&sandbox, "SubagentStart", json!({}));
    assert_eq!(rows(&sandbox)[0]["subagents"], 2);
    fire(&sandbox, "SubagentStop", json!({}));
    fire(&sandbox, "SubagentStop-compaction", json!({}));
    assert_eq!(rows(&sandbox)[0]["subagents"], 1);
    for _ in 0..3 {
        fire(&sandbox, "SubagentStop", json!({}));
    }
    assert_eq!(rows(&sandbox)[0]["subagents"], 0);
}

#[test]
fn a_session_in_a_worktree_of_the_client_counts_and_the_worktree_is_named() {
    let sandbox = Sandbox::new();
    let cwd = sandbox.project().join(".claude/worktrees/fix-login");
    fs::create_dir_all(&cwd).unwrap();
    fire(&sandbox, "SessionStart", json!({ "cwd": cwd }));
    fire(&sandbox, "UserPromptSubmit", json!({ "cwd": cwd }));
    fire(&sandbox, "PermissionRequest", json!({ "cwd": cwd }));
    let row = &rows(&sandbox)[0];
    assert_eq!((&row["project"], &row["agent_type"]), (&json!("project"), &json!("worktree fix-login")));
    assert!(fs::read_to_string(sandbox.data_dir().join("status")).unwrap().contains("1!"));
    let listed = sandbox.longhaul(&["status"]).stdout;
    assert!(listed.contains("project (worktree fix-login)"), "{listed}");
}

#[test]
fn a_client_that_another_session_started_is_shown_as_its_child() {
    let child = Sandbox::new().with_env("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS", "890a2a53-parent,s");
    let status = || fs::read_to_string(child.data_dir().join("status")).unwrap();
    fire(&child, "SessionStart", json!({ "session_id": "890a2a53-parent" }));
    for name in BLOCKED {
        fire(&child, name, json!({}));
    }
    assert!(status().contains("0!"), "{}", status());
    let listed = child.longhaul(&["status"]).stdout;
    assert!(listed.contains("(child of 890a2a53)"), "{listed}");
    assert_eq!(child.longhaul(&["next"]).stderr, "No session waits for you.\n");
    // The client takes the variable out of the environment of its hooks: its own environment has it.
    let mut client =
        tool("sleep").arg("600").env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "890a2a53-parent").spawn();
    let client = client.as_mut().unwrap();
    let pid = client.id().to_string();
    let mut hook = child.executable("longhaul-session-start");
    hook.env_remove("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS").env("CLAUDE_PID", pid);
    Outcome::of(&mut hook, payload("SessionStart", json!({ "session_id": "third" })).as_bytes());
    let third = rows(&child).into_iter().find(|row| row["session"] == "third").unwrap();
    assert_eq!((&third["agent_type"], &third["works_for_another"]), (&json!("child of 890a2a53"), &json!(true)));
    client.kill().unwrap();
    client.wait().unwrap();
    // Without its parent it is one of the user's own.
    fire(&child, "SessionEnd-other", json!({ "session_id": "890a2a53-parent" }));
    assert!(status().contains("1!"), "{}", status());
}

#[test]
fn a_session_whose_client_was_killed_is_gone_at_the_next_look() {
    for (events, state) in [(WORKING, "working"), (COMPLETED, "completed")] {
        // A zombie: its parent, here this test, does not wait for it. If the parent has ended, as a tmux server, nobody may.
        let mut client = tool("sleep").arg("600").spawn().unwrap();
        let sandbox = Sandbox::new().with_env("CLAUDE_PID", client.id().to_string());
        let sandbox = sandbox.with_env("TMUX", "/nowhere/tmux,1,0").with_env("TMUX_PANE", "%0");
        for name in events {
            fire(&sandbox, name, json!({}));
        }
        let outside = sandbox.with_env("TMUX", "");
        check(&outside, state);
        client.kill().unwrap();
        // The signal takes effect within moments, and not at the tenth second, at which the next search is due.
        let ended =
            || fs::read_to_string(format!("/proc/{}/stat", client.id())).is_ok_and(|stat| stat.contains(") Z "));
        wait_until(DEADLINE, "the end of the client", ended);
        assert!(rows(&outside).is_empty(), "{:?}", rows(&outside));
        client.wait().unwrap();
    }
}

#[test]
fn a_teammate_without_work_is_idle_and_not_counted() {
    for before in [NEW, BLOCKED] {
        let sandbox = after(before);
        fire_made_up(&sandbox, "TeammateIdle", json!({ "session_id": SESSION, "cwd": "/home/dev/project" }));
        check(&sandbox, "idle");
        assert_eq!(rows(&sandbox)[0]["agent_type"], "teammate");
        assert!(fs::read_to_string(sandbox.data_dir().join("status")).unwrap().contains("0."));
    }
}

#[test]
fn tasks_are_counted_and_a_prompt_begins_anew() {
    let sandbox = after(WORKING);
    for _ in 0..2 {
        fire_made_up(&sandbox, "TaskCompleted", json!({ "session_id": SESSION }));
    }
    assert_eq!(rows(&sandbox)[0]["tasks"], 2);
    fire(&sandbox, "UserPromptSubmit", json!({}));
    assert_eq!(rows(&sandbox)[0]["tasks"], 0);
}

#[test]
fn a_session_that_ends_is_gone() {
    let sandbox = after(BLOCKED);
    fire(&sandbox, "SessionEnd-other", json!({}));
    assert_eq!(rows(&sandbox), Vec::<Value>::new());
}

#[test]
fn the_summary_is_what_a_person_wrote_and_nothing_private() {
    let sandbox = after(IDLE);
    fire(&sandbox, "UserPromptSubmit", json!({ "prompt": "say \"hi\"\n\t<private>sk-secret</private> to 日本 #{x}" }));
    assert_eq!(rows(&sandbox)[0]["prompt"], "say \"hi\" to 日本 #{x}");
    fire(&sandbox, "UserPromptSubmit-task-notification", json!({}));
    assert_eq!(rows(&sandbox)[0]["prompt"], "say \"hi\" to 日本 #{x}");
}

#[test]
fn a_tool_call_while_working_touches_neither_database_nor_status_nor_tmux() {
    let sandbox = Sandbox::new();
    // A tmux that writes down that it was called.
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let calls = sandbox.path("calls");
    fs::write(bin.join("tmux"), format!("#!/bin/sh\necho \"$@\" >> {}\n", calls.display())).unwrap();
    let mut chmod = sandbox.program("chmod");
    assert!(chmod.arg("+x").arg(bin.join("tmux")).status().unwrap().success());
    let sandbox = sandbox.with_programs(&bin).with_env("TMUX", "/nowhere,1,0").with_env("TMUX_PANE", "%0");

    fire(&sandbox, "SessionStart", json!({}));
    fire(&sandbox, "UserPromptSubmit", json!({}));
    let pushes = fs::read_to_string(&calls).unwrap().lines().count();
    assert_eq!(pushes, 2, "one tmux command per change");
    let stamp = || {
        let modified = |name: &str| fs::metadata(sandbox.data_dir().join(name)).and_then(|file| file.modified()).ok();
        ["longhaul.db", "longhaul.db-wal", "longhaul.db-shm", "status"].map(modified)
    };
    let before = stamp();
    for _ in 0..5 {
        fire(&sandbox, "PostToolUse", json!({}));
    }
    assert_eq!(stamp(), before);
    assert_eq!(fs::read_to_string(&calls).unwrap().lines().count(), pushes);
}

#[test]
fn a_script_gets_the_values_as_arguments_and_never_as_code() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let told = sandbox.path("told");
    let script = format!("printf '%s\\n' \"$@\" > {0}.part; mv {0}.part {0}", told.display());
    tmux.run(&["set", "-g", "@longhaul-on-transition", &script]);
    let pane = tmux.pane(&["cat"], &[]);
    let prompt = "x; touch pwned $(touch pwned) ' \" `touch pwned`";
    let run = |executable: &str, input: String| {
        let mut command = sandbox.executable(executable);
        command.envs(tmux.variables(&pane));
        assert_eq!(Outcome::of(&mut command, input.as_bytes()).status, Some(0));
    };
    let mut refresh = sandbox.executable("longhaul");
    refresh.envs(tmux.variables(&pane)).args(["tmux", "refresh"]);
    assert_eq!(Outcome::of(&mut refresh, b"").stdout, "");
    let changes = json!({ "session_id": SESSION, "prompt": prompt, "cwd": sandbox.project() });
    run("longhaul-user-prompt-submit", payload("UserPromptSubmit", changes));
    wait_until(DEADLINE, "the script", || told.exists());
    let lines = fs::read_to_string(&told).unwrap();
    assert_eq!(lines.lines().collect::<Vec<_>>(), ["none", "working", SESSION, "project", prompt]);
    assert!(!sandbox.project().join("pwned").exists());
}

#[test]
fn outside_tmux_everything_is_stored_and_only_the_reply_is_printed() {
    let sandbox = after(WORKING);
    check(&sandbox, "working");
    let row = &rows(&sandbox)[0];
    assert_eq!((&row["project"], &row["pane"]), (&json!("project"), &Value::Null));
    assert_eq!(fs::read_to_string(sandbox.data_dir().join("status")).unwrap(), "0. 1* 0+ 0!");
}

#[test]
fn with_the_tracker_off_there_is_no_database() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"tracker":{"enabled":false},"handoff":{"enabled":false},"memory":{"enabled":false}}"#);
    fire(&sandbox, "SessionStart", json!({}));
    fire(&sandbox, "UserPromptSubmit", json!({}));
    fire(&sandbox, "Stop", json!({}));
    assert!(!sandbox.data_dir().join("longhaul.db").exists());
}

#[test]
fn another_subagents_call_does_not_answer_a_dialog() {
    let sandbox = after(WORKING);
    fire(&sandbox, "PermissionRequest", json!({ "agent_id": "asks", "agent_type": "x" }));
    fire(&sandbox, "PostToolUse-in-subagent", json!({ "agent_id": "another" }));
    check(&sandbox, "blocked");
    fire(&sandbox, "PostToolUse-in-subagent", json!({ "agent_id": "asks" }));
    check(&sandbox, "working");
}
