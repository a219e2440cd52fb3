//! As a plugin: installed once, and removed without a trace.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use super::{Machine, succeeds};
use crate::poll::{DEADLINE, wait_for};
use crate::tmux::Tmux;

#[test]
fn what_install_puts_anywhere_uninstall_takes_away() {
    let machine = Machine::new();
    let home = machine.sandbox.home();
    machine.write_settings(
        "{\n    \"model\": \"opus\",\n    \"statusLine\": {\"type\": \"command\", \"command\": \"echo 'hi'\"}\n}\n",
    );
    fs::write(home.join(".tmux.conf"), "set -g mouse on\n").unwrap();
    fs::create_dir_all(home.join(".claude/plugins/cache")).unwrap();
    let before = machine.listing();

    let installed = machine.install("1.0.0", &["--yes"]);
    succeeds(&installed);
    for next in ["tmux new claude", "longhaul memory import", "longhaul doctor"] {
        assert!(installed.stderr.contains(next), "{installed:?}");
    }
    assert_eq!(machine.plugins()[0]["enabled"], true);
    assert_eq!(machine.plugins()[0]["version"], "1.0.0");
    succeeds(&machine.longhaul(&["--version"]));
    assert!(
        machine.settings_text().contains(r"longhaul statusline -- sh -c 'echo '\\''hi'\\'''"),
        "{}",
        machine.settings_text()
    );
    assert!(fs::read_to_string(home.join(".tmux.conf")).unwrap().contains("tmux setup"));
    let logs = home.join(".cache/claude-cli-nodejs/p/mcp-logs-plugin-longhaul-longhaul");
    fs::create_dir_all(&logs).unwrap();
    machine.sandbox.write_config("{}");
    fs::write(machine.sandbox.data_dir().join("mine"), "not yours").unwrap();

    let again = machine.longhaul(&["install", "--yes"]);
    assert_eq!((again.status, again.stdout.as_str()), (Some(0), ""), "{again:?}");
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);

    let refused = machine.longhaul(&["uninstall", "--purge"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    succeeds(&machine.longhaul(&["uninstall", "--purge", "--yes"]));
    assert!(!logs.exists());
    fs::remove_dir_all(home.join(".cache")).unwrap();
    assert_eq!(machine.listing(), before);
    assert_eq!(machine.plugins(), Value::Array(Vec::new()));
    let left: Vec<_> = fs::read_dir(machine.sandbox.data_dir()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["mine"], "what is not ours stays");
}

#[test]
fn an_empty_home_is_empty_again_even_when_the_note_of_what_was_done_is_lost() {
    for is_lost in [false, true] {
        let machine = Machine::new();
        fs::create_dir_all(machine.sandbox.home().join(".claude/plugins/cache")).unwrap();
        for folder in [".local/bin", ".local/lib"].iter().filter(|_| is_lost) {
            fs::create_dir_all(machine.sandbox.home().join(folder)).unwrap();
        }
        let before = machine.listing();
        succeeds(&machine.install("1.0.0", &["--yes"]));
        let settings = machine.settings_text();
        if is_lost {
            fs::remove_file(machine.sandbox.home().join(".local/lib/longhaul/installed.json")).unwrap();
        }
        succeeds(&machine.longhaul(&["uninstall"]));
        if is_lost {
            // Nobody knows any more that the client's two empty members were not there before.
            assert!(settings.contains("statusLine") && !machine.settings_text().contains("statusLine"));
            fs::remove_file(machine.settings()).unwrap();
        }
        assert_eq!(machine.listing(), before, "lost: {is_lost}");
    }
}

#[test]
fn without_the_client_the_executables_are_installed_and_one_command_is_left() {
    let machine = Machine::without_client();
    let installed = machine.install("1.0.0", &[]);
    assert_eq!(installed.status, Some(1), "{installed:?}");
    for text in ["Claude Code is not on the PATH", "run ~/.local/bin/longhaul install again", "not its plugin"] {
        assert!(installed.stderr.contains(text), "{text}: {installed:?}");
    }
    assert!(!installed.stderr.contains("Next:"), "{installed:?}");
    succeeds(&machine.longhaul(&["--version"]));
    assert!(!machine.settings().exists());
}

#[test]
fn a_client_that_fails_holds_nothing_up() {
    let machine = Machine::installed();
    fs::write(machine.sandbox.path("tools/claude"), "#!/bin/sh\necho 'unknown command plugin' >&2\nexit 1\n").unwrap();
    let installed = machine.install("1.1.0", &[]);
    assert_eq!(installed.status, Some(1), "{installed:?}");
    assert!(installed.stderr.contains("unknown command plugin"), "{installed:?}");
    assert!(fs::read_link(machine.link()).unwrap().to_string_lossy().contains("1.1.0"));
    let doctor = machine.longhaul(&["doctor"]);
    assert_eq!(doctor.status, Some(1));
    assert!(doctor.stdout.contains("unknown command plugin"), "{doctor:?}");
    let gone = machine.longhaul(&["uninstall"]);
    succeeds(&gone);
    assert!(gone.stderr.contains("claude plugin uninstall longhaul@longhaul"), "{gone:?}");
    assert!(!machine.link().exists());
}

#[test]
fn enter_means_yes_each_question_names_its_file_and_no_other_answer_is_taken() {
    let machine = Machine::new();
    let home = machine.sandbox.home();
    let tmux = Tmux::start(&machine.sandbox);
    let program = machine.bundle("1.0.0");
    let pane = tmux.pane(&["sh", "-c", r#""$0" install; echo ended $?; sleep 3600"#, program.to_str().unwrap()], &[]);
    // The names of files can be longer than a line.
    let screen = || tmux.run(&["capture-pane", "-p", "-J", "-S", "-", "-t", &pane.0]);
    let shows = |text: &str| wait_for(DEADLINE, text, || screen().contains(text).then_some(()));
    shows(&format!("({}) [Y/n]", home.join(".tmux.conf").display()));
    tmux.type_text(&pane, "maybe\n");
    shows("Please answer y or n.");
    tmux.type_text(&pane, "\n");
    shows(&format!("({}) [Y/n]", machine.settings().display()));
    tmux.type_text(&pane, "n\n");
    shows(&format!("({}) [Y/n]", machine.sandbox.data_dir().join("config.json").display()));
    tmux.type_text(&pane, "\n");
    shows("ended 0");
    assert!(screen().contains("  claude   ") && !screen().contains("tmux new"), "{}", screen());
    assert!(fs::read_to_string(home.join(".tmux.conf")).unwrap().contains("tmux setup"));
    assert!(!machine.settings_text().contains("statusLine"));
    assert!(fs::read_to_string(machine.sandbox.data_dir().join("config.json")).unwrap().contains("notify"));
}

#[test]
fn a_dry_run_shows_every_change_and_makes_none() {
    let machine = Machine::new();
    let before = machine.listing();
    let shown = machine.install("1.0.0", &["--yes", "--dry-run"]);
    succeeds(&shown);
    for step in
        ["copy longhaul 1.0.0", "link ", "plugin marketplace add", "plugin install", "status line", ".tmux.conf"]
    {
        assert!(shown.stdout.contains(step), "{step}: {shown:?}");
    }
    assert_eq!(machine.listing(), before);
    succeeds(&machine.install("1.0.0", &[]));
    let before = machine.listing();
    let shown = machine.longhaul(&["uninstall", "--purge", "--dry-run"]);
    assert!(shown.stdout.contains("plugin uninstall"), "{shown:?}");
    assert_eq!(machine.listing(), before);
}

#[test]
fn what_somebody_else_has_put_on_the_path_stays() {
    let machine = Machine::new();
    fs::create_dir_all(machine.sandbox.home().join(".local/bin")).unwrap();
    fs::write(machine.link(), "theirs").unwrap();
    let installed = machine.install("1.0.0", &["--yes"]);
    succeeds(&installed);
    assert!(installed.stderr.contains("was not installed by Longhaul"), "{installed:?}");
    assert_eq!(fs::read_to_string(machine.link()).unwrap(), "theirs");
    assert!(!machine.settings_text().contains("statusline"));
    fs::remove_file(machine.link()).unwrap();
    symlink("/usr/bin/env", machine.link()).unwrap();
    succeeds(&machine.install("1.0.0", &[]));
    assert_eq!(fs::read_link(machine.link()).unwrap().to_str(), Some("/usr/bin/env"));
    succeeds(&machine.install("1.0.0", &["--dry-run"]));
}

#[test]
fn an_executable_outside_of_a_bundle_says_what_to_do() {
    let machine = Machine::new();
    let refused = machine.sandbox.longhaul(&["install"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("cargo xtask install"), "{refused:?}");
}

#[test]
fn a_plugin_of_a_project_is_uninstalled_from_any_folder() {
    let machine = Machine::installed();
    let project = machine.sandbox.path("other-project");
    fs::create_dir(&project).unwrap();
    fs::write(machine.sandbox.path("client/project"), project.to_str().unwrap()).unwrap();
    let shown = machine.longhaul(&["uninstall", "--dry-run"]).stdout;
    let step = format!("claude plugin uninstall longhaul@longhaul --scope project in {}", project.display());
    assert!(shown.contains(&step), "{shown}");
    succeeds(&machine.longhaul(&["uninstall"]));
    assert!(!machine.sandbox.path("client/plugin").exists());
}
