//! Which sessions count as lost: those that neither ended nor run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::SIX;
use super::scene::Scene;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, payload, shell_line};

fn listed(scene: &Scene) -> Vec<Value> {
    scene.longhaul(&["reopen", "--json"]).json().as_array().unwrap().clone()
}

#[test]
fn a_session_that_was_left_is_not_listed_and_a_running_one_neither() {
    let mut scene = Scene::new();
    let left = scene.start(&SIX[0]);
    scene.start(&SIX[1]);
    left.quit();
    assert_eq!(listed(&scene), [Value::Null; 0]);
    assert!(scene.longhaul(&["reopen"]).stderr.contains("Nothing to reopen"));
}

#[test]
fn a_session_whose_server_is_killed_counts_as_lost_although_its_client_still_reports_its_end() {
    for (is_server_killed, lost) in [(true, 1), (false, 0)] {
        let mut scene = Scene::new();
        scene.start(&SIX[0]);
        let pane = scene.tmux.run(&["list-panes", "-t", "=api:4", "-F", "#{pane_id}"]);
        let variable = scene.tmux.variable();
        if is_server_killed {
            let server = scene.tmux.run(&["display-message", "-p", "#{pid}"]);
            scene.tmux.run(&["kill-server"]);
            // Clients report their end later than that.
            wait_until(DEADLINE, "the end of the server", || {
                let stat = fs::read_to_string(format!("/proc/{}/stat", server.trim()));
                stat.map_or(true, |stat| stat.contains(") Z "))
            });
        } else {
            scene.tmux.run(&["kill-pane", "-t", &pane]);
        }
        let end = payload("SessionEnd-other", json!({ "session_id": SIX[0].id }));
        let mut hook = scene.sandbox.executable("longhaul-session-end");
        let outcome = Outcome::of(hook.env("TMUX", variable).env("TMUX_PANE", &pane), end.as_bytes());
        assert_eq!(outcome.status, Some(0));
        wait_until(DEADLINE, "the list", || listed(&scene).len() == lost);
    }
}

#[test]
fn a_client_that_was_killed_is_reopened_in_the_server_that_still_runs() {
    let mut scene = Scene::new();
    scene.start(&SIX[0]);
    scene.start(&SIX[2]);
    let before = scene.windows();
    let pid = scene.tmux.run(&["list-panes", "-t", "=api:1", "-F", "#{pane_pid}"]);
    // Not by `run-shell`: tmux may never answer a client whose pane ends.
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_until(DEADLINE, "the end of the window", || scene.windows().len() == 1);
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(scene.windows(), before, "{outcome:?}");
}

#[test]
fn a_renamed_window_comes_back_with_its_new_name_and_one_that_tmux_names_stays_so() {
    let mut scene = Scene::new();
    let client = scene.start(&SIX[0]);
    scene.start(&SIX[1]);
    scene.tmux.run(&["rename-window", "-t", "=api:4", "renamed"]);
    scene.tmux.run(&["set-option", "-w", "-t", "=web:2", "automatic-rename", "on"]);
    client.replies(["done"]);
    client.submit("again");
    client.wait_for_state("the turn", |state| state.stops == 2);
    // Without any hook, a refresh reads the windows.
    assert_eq!(scene.longhaul_inside(&["tmux", "refresh"]).status, Some(0));
    scene.kill_server();
    assert_eq!(scene.longhaul(&["reopen", "--yes"]).status, Some(0));
    wait_until(DEADLINE, "the names", || scene.windows() == ["api:4 renamed one", "web:2 claude two"]);
}

#[test]
fn codex_is_resumed_by_its_own_command() {
    let mut scene = Scene::new();
    let (hook, arguments) = (shell_line("longhaul-codex"), scene.sandbox.path("arguments"));
    let rollout = scene.sandbox.path("rollout.jsonl");
    fs::write(&rollout, "{}\n").unwrap();
    let start = json!({ "session_id": "019a-7", "hook_event_name": "SessionStart", "source": "startup",
                        "transcript_path": rollout, "cwd": scene.sandbox.project() });
    let codex = scene.sandbox.path("bin/codex");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\necho '{start}' | {} session-start\nsleep 3600\n",
        arguments.display(),
        hook
    );
    fs::write(&codex, script).unwrap();
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755)).unwrap();
    scene.tmux.run(&["new-session", "-d", "-s", "other", "-n", "codex", "env", "codex", "--first"]);
    wait_until(DEADLINE, "the session", || scene.longhaul(&["status"]).stdout.contains("idle"));
    // Stores the window, if the hook's own process has not yet.
    assert_eq!(scene.longhaul_inside(&["tmux", "refresh"]).status, Some(0));
    scene.kill_server();
    wait_until(DEADLINE, "the list", || listed(&scene).len() == 1);
    let outcome = scene.longhaul(&["reopen", "--yes"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(fs::read_to_string(&arguments).unwrap(), "--first\nresume 019a-7\n");
    assert_eq!(scene.windows(), ["other:0 codex project"]);
}
