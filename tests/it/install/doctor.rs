//! `longhaul doctor`: what is wrong, how severe it is, and how to fix it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use longhaul_core::catalog::Job;
use serde_json::json;

use super::{Machine, fill, succeeds};
use crate::sandbox::{Outcome, payload};

/// Checks that the doctor finds `what`, with a mend, and as bad as `level`; returns the mend.
#[track_caller]
pub(super) fn finds(machine: &Machine, check: &str, level: &str, what: &str) -> String {
    finding(&machine.longhaul(&["doctor", "--json"]), check, level, what)
}

/// Checks that it has found that, in what it printed as JSON.
#[track_caller]
pub(super) fn finding(outcome: &Outcome, check: &str, level: &str, what: &str) -> String {
    let found = outcome.json();
    let findings = found.as_array().unwrap();
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let finding =
        findings.iter().find(|finding| text(finding, "check") == check && text(finding, "what").contains(what));
    let finding = finding.unwrap_or_else(|| panic!("no {check} {what:?} in {found:#}"));
    assert_eq!(finding["level"], level, "{finding}");
    assert!(level == "note" || level == "ok" || finding["fix"].is_string(), "{finding}");
    let is_broken = findings.iter().any(|finding| finding["level"] == "broken");
    assert_eq!(outcome.status, Some(i32::from(is_broken)));
    text(finding, "fix")
}

#[test]
fn a_fresh_installation_is_well() {
    let machine = Machine::installed();
    let outcome = machine.longhaul(&["doctor"]);
    succeeds(&outcome);
    assert!(outcome.stderr.contains("No problems found."), "{outcome:?}");
    finds(&machine, "hooks", "ok", "plugin longhaul@longhaul 1.0.0, 15 events");
    finds(&machine, "fired", "note", "no hook has run yet");
}

#[test]
fn it_sees_hooks_that_are_missing_doubled_or_switched_off() {
    let machine = Machine::installed();
    let hooks = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"longhaul hook Stop"}]}]}}"#;
    machine.write_settings(hooks);
    finds(&machine, "hooks", "broken", "registered twice");
    fs::remove_file(machine.settings()).unwrap();
    fs::create_dir_all(machine.sandbox.project().join(".claude")).unwrap();
    fs::write(machine.sandbox.project().join(".claude/settings.json"), hooks).unwrap();
    finds(&machine, "hooks", "broken", "registered twice");
    fs::remove_dir_all(machine.sandbox.project().join(".claude")).unwrap();
    machine.write_settings(r#"{"disableAllHooks":true}"#);
    finds(&machine, "hooks", "broken", "disables the hooks");
    machine.write_settings("{}");
    fs::write(machine.sandbox.path("client/disabled"), "").unwrap();
    finds(&machine, "hooks", "broken", "is disabled");
    fs::remove_file(machine.sandbox.path("client/plugin")).unwrap();
    finds(&machine, "hooks", "broken", "no hooks are registered");
}

#[test]
fn it_sees_executables_that_are_gone() {
    let machine = Machine::installed();
    let real = fs::canonicalize(machine.link()).unwrap();
    fs::remove_file(real.with_file_name("longhaul-hook")).unwrap();
    finds(&machine, "executables", "broken", "missing longhaul-hook");
    finds(&machine, "hooks", "broken", "registers executables that cannot be run");
}

