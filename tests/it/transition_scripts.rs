//! What is run when a session changes: a program gets arguments, a shell's text `$1` to `$5`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Outcome, Sandbox, payload};
use crate::tmux::{Pane, Tmux};

const SESSION: &str = "s1";

/// A session in a pane, and a file into which the script writes what it got.
struct Stage {
    pane: Pane,
    tmux: Tmux,
    sandbox: Sandbox,
}

impl Stage {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let tmux = Tmux::start(&sandbox);
        let pane = tmux.pane(&["cat"], &[]);
        Self { pane, tmux, sandbox }
    }

    /// Writes a script that notes its arguments, one a line.
    fn script(&self, path: &Path, first_line: &str) {
        let told = self.sandbox.path("told");
        let text =
            format!("{first_line}\nprintf '%s\\n' \"$#\" \"$@\" > '{0}.part'; mv '{0}.part' '{0}'\n", told.display());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    fn fire(&self, event: &str, mut changes: Value) {
        changes["session_id"] = json!(SESSION);
        changes["cwd"] = json!(self.sandbox.project());
        let name =
            if event == "UserPromptSubmit" { "longhaul-user-prompt-submit" } else { "longhaul-permission-request" };
        let mut command = self.sandbox.executable(name);
        command.envs(self.tmux.variables(&self.pane));
        assert_eq!(Outcome::of(&mut command, payload(event, changes).as_bytes()).status, Some(0));
    }

    /// Sets the option, makes the session work, and returns what the script got.
    #[track_caller]
    fn told(&self, option: &str, value: &str) -> Vec<String> {
        let told = self.sandbox.path("told");
        self.tmux.run(&["set", "-g", option, value]);
        let mut refresh = self.sandbox.executable("longhaul");
        refresh.envs(self.tmux.variables(&self.pane)).args(["tmux", "refresh"]);
        assert_eq!(Outcome::of(&mut refresh, b"").status, Some(0));
        self.fire("UserPromptSubmit", json!({ "prompt": "fix\u{1b}]0;x\u{7} it" }));
        wait_until(DEADLINE, value, || told.exists());
        let lines = fs::read_to_string(&told).unwrap().lines().map(str::to_owned).collect();
        fs::remove_file(told).unwrap();
        assert_eq!(self.sandbox.error_log(), "");
        lines
    }
}

const VALUES: [&str; 5] = ["none", "working", SESSION, "project", "fix]0;x it"];

fn with(own: &[&str]) -> Vec<String> {
    let count = (own.len() + VALUES.len()).to_string();
    [count.as_str()].iter().chain(own).chain(&VALUES).map(|value| (*value).to_owned()).collect()
}

#[test]
fn a_path_gets_the_values_as_arguments() {
    for (option, place, value, first_line, own) in [
        ("@claude-tracker-on-transition", "home/my scripts/notify.sh", "{}", "#!/bin/sh", &[][..]),
        ("@longhaul-on-working", "home/plain", "{}", "# no interpreter", &[]),
        (
            "@longhaul-on-working",
            "home/bin/notify",
            "~/bin/notify --title 'two words'",
            "#!/bin/sh",
            &["--title", "two words"],
        ),
    ] {
        let stage = Stage::new();
        let path = stage.sandbox.path(place);
        stage.script(&path, first_line);
        let value = value.replace("{}", path.to_str().unwrap());
        assert_eq!(stage.told(option, &value), with(own), "{option} {value}");
    }
}

#[test]
fn a_shells_text_gets_them_as_its_own_arguments_and_the_fifth_is_what_is_waited_for() {
    let stage = Stage::new();
    let path = stage.sandbox.path("home/notify.sh");
    stage.script(&path, "#!/bin/sh");
    let told = stage.told("@longhaul-on-transition", &format!("{} \"$4\" \"$5\"", path.display()));
    assert_eq!(told, ["2", "project", "fix]0;x it"]);
    stage.fire("PermissionRequest", json!({}));
    let told = stage.sandbox.path("told");
    wait_until(DEADLINE, "the script", || told.exists());
    assert_eq!(fs::read_to_string(&told).unwrap().lines().collect::<Vec<_>>(), ["2", "project", "permission: Write"]);
}

#[test]
fn a_program_that_cannot_be_started_is_logged_and_keeps_nothing_from_its_place() {
    let stage = Stage::new();
    let path = stage.sandbox.path("home/notify.sh");
    stage.script(&path, "#!/bin/sh");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    stage.tmux.run(&["set", "-g", "@longhaul-on-working", path.to_str().unwrap()]);
    let mut refresh = stage.sandbox.executable("longhaul");
    refresh.envs(stage.tmux.variables(&stage.pane)).args(["tmux", "refresh"]);
    Outcome::of(&mut refresh, b"");
    stage.fire("UserPromptSubmit", json!({}));
    assert_eq!(stage.tmux.format(&stage.pane, "#{@longhaul-state}"), "working");
    let log = stage.sandbox.error_log();
    assert!(log.contains("notify.sh") && log.to_lowercase().contains("permission denied"), "{log}");
}
