//! Notifications: a change of a session that lasts is reported once, by every way, with the real executables.

mod attention;
mod desktop;
mod http;
mod log;
mod once;
mod random_day;
mod terminal;
mod words;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::poll::wait_for;
use crate::sandbox::{Outcome, Sandbox, part_of_payload, payload};

/// Longer than the delay and the time limit of a way, on a slow machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// A sandbox in which notifications go to a script that records its arguments.
struct Stage {
    sandbox: Sandbox,
}

impl Stage {
    /// `notify` is the section of the configuration; `COMMAND` in it stands for the script.
    fn new(notify: &str) -> Self {
        let stage = Self { sandbox: Sandbox::new() };
        let script = stage.sandbox.path("record.sh");
        let text = format!("#!/bin/sh\nIFS='|'\necho \"$*\" >> '{}'\n", stage.record().display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        stage.configure(notify);
        stage
    }

    fn configure(&self, notify: &str) {
        let script = self.sandbox.path("record.sh");
        let notify = notify.replace("COMMAND", script.to_str().unwrap());
        self.sandbox.write_config(&format!(r#"{{"notify": {notify}}}"#));
    }

    fn record(&self) -> PathBuf {
        self.sandbox.path("record")
    }

    /// Returns what the script has recorded: a line for each call, with the arguments separated by `|`.
    fn recorded(&self) -> Vec<String> {
        fs::read_to_string(self.record()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Runs the hook of an event of a session outside tmux.
    #[track_caller]
    fn fire(&self, session: &str, event: &str, changes: Value) {
        self.fire_with(session, event, changes, &[]);
    }

    /// Does the same with variables of the environment.
    #[track_caller]
    fn fire_with(&self, session: &str, event: &str, mut changes: Value, variables: &[(&str, String)]) {
        changes["session_id"] = json!(session);
        changes["cwd"] = json!(self.sandbox.project());
        let name = event.split('-').next().unwrap_or(event);
        let executable = part_of_payload(name);
        let mut command = self.sandbox.executable(&executable);
        command.envs(variables.iter().cloned());
        let outcome = Outcome::of(&mut command, payload(event, changes).as_bytes());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert_eq!(self.sandbox.error_log(), "");
    }

    /// Makes a session work, and then ask for permission to run a command.
    #[track_caller]
    fn block(&self, session: &str, command: &str) {
        self.fire(session, "UserPromptSubmit", json!({ "prompt": "go on" }));
        self.fire(session, "PermissionRequest", json!({ "tool_name": "Bash", "tool_input": { "command": command } }));
    }

    /// Returns the log of notifications.
    #[track_caller]
    fn log(&self) -> Vec<Value> {
        let outcome = self.sandbox.longhaul(&["notify", "log", "--json", "--limit", "10000"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        outcome.json().as_array().unwrap().clone()
    }

    /// Waits until every notification has a result and there are `count`; returns way, result and reason of each.
    #[track_caller]
    fn results(&self, count: usize) -> Vec<(String, String, String)> {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let rows = wait_for(PATIENCE, &format!("{count} notifications"), || {
            let log = self.log();
            let is_open = |row: &Value| ["waiting", "sending"].contains(&row["result"].as_str().unwrap());
            (log.len() == count && !log.iter().any(is_open)).then_some(log)
        });
        rows.iter().map(|row| (text(row, "way"), text(row, "result"), text(row, "why"))).collect()
    }

    /// Returns the arguments by which a hook has started the process for the newest change of a session.
    fn newest(&self) -> [String; 3] {
        let log = self.log();
        let row = log.last().unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        [text("session"), text("state"), row["at_ms"].to_string()]
    }

    /// Runs the process again, as if it had been started twice.
    fn again(&self, args: &[String]) -> Outcome {
        Outcome::of(self.sandbox.executable("longhaul-notify").args(args), b"")
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn result(way: &str, result: &str, why: &str) -> (String, String, String) {
    (way.to_owned(), result.to_owned(), why.to_owned())
}