#[test]
fn of_one_job_alone_it_wants_no_more_than_that_job_has() {
    let machine = Machine::new();
    let folder = machine.sandbox.path("dist/longhaul-tracker");
    for dir in [".claude-plugin", "bin", "hooks"] {
        fs::create_dir_all(folder.join(dir)).unwrap();
    }
    fs::write(folder.join(".claude-plugin/plugin.json"), r#"{"name":"longhaul-tracker","version":"1.0.0"}"#).unwrap();
    let command = "${CLAUDE_PLUGIN_ROOT}/bin/longhaul-hook";
    let hooks = json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let program = fill(&folder.join("bin"), Some(Job::Tracker));
    fs::create_dir_all(machine.link().parent().unwrap()).unwrap();
    symlink(program, machine.link()).unwrap();
    let list = |enabled: bool| {
        let plugin = json!([{
            "id": "longhaul-tracker@longhaul", "version": "1.0.0", "enabled": enabled, "readFromFolder": folder,
        }]);
        fs::write(machine.sandbox.path("tools/claude"), format!("#!/bin/sh\necho '{plugin}'\n")).unwrap();
    };
    list(true);
    finds(&machine, "executables", "ok", "no executable is missing");
    finds(&machine, "hooks", "ok", "1 events, only the job tracker");
    list(false);
    let fix = finds(&machine, "hooks", "broken", "is disabled");
    assert_eq!(fix, "run `claude plugin enable longhaul-tracker@longhaul`");
    fs::remove_file(folder.join("bin/longhaul-hook")).unwrap();
    finds(&machine, "executables", "broken", "missing longhaul-hook");
}

#[test]
fn it_sees_what_is_stored_and_who_may_read_it() {
    let machine = Machine::installed();
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "seen" })));
    finds(&machine, "database", "ok", "no damage, schema");
    finds(&machine, "fired", "ok", "in session seen");
    let database = machine.sandbox.data_dir().join("longhaul.db");
    finds(&machine, "permissions", "ok", "only you can read");
    fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
    finds(&machine, "permissions", "warning", "longhaul.db");
    machine.sandbox.write_config(r#"{"typo":1}"#);
    finds(&machine, "config", "warning", "typo: no such key");
    for beside in ["longhaul.db-wal", "longhaul.db-shm"] {
        let _ = fs::remove_file(database.with_file_name(beside));
    }
    fs::write(&database, "x".repeat(8192)).unwrap();
    finds(&machine, "database", "broken", "is damaged");
    assert_eq!(fs::read(&database).unwrap().len(), 8192, "looking changes nothing");
}

#[test]
fn it_sees_sessions_without_us_and_transcripts_that_are_gone() {
    let machine = Machine::installed();
    machine.start_session();
    finds(&machine, "fired", "warning", "sessions run without Longhaul's hooks: alive");
    let gone = machine.sandbox.path("gone.jsonl");
    let common = json!({ "session_id": "lost", "transcript_path": gone });
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", common.clone()));
    machine.sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", common));
    finds(&machine, "transcript", "warning", "gone.jsonl");
    finds(&machine, "fired", "ok", "last hook just now, in session lost");
    let one = machine.longhaul(&["doctor", "--session", "lo"]);
    succeeds(&one);
    assert!(one.stdout.contains("the transcript of session lost does not exist"), "{one:?}");
    let none = machine.longhaul(&["doctor", "--session", "unknown"]);
    assert_eq!(none.status, Some(1));
}

#[test]
fn it_finds_the_files_of_a_session_of_codex() {
    let machine = Machine::installed();
    let gone = machine.sandbox.path("gone.jsonl");
    for (event, argument) in [("SessionStart", "session-start"), ("PostToolUse", "post-tool-use")] {
        let told = json!({ "session_id": "abc", "transcript_path": gone });
        let mut hook = machine.sandbox.executable("longhaul-codex");
        succeeds(&Outcome::of(hook.arg(argument), payload(event, told).as_bytes()));
    }
    finds(&machine, "fired", "ok", "last hook just now, in session codex:abc");
    finds(&machine, "transcript", "warning", "the transcript of session codex:abc does not exist");
    let one = machine.longhaul(&["doctor", "--session", "codex:abc"]);
    assert!(one.stdout.contains("last hook just now"), "{one:?}");
    // Codex packs what has rested for a while.
    fs::write(gone.with_extension("jsonl.zst"), "packed").unwrap();
    let one = machine.longhaul(&["doctor", "--session", "codex:abc"]);
    assert!(one.stdout.contains("gone.jsonl, 6 bytes"), "{one:?}");
}

