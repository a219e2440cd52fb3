//! A tmux server that no longer answers.

use serde_json::json;

use super::{Session, answer, in_time};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, tool};
use crate::tmux::Tmux;

/// A server that is stopped; it goes on when dropped.
struct Stopped(String);

impl Stopped {
    fn new(pid: String) -> Self {
        signal("STOP", &pid);
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("CONT", &self.0);
    }
}

fn signal(name: &str, pid: &str) {
    let done = tool("kill").args(["-s", name, pid]).status().unwrap();
    assert!(done.success(), "kill -s {name} {pid}");
}

#[test]
fn every_hook_answers_in_time_and_the_status_is_shown_when_it_is_back() {
    let sandbox = Sandbox::new().impatient();
    let tmux = Tmux::start(&sandbox);
    let pane = tmux.pane(&["sleep", "3600"], &[]);
    let session = Session::new(&sandbox, "s");
    let fire = |name: &str, changes: serde_json::Value| {
        let (mut command, payload) = session.hook(name, &changes);
        command.envs(tmux.variables(&pane));
        in_time(name.split('-').next().unwrap(), || answer(&Outcome::of(&mut command, payload.as_bytes())))
    };
    fire("SessionStart", json!({ "source": "startup" }));
    let stopped = Stopped::new(tmux.format(&pane, "#{pid}"));
    for (name, changes) in [
        ("SessionStart", json!({ "source": "resume" })),
        ("UserPromptSubmit", json!({ "prompt": "go" })),
        ("PreToolUse", json!({})),
        ("PermissionRequest", json!({})),
        ("PostToolUse", json!({ "tool_use_id": "meanwhile" })),
        ("Notification-idle_prompt", json!({})),
        ("SubagentStop", json!({})),
        ("Stop", json!({})),
    ] {
        fire(name, changes);
    }
    assert_eq!(sandbox.rows("SELECT status FROM agents"), ["completed"], "the row does not wait for tmux");
    drop(stopped);
    fire("UserPromptSubmit", json!({ "prompt": "again" }));
    wait_until(DEADLINE, "the status", || tmux.format(&pane, "#{@longhaul-state}") == "working");
    super::check_whole(&sandbox);
}
