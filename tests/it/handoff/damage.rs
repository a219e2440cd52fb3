//! What is broken is survived.

use std::{fs, thread};

use super::{Client, Session};
use crate::sandbox::Sandbox;

#[test]
fn a_transcript_that_cannot_be_read_is_survived_and_the_hooks_own_words_are_kept() {
    for damage in ["directory", "missing", "nul", "truncated", "sparse"] {
        let sandbox = Sandbox::new();
        let client = Client::new(&sandbox);
        let old = Session::new(&sandbox, "old", client.pid());
        old.start("startup");
        old.prompt("remember the plan");
        match damage {
            "directory" => fs::create_dir(old.transcript()).unwrap(),
            "nul" => fs::write(old.transcript(), [0; 5000]).unwrap(),
            "truncated" => {
                old.write_turn("remember the plan", "", "I do.");
                old.stop("I do.");
                fs::write(old.transcript(), "{").unwrap();
            }
            "sparse" => fs::File::create(old.transcript()).unwrap().set_len(3 << 30).unwrap(),
            _ => {}
        }
        old.stop("I do.");
        old.stop("I do.");
        old.clear();
        let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
        if !matches!(damage, "nul" | "sparse") {
            assert!(shown.contains("remember the plan") && shown.contains("I do."), "{damage}: {shown}");
            assert_eq!(shown.matches("I do.").count(), 1, "{damage}: {shown}");
        }
        if damage == "directory" {
            assert!(sandbox.error_log().contains("cannot read"), "{damage}: {}", sandbox.error_log());
        }
    }
}

#[test]
fn a_database_locked_for_a_second_is_waited_for() {
    let sandbox = Sandbox::new();
    let client = Client::new(&sandbox);
    let old = Session::new(&sandbox, "old", client.pid());
    old.start("startup");
    old.prompt("remember the plan");
    old.write_turn("remember the plan", "", "I do.");
    let other = rusqlite::Connection::open(sandbox.data_dir().join("longhaul.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let holder = thread::spawn(move || {
        thread::sleep(std::time::Duration::from_secs(1));
        other.execute_batch("COMMIT").unwrap();
    });
    old.stop("I do.");
    holder.join().unwrap();
    old.clear();
    let shown = Session::new(&sandbox, "new", client.pid()).start("clear");
    assert_eq!(shown.matches("I do.").count(), 1, "{shown}");
    assert_eq!(sandbox.error_log(), "");
}
