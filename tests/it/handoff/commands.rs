//! `longhaul handoff` and `longhaul detail`.

use std::fs;

use super::Session;
use crate::sandbox::{Outcome, Sandbox};

#[test]
fn wrong_questions_name_the_thing_and_the_fix() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s", 0);
    let message = |args: &[&str]| {
        let outcome = session.longhaul(args);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        outcome.stderr
    };
    assert_eq!(message(&["detail", "14:03"]), "longhaul: nothing is recorded yet\n");
    session.start("startup");
    assert!(message(&["detail", "25:99"]).contains("\"25:99\" is not a time: try 14:03"));
    assert!(message(&["detail", "14:03", "--date", "yesterdayish"]).contains("is not a date"));
    assert!(message(&["detail", "14:03"]).contains("Nothing is recorded for 14:03"));
    assert!(message(&["handoff", "show"]).contains("name one with --session ID"));
    assert!(message(&["handoff", "write", "--session", "zz"]).contains("no session has an id"));
}

#[test]
fn details_are_of_this_project_unless_asked_otherwise() {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s", 0);
    session.turn("asked here", "", "yes");
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    let elsewhere = |args: &[&str]| {
        let mut command = sandbox.executable("longhaul");
        command.env("CLAUDE_PROJECT_DIR", sandbox.path("elsewhere")).arg("detail").args(args);
        Outcome::of(&mut command, b"")
    };
    assert!(session.longhaul(&["detail", "1"]).stdout.contains("asked here"));
    let nothing = elsewhere(&["1"]);
    assert_eq!((nothing.status, nothing.stdout.as_str()), (Some(1), ""));
    assert!(nothing.stderr.contains("--all-projects") && nothing.stderr.contains("--session ID"), "{nothing:?}");
    assert!(elsewhere(&["1", "--all-projects"]).stdout.contains("asked here"));
    assert!(elsewhere(&["1", "--session", "s"]).stdout.contains("asked here"));
    assert_eq!(elsewhere(&["77"]).stderr, "Nothing is recorded for 77.\n");
}

#[test]
fn nothing_that_is_printed_drives_the_terminal() {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s", 0);
    let output = "red \u{1b}[31m clear \u{9b}2J turned \u{202e}\u{2066} ended \u{2028}\u{2029} bell \u{7}\u{7f}";
    session.turn("ask \u{1b}]0;title\u{7}", output, "yes \u{9d}");
    let plain = session.longhaul(&["detail", "1"]).stdout;
    let bad = |c: char| {
        c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(plain.contains("red [31m clear 2J turned  ended  bell "), "{plain:?}");
    assert!(!plain.replace('\n', "").contains(bad), "{plain:?}");
    let shown = session.longhaul(&["handoff", "show"]).stdout;
    assert!(!shown.replace('\n', "").contains(bad), "{shown:?}");
    let json = session.longhaul(&["detail", "1", "--json"]);
    assert!(!json.stdout.replace('\n', "").contains(bad), "{json:?}");
    let details = json.json()[0]["details"].clone();
    assert!(details.as_array().unwrap().iter().any(|detail| detail["text"] == output), "{details}");
}

#[test]
fn drop_says_what_it_did_and_what_still_happens() {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s", 0);
    session.turn("ask", "", "yes");
    session.prompt("/longhaul:tl");
    let dropped = || session.longhaul(&["handoff", "drop"]).stderr;
    let first = dropped();
    assert!(first.starts_with("Removed 1 baton in ") && first.contains("later /clear still passes"), "{first}");
    assert!(dropped().starts_with("There is no baton in "));
}
