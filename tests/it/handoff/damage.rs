//! Damaged files and databases: the hooks still answer, and the handoff goes on.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Client, Session};
use crate::poll::SLACK;
use crate::sandbox::Sandbox;

#[test]
fn a_transcript_that_cannot_be_read_is_survived_and_the_hooks_own_words_are_kept() {
    for damage in ["directory", "missing", "nul", "truncated", "sparse"] {
        let sandbox = Sandbox::new();
        let client = Client::new(&sandbox);
        let old = Session::started(&sandbox, "old", client.pid());
        old.prompt("remember the plan");
        match damage {
            "directory" => fs::create_dir(old.transcript()).unwrap(),
            "nul" => fs::write(old.transcript(), [0; 5000]).unwrap(),
            "truncated" => {
                old.write_turn("remember the plan", "", "I do.");
                old.stop("I do.");
                fs::write(old.transcript(), "{").unwrap();
            }
            "sparse" => fs::File::create(old.transcript()).unwrap().set_len(300 << 20).unwrap(),
            _ => {}
        }
        old.stop("I do.");
        old.stop("I do.");
        old.clear();
        let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
        assert!(shown.contains("remember the plan") && shown.contains("I do."), "{damage}: {shown}");
        assert_eq!(shown.matches("I do.").count(), 1, "{damage}: {shown}");
        if damage == "directory" {
            assert!(sandbox.error_log().contains("cannot read"), "{damage}: {}", sandbox.error_log());
        }
    }
}

#[test]
fn a_turn_that_ends_while_the_database_is_locked_is_read_later() {
    let sandbox = Sandbox::new().impatient();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    let other = sandbox.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    old.stop("I do.");
    other.execute_batch("COMMIT").unwrap();
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert_eq!((shown.matches("remember the plan").count(), shown.matches("I do.").count()), (1, 1), "{shown}");
    let log = sandbox.error_log();
    assert!(!log.is_empty() && log.lines().all(|line| line.ends_with("database is locked")), "{log}");
}

#[test]
fn a_database_locked_at_the_end_of_a_session_loses_nothing() {
    let sandbox = Sandbox::new().impatient();
    let client = Client::new(&sandbox);
    let old = Session::started(&sandbox, "old", client.pid());
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    let other = sandbox.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    old.clear();
    // The client gives all plugins together a second and a half.
    assert!(started.elapsed() < Duration::from_millis(1500) + SLACK, "{:?}", started.elapsed());
    other.execute_batch("COMMIT").unwrap();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert!(shown.contains("remember the plan"), "{shown}");
    assert_eq!(shown.matches("I do.").count(), 1, "{shown}");
}

#[test]
fn what_comes_after_a_hole_is_read() {
    // The longest line that is read. A shorter hole, or the end of a longer one, may be the beginning of a line.
    const LINE: u64 = 64 << 20;
    for hole in [5000, 300 << 20] {
        let sandbox = Sandbox::new().with_env("TZ", "UTC");
        let session = Session::started(&sandbox, "s", 0);
        session.prompt("before");
        session.write_turn("before", "", "one");
        let length = fs::metadata(session.transcript()).unwrap().len();
        fs::OpenOptions::new().write(true).open(session.transcript()).unwrap().set_len(length + hole).unwrap();
        let unread = || {
            session.stop("one");
            let sql = "SELECT read_offset FROM sessions";
            let offset = sandbox.database().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            length + hole - offset as u64
        };
        // A busy machine needs several readings to get through the large one.
        assert!((0..200).any(|_| unread() < LINE), "{hole}");
        assert_eq!(unread() == hole, hole < LINE, "{hole}");
        session.turn("after", "output", "two");
        let turns = session.stored_turns();
        let said: Vec<_> = turns.iter().map(|turn| (&turn["asked"], &turn["replied"])).collect();
        assert_eq!(said, [(&json!("before"), &json!("one")), (&json!("after"), &json!("two"))], "{hole}");
        assert_eq!(turns[1]["details"].as_array().unwrap().len(), 2, "{hole}");
    }
}

#[test]
fn a_line_that_is_too_long_is_passed_over_once() {
    let sandbox = Sandbox::new().with_env("TZ", "UTC");
    let session = Session::started(&sandbox, "s", 0);
    session.turn("before", "", "one");
    fs::OpenOptions::new().append(true).open(session.transcript()).unwrap().write_all(&vec![b'x'; 70 << 20]).unwrap();
    for _ in 0..3 {
        session.stop("one");
    }
    let log = sandbox.error_log();
    assert_eq!((log.matches("skipped a line").count(), log.lines().count()), (1, 1), "{log}");
    fs::OpenOptions::new().append(true).open(session.transcript()).unwrap().write_all(b"the rest\n").unwrap();
    session.turn("after", "", "two");
    let asked: Vec<_> = session.stored_turns().iter().map(|turn| turn["asked"].clone()).collect();
    assert_eq!(asked, ["before", "after"]);
}
