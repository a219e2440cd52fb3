//! A model called through Claude Code: a shell script in place of `claude`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{MAKERS, NOW, RESERVED, SPENT, TROUBLE, Worker, count, sandbox, session};
use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Sandbox, bin_dir, payload, with};

/// Puts a `claude` on the path that does `script` when it is asked something.
fn with_claude(settings: serde_json::Value, script: &str) -> Sandbox {
    let all = with(json!({ "via": "claude" }), &settings);
    let sandbox = sandbox(all);
    let bin = sandbox.path("bin");
    fs::create_dir_all(&bin).unwrap();
    let claude = bin.join("claude");
    let help = "echo '  --json-schema <schema>  --system-prompt <prompt>  --tools <tools...> --settings <file>'";
    let text = format!("#!/bin/sh\nif [ \"$1\" = --help ]; then {help}; exit; fi\n{script}\n");
    fs::write(&claude, text).unwrap();
    fs::set_permissions(&claude, fs::Permissions::from_mode(0o755)).unwrap();
    let (seen, hooks) = (sandbox.path("seen"), bin_dir());
    sandbox
        .with_programs(&bin)
        .with_env("SEEN", seen.to_str().unwrap())
        .with_env("HOOKS", hooks.to_str().unwrap())
        .with_env("CLAUDECODE", "1")
        .with_env("TMUX_PANE", "%1")
}

fn seen(sandbox: &Sandbox, end: &str) -> String {
    fs::read_to_string(sandbox.path(&format!("seen{end}"))).unwrap_or_default()
}

/// Returns whether a process is gone, buried or not.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

const HANGS: &str = "sleep 600 & echo $! > $SEEN.sleep; echo $$ > $SEEN.new; mv $SEEN.new $SEEN.pid; wait";

/// Waits for a child that hangs, and returns it and its own child.
fn hanging(sandbox: &Sandbox) -> [String; 2] {
    let pid = wait_for(DEADLINE, "the child", || Some(seen(sandbox, ".pid")).filter(|pid| !pid.is_empty()));
    [pid, seen(sandbox, ".sleep")]
}

#[test]
fn the_client_is_asked_in_a_folder_of_its_own_and_leaves_no_session() {
    let answer = json!({
        "type": "result", "is_error": false, "result": "",
        "structured_output": {
            "request": "Better request", "investigated": "", "learned": "", "completed": "", "next_steps": "",
            "observations": [{ "id": 1, "title": "Better title", "narrative": "Better narrative" }],
        },
        "usage": { "input_tokens": 3, "cache_creation_input_tokens": 500, "output_tokens": 70 },
    });
    // What the client would do with hooks that are installed.
    let script = format!(
        "env > $SEEN.env; pwd > $SEEN.pwd; printf '%s\\n' \"$@\" > $SEEN.args; cat > $SEEN.stdin
         for hook in session-start user-prompt-submit stop; do
             $HOOKS/longhaul-hook $hook < $SEEN.payload > $SEEN.hook 2>&1
         done
         echo '{answer}'"
    );
    let sandbox = with_claude(json!({ "via": "claude#haiku" }), &script);
    session(&sandbox, "one");
    let own = sandbox.data_dir().join("model");
    let hook = payload("UserPromptSubmit", json!({ "session_id": "summarizer", "cwd": own, "prompt": "sum up" }));
    fs::write(sandbox.path("seen.payload"), hook).unwrap();
    let _worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "better words", || count(&sandbox, "model") == 2);
    let env = seen(&sandbox, ".env");
    assert!(env.lines().any(|line| line == "LONGHAUL_DISABLE=1"), "{env}");
    assert!(!env.contains("CLAUDECODE=") && !env.contains("TMUX_PANE="), "{env}");
    assert_eq!(seen(&sandbox, ".pwd").trim(), fs::canonicalize(own).unwrap().to_str().unwrap());
    let args = seen(&sandbox, ".args");
    assert!(args.starts_with("-p\n--output-format\njson\n") && args.contains("--json-schema\n{"), "{args}");
    assert!(args.contains("--model\nhaiku") && !args.contains("make one") && !args.contains("--safe-mode"), "{args}");
    assert!(seen(&sandbox, ".stdin").contains("make one faster"));
    assert_eq!(seen(&sandbox, ".hook").trim(), r#"{"continue":true}"#);
    assert_eq!(sandbox.rows(SPENT), ["2026-11-14 1 503 70 0"]);
    let sessions = "SELECT session_id FROM sessions UNION SELECT session_id FROM agents";
    assert_eq!(sandbox.rows(sessions), ["one"], "the summariser is no session");
    assert_eq!(sandbox.rows(MAKERS), ["model", "model"]);
}

#[test]
fn a_client_that_hangs_is_ended_with_everything_it_has_started() {
    let sandbox = with_claude(json!({}), HANGS).with_env("LONGHAUL_ANSWER_MS", "1000");
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    let pids = hanging(&sandbox);
    wait_until(DEADLINE, "the failure", || !sandbox.rows(TROUBLE).is_empty());
    assert!(sandbox.rows(TROUBLE)[0].contains("did not answer within 1 s"), "{:?}", sandbox.rows(TROUBLE));
    wait_until(DEADLINE, "the end of both", || pids.iter().all(|pid| is_gone(pid)));
    assert_eq!(count(&sandbox, "model"), 0);
}

#[test]
fn a_client_ends_with_the_worker_however_that_ends() {
    for signal in [Signal::KILL, Signal::TERM] {
        let sandbox = with_claude(json!({}), HANGS);
        session(&sandbox, "one");
        let mut worker = Worker::start(&sandbox, NOW);
        let pids = hanging(&sandbox);
        kill_process(Pid::from_child(&worker.0), signal).unwrap();
        worker.0.wait().unwrap();
        wait_until(DEADLINE, "the end of both", || pids.iter().all(|pid| is_gone(pid)));
        assert_eq!(sandbox.rows(RESERVED), ["one"], "the next worker settles it");
    }
}

#[test]
fn a_client_that_is_not_there_costs_nothing() {
    let sandbox = with_claude(json!({}), "exit 1").with_env("CLAUDE_BIN", "/nowhere/claude");
    session(&sandbox, "one");
    let _worker = Worker::start(&sandbox, NOW);
    wait_until(DEADLINE, "the failure", || !sandbox.rows(TROUBLE).is_empty());
    assert!(sandbox.rows(TROUBLE)[0].contains("/nowhere/claude"), "{:?}", sandbox.rows(TROUBLE));
    assert_eq!(sandbox.rows(SPENT), [""; 0]);
}
