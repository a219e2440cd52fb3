//! `longhaul notify log` and `test`, and what the doctor says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::{Stage, result};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::Outcome;

#[test]
fn the_log_is_a_table_for_people() {
    let stage = Stage::new(r#"{"blocked": ["command", "ntfy"], "command": ["COMMAND"]}"#);
    assert_eq!(
        stage.sandbox.longhaul(&["notify", "log"]).stderr,
        "No notifications yet. `longhaul notify test` sends one.\n"
    );
    stage.block("s1", "make");
    stage.results(2);
    let table = stage.sandbox.longhaul(&["notify", "log"]).stdout;
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["TIME", "SESSION", "PROJECT", "STATE", "WAY", "RESULT", "TEXT", "OR", "REASON"]);
    assert_eq!(lines[1][2..7], ["s1", "project", "blocked", "command", "sent"]);
    assert!(table.lines().nth(1).unwrap().ends_with("project waits for you: wants to run: make, after 0s"), "{table}");
    assert_eq!(lines[2][5..7], ["ntfy", "failed"]);
    assert!(table.lines().nth(2).unwrap().ends_with("notify.ntfy is not set"), "{table}");
}

#[test]
fn a_test_says_what_was_sent_and_what_failed() {
    let stage = Stage::new(r#"{"blocked": ["command"], "limit": ["webhook"], "command": ["COMMAND"]}"#);
    let all = stage.sandbox.longhaul(&["notify", "test"]);
    let mut lines: Vec<&str> = all.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "command: sent; look for what your command does with \"Longhaul test\"",
            "webhook: failed: notify.webhook is not set"
        ]
    );
    assert_eq!(all.status, Some(1));
    let one = stage.sandbox.longhaul(&["notify", "test", "command"]);
    assert_eq!(one.status, Some(0));
    assert!(one.stdout.starts_with("command: sent; look for "), "{one:?}");
    assert_eq!(stage.recorded(), vec!["blocked|test|longhaul|Longhaul test|This is how a session calls you."; 2]);
    let log = stage.log();
    let results: Vec<&str> = log.iter().map(|row| row["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["sent", "failed", "sent"], "the doctor reads the last result of each way");
    stage.configure("{}");
    let none = stage.sandbox.longhaul(&["notify", "test"]);
    assert!(none.status == Some(1) && none.stderr.contains("no way is enabled"), "{none:?}");
    assert_eq!(stage.sandbox.longhaul(&["notify", "test", "pigeon"]).status, Some(2));
}

#[test]
fn the_program_is_not_found_in_the_folder_of_the_session_and_a_failing_one_is_reported() {
    let stage = Stage::new(r#"{"blocked": ["command"], "command": ["./evil"]}"#);
    let evil = stage.sandbox.project().join("evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch '{}'\n", stage.record().display())).unwrap();
    fs::set_permissions(&evil, Permissions::from_mode(0o755)).unwrap();
    let outcome = stage.sandbox.longhaul(&["notify", "test"]);
    assert_eq!(outcome.stdout, "command: failed: there is no program ./evil\n");
    assert!(!stage.record().exists());
    stage.configure(r#"{"blocked": ["command"], "command": ["false"]}"#);
    let outcome = stage.sandbox.longhaul(&["notify", "test"]);
    assert!(outcome.stdout.ends_with("false failed: exit status: 1\n"), "{outcome:?}");
}

#[test]
fn osascript_gets_the_texts_as_arguments() {
    let stage = Stage::new(r#"{"blocked": ["desktop"]}"#);
    let bin = stage.sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", stage.record().display());
    fs::write(bin.join("osascript"), script).unwrap();
    fs::set_permissions(bin.join("osascript"), Permissions::from_mode(0o755)).unwrap();
    let path = bin.to_str().unwrap().to_owned();
    let stage = Stage { sandbox: stage.sandbox.with_env("PATH", path) };
    stage.block("s1", "echo \"; do shell script \\\"id\\\"");
    assert_eq!(stage.results(1), [result("desktop", "sent", "")]);
    assert_eq!(
        stage.recorded(),
        [
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
            "project waits for you",
            "wants to run: echo \"; do shell script \\\"id\\\", after 0s"
        ]
    );
}

#[test]
fn the_doctor_names_what_is_missing_and_what_failed() {
    let stage = Stage::new(
        r#"{"blocked": ["ntfy", "command", "webhook"], "command": ["/no/such"], "webhook": "http://127.0.0.1:1/"}"#,
    );
    stage.block("s1", "make");
    stage.results(3);
    let doctor = stage.sandbox.longhaul(&["doctor", "--json"]).json();
    let shown = doctor.to_string();
    for text in [
        "ntfy: no topic is set",
        "set notify.ntfy",
        "command: there is no program /no/such",
        "webhook: the last one failed, just now: cannot reach the server",
        "`longhaul notify test webhook` tries it again",
    ] {
        assert!(shown.contains(text), "{text}: {doctor:#}");
    }
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_what_it_has_started() {
    let stage = Stage::new(r#"{"blocked": ["command"], "command": ["COMMAND"]}"#);
    let pids = stage.sandbox.path("pids");
    let script =
        format!("#!/bin/sh\nsleep 3600 &\necho $! >> {0}\nsleep 3600 &\necho $! >> {0}\nwait\n", pids.display());
    fs::write(stage.sandbox.path("record.sh"), script).unwrap();
    stage.block("s1", "make");
    let why = &stage.results(1)[0].2;
    assert!(why.contains("did not answer"), "{why}");
    let text = fs::read_to_string(&pids).unwrap();
    let runs = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    assert_eq!(text.lines().count(), 2);
    wait_until(DEADLINE, "the end of both", || !text.lines().any(|pid| runs(&pid)));
}

#[test]
fn the_doctor_says_that_a_way_cannot_work_here() {
    let stage = Stage::new("{}");
    let shown = |config: &str| {
        stage.sandbox.write_config(config);
        stage.sandbox.longhaul(&["doctor", "--json"]).json().to_string()
    };
    let webhook = r#"{"notify": {"blocked": ["webhook"], "webhook": "https://127.0.0.1:1/"}}"#;
    let token = stage.sandbox.data_dir().join("webhook.token");
    fs::write(&token, "two words\n").unwrap();
    let wrong = shown(webhook);
    assert!(wrong.contains("webhook: the token cannot be read"), "{wrong}");
    fs::write(&token, "secret\n").unwrap();
    let present = shown(webhook);
    assert!(present.contains("sent by webhook") && !present.contains("cannot be read"), "{present}");
    let off = shown(r#"{"notify": {"blocked": ["terminal"]}, "tracker": {"enabled": false}}"#);
    assert!(off.contains("nothing is reported, because the tracker is switched off"), "{off}");
    let bin = stage.sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("notify-send"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(bin.join("notify-send"), Permissions::from_mode(0o755)).unwrap();
    stage.sandbox.write_config(r#"{"notify": {"blocked": ["desktop"]}}"#);
    let mut doctor = stage.sandbox.executable("longhaul");
    let doctor = Outcome::of(doctor.args(["doctor", "--json"]).env("PATH", &bin), b"").json().to_string();
    assert!(doctor.contains("desktop: there is no desktop session here"), "{doctor}");
}