#[test]
fn it_sees_programs_that_do_our_jobs() {
    let machine = Machine::installed();
    machine.write_settings(r#"{"hooks":{"Stop":[{"hooks":[{"command":"npx throughline process-turn"}]}]}}"#);
    finds(&machine, "conflicts", "warning", "throughline does the same as Longhaul's handoff");
    fs::write(machine.sandbox.home().join(".tmux.conf"), "set -g @plugin 'x/tmux-claude-agent-tracker'\n").unwrap();
    finds(&machine, "conflicts", "warning", "tmux-claude-agent-tracker does the same as Longhaul's tracker");
}

#[test]
fn without_a_client_it_says_so_and_is_not_sure() {
    let machine = Machine::without_client();
    assert_eq!(machine.install("1.0.0", &[]).status, Some(1));
    finds(&machine, "client", "warning", "`claude` is not on the PATH");
    finds(&machine, "hooks", "warning", "whether a plugin does cannot be checked");
}

#[test]
fn it_says_whether_the_clients_own_module_runs() {
    let machine = Machine::installed();
    finds(&machine, "bridge", "ok", "no Claude Code runs");
    // This process is the client, which writes down that it is there.
    let pid = std::process::id();
    let sessions = machine.sandbox.home().join(".claude/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let record = json!({ "pid": pid, "sessionId": "s", "status": "idle", "statusUpdatedAt": 1 });
    fs::write(sessions.join(format!("{pid}.json")), record.to_string()).unwrap();
    finds(&machine, "bridge", "note", "none of 1 running Claude Code processes has loaded the module");
    let tell = |event: &str, report: serde_json::Value| {
        let mut command = machine.sandbox.executable("longhaul");
        command.args(["bridge", event]).env("CLAUDE_PID", pid.to_string());
        succeeds(&Outcome::of(&mut command, report.to_string().as_bytes()));
    };
    // Outside of a terminal that can be typed into.
    let start = payload("SessionStart", json!({ "session_id": "s" }));
    succeeds(&machine.sandbox.hook("longhaul-session-start", start));
    finds(&machine, "terminal", "note", "session s gets no bookmarks: no terminal that can be typed into");
    tell("start", json!({ "session": "s", "interactive": true }));
    finds(&machine, "bridge", "ok", "the module runs in 1 of 1 Claude Code processes");
    tell("trouble", json!({ "error": "turn: no JSON" }));
    finds(&machine, "bridge", "warning", "turn: no JSON");
}

#[test]
fn it_sees_a_submit_chord_that_is_missing_shadowed_broken_or_ignored() {
    let machine = Machine::installed();
    let file = machine.sandbox.home().join(".claude/keybindings.json");
    finds(&machine, "keys", "ok", "ctrl+x ctrl+q submits");
    fs::write(machine.sandbox.path("client/version"), "2.1.17 (Claude Code)").unwrap();
    finds(&machine, "keys", "warning", "Claude Code 2.1.17 (Claude Code) does not read");
    fs::remove_file(machine.sandbox.path("client/version")).unwrap();
    // A client that runs has ignored it.
    machine.start_session();
    let pid = std::process::id();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let start = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap();
    let notes =
        json!({ "start": start, "experience": { "chord": "ctrl+x ctrl+q", "file_written": 1, "proof": "ignored" } });
    fs::create_dir_all(machine.sandbox.data_dir().join("clients")).unwrap();
    fs::write(machine.sandbox.data_dir().join(format!("clients/{pid}.json")), notes.to_string()).unwrap();
    finds(&machine, "keys", "warning", "these Claude Code processes ignore it");
    machine.end_session();
    let bound = fs::read_to_string(&file).unwrap();
    fs::write(&file, bound.replace("\"chat:stash\"", "\"chat:stash\", \"ctrl+q\": \"chat:cancel\"")).unwrap();
    let fix = finds(&machine, "keys", "warning", "another binding overrides it");
    assert!(fix.contains("longhaul install"), "{fix}");
    fs::write(&file, format!("// mine\n{bound}")).unwrap();
    finds(&machine, "keys", "warning", "is not JSON");
    fs::remove_file(&file).unwrap();
    finds(&machine, "keys", "note", "no chord is bound");
}
