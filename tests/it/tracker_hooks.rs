//! The tracker through its hooks: every row of its table, with the real executables and a real database.

mod crowds;
mod records;

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload, tool};
use crate::tmux::Tmux;

const SESSION: &str = "s";

/// Fires the hook of a recorded payload.
#[track_caller]
fn fire(sandbox: &Sandbox, name: &str, changes: Value) {
    let event = name.split('-').next().unwrap();
    let mut all = json!({ "session_id": SESSION });
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let outcome = sandbox.hook(&executable(event), payload(name, all));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.json()["continue"].is_boolean(), "{outcome:?}");
}

/// Fires the hook of an event that could not be recorded.
#[track_caller]
fn fire_made_up(sandbox: &Sandbox, event: &str, mut payload: Value) {
    payload["hook_event_name"] = json!(event);
    let outcome = sandbox.hook(&executable(event), payload.to_string());
    assert_eq!(outcome.json(), json!({ "continue": true }));
}

fn executable(event: &str) -> String {
    event.chars().fold("longhaul".to_owned(), |name, c| {
        if c.is_ascii_uppercase() { format!("{name}-{}", c.to_ascii_lowercase()) } else { format!("{name}{c}") }
    })
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

const WORKING: &[&str] = &["SessionStart", "UserPromptSubmit"];
const BLOCKED: &[&str] = &["SessionStart", "UserPromptSubmit", "PermissionRequest"];
const COMPLETED: &[&str] = &["SessionStart", "UserPromptSubmit", "Stop"];
const IDLE: &[&str] = &["SessionStart"];

#[test]
fn a_session_starts_idle_and_a_second_start_changes_nothing() {
    check(&after(IDLE), "idle");
    check(&after(&["SessionStart", "UserPromptSubmit", "SessionStart"]), "working");
}

#[test]
fn a_prompt_makes_any_session_work_and_creates_a_missing_one() {
    for before in [&[][..], IDLE, WORKING, BLOCKED, COMPLETED] {
        let sandbox = after(before);
        fire(&sandbox, "UserPromptSubmit", json!({}));
        check(&sandbox, "working");
    }
}

#[test]
fn a_tool_makes_it_work_unless_it_does() {
    for event in ["PostToolUse", "PostToolUseFailure-Bash"] {
        for before in [IDLE, WORKING, BLOCKED, COMPLETED] {
            let sandbox = after(before);
            fire(&sandbox, event, json!({}));
            check(&sandbox, "working");
        }
    }
}

#[test]
fn a_permission_request_blocks_only_what_works() {
    for (before, expected) in [(WORKING, "blocked"), (IDLE, "idle"), (COMPLETED, "completed"), (BLOCKED, "blocked")] {
        let sandbox = after(before);
        fire(&sandbox, "PermissionRequest", json!({}));
        check(&sandbox, expected);
    }
    assert_eq!(rows(&after(BLOCKED))[0]["reason"], "wants to write: n.txt");
}

#[test]
fn a_subagents_dialog_blocks_and_its_next_tool_unblocks() {
    let sandbox = after(WORKING);
    fire(&sandbox, "PermissionRequest", json!({ "agent_id": "a1", "agent_type": "x" }));
    check(&sandbox, "blocked");
    fire(&sandbox, "PostToolUse-in-subagent", json!({ "agent_id": "a1" }));
    check(&sandbox, "working");
}

#[test]
fn a_subagents_tool_does_not_wake_the_pane() {
    for (before, expected) in [(IDLE, "idle"), (COMPLETED, "completed")] {
        let sandbox = after(before);
        fire(&sandbox, "PostToolUse-in-subagent", json!({}));
        check(&sandbox, expected);
    }
}

#[test]
fn only_a_notification_that_asks_blocks() {
    for (changes, expected) in [
        (json!({}), "blocked"),
        (json!({ "notification_type": "elicitation_dialog" }), "blocked"),
        (json!({ "notification_type": null }), "blocked"),
        (json!({ "notification_type": "idle_prompt" }), "working"),
        (json!({ "notification_type": "auth_success" }), "working"),
    ] {
        let sandbox = after(WORKING);
        fire(&sandbox, "Notification-permission_prompt", changes.clone());
        check(&sandbox, expected);
    }
    for (before, expected) in [(IDLE, "idle"), (COMPLETED, "completed")] {
        let sandbox = after(before);
        fire(&sandbox, "Notification-permission_prompt", json!({}));
        check(&sandbox, expected);
    }
}

#[test]
fn a_notification_that_comes_after_the_answer_is_ignored() {
    let sandbox = after(BLOCKED);
    fire(&sandbox, "PostToolUse", json!({}));
    fire(&sandbox, "Notification-permission_prompt", json!({}));
    check(&sandbox, "working");
}

#[test]
fn a_stop_completes_what_works_or_waits() {
    for (before, expected) in [(WORKING, "completed"), (BLOCKED, "completed"), (IDLE, "idle")] {
        let sandbox = after(before);
        fire(&sandbox, "Stop", json!({}));
        check(&sandbox, expected);
    }
}

#[test]
fn a_stop_while_subagents_run_does_not() {
    let sandbox = after(WORKING);
    fire(&sandbox, "Stop-background-tasks", json!({}));
    check(&sandbox, "working");
    // A command in the background asks nothing and may run for ever.
    let shell = json!([{ "id": "b1", "type": "shell", "status": "running" }]);
    fire(&sandbox, "Stop", json!({ "background_tasks": shell }));
    check(&sandbox, "completed");
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
fn a_subagents_return_unblocks() {
    for (before, expected) in [(BLOCKED, "working"), (COMPLETED, "completed"), (IDLE, "idle")] {
        let sandbox = after(before);
        fire(&sandbox, "SubagentStop", json!({}));
        check(&sandbox, expected);
    }
}

#[test]
fn a_failure_blocks_with_its_kind() {
    let sandbox = after(WORKING);
    fire(&sandbox, "StopFailure", json!({ "error": "rate_limit" }));
    check(&sandbox, "blocked");
    assert_eq!(rows(&sandbox)[0]["reason"], "rate_limit");
    let sandbox = after(IDLE);
    fire(&sandbox, "StopFailure", json!({}));
    check(&sandbox, "idle");
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
    for before in [&[][..], IDLE, WORKING, BLOCKED, COMPLETED] {
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
    for before in [IDLE, WORKING, BLOCKED, COMPLETED] {
        let sandbox = after(before);
        fire(&sandbox, "SessionEnd-other", json!({}));
        assert_eq!(rows(&sandbox), Vec::<Value>::new());
    }
}

#[test]
fn a_bookmark_is_nobodys_prompt() {
    let sandbox = after(COMPLETED);
    fire(&sandbox, "UserPromptSubmit", json!({ "prompt": "·" }));
    check(&sandbox, "completed");
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
fn spaced_and_multi_line_json_is_read() {
    let sandbox = after(IDLE);
    let text = "{\n  \"session_id\" : \"s\" ,\n\t\"hook_event_name\":  \"UserPromptSubmit\",\n \"prompt\" : \"a \\\"b\\\" \\u00e9\\ud83d\\ude00\"\n}\n";
    assert_eq!(sandbox.hook("longhaul-user-prompt-submit", text).json(), json!({ "continue": true }));
    check(&sandbox, "working");
    assert_eq!(rows(&sandbox)[0]["prompt"], "a \"b\" é😀");
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

#[test]
fn a_session_that_no_hook_has_told_of_gets_a_row_from_whichever_comes_first() {
    for (event, status) in [("PostToolUse", "working"), ("PermissionRequest", "blocked")] {
        let sandbox = Sandbox::new();
        fire(&sandbox, event, json!({}));
        check(&sandbox, status);
    }
}

#[test]
fn a_permission_for_a_tool_without_a_name_is_only_a_permission() {
    for (tool, reason) in [("Write", "wants to write: n.txt"), ("", "wants permission")] {
        let sandbox = after(&["SessionStart", "UserPromptSubmit"]);
        fire(&sandbox, "PermissionRequest", json!({ "tool_name": tool }));
        assert_eq!(rows(&sandbox)[0]["reason"], reason);
    }
}
