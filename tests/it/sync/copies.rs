//! A home that was copied, one that was restored from a backup, and a clock that is wrong.

use std::path::Path;

use super::machine::{Machine, exchange};
use super::postgres_server::PostgresServer;
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::tool;

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    assert!(tool("cp").args(["-a", "--"]).args([from, to]).status().unwrap().success());
}

/// Waits for what hooks have started: it would write into a folder that is being copied or replaced.
fn let_rest(machine: &Machine) {
    wait_until(DEADLINE, "the end of what hooks have started", || machine.sandbox.processes(None).is_empty());
}

/// Copies the files that are in `from` only.
fn add_missing(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            add_missing(&entry.path(), &target);
        } else if !target.exists() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Two machines that began with the same home write at the same time; neither loses anything.
#[test]
fn a_copied_home_gets_an_id_of_its_own() {
    let Some(server) = PostgresServer::start() else { return };
    let (a, b, c) = (Machine::new("a"), Machine::new("b"), Machine::new("c"));
    a.init(&server.new_database("team"));
    c.join(&a);
    a.work("before the copy", "x");
    a.done(&["now"]);
    let_rest(&a);
    copy(&a.sandbox.data_dir(), &b.sandbox.data_dir());
    a.work("on the original", "x");
    a.done(&["now"]);
    b.done(&["share"]);
    b.work("on the copy", "x");
    let printed = b.done(&["now"]);
    assert!(printed.contains("got a new id"), "{printed}");
    assert!(b.sync(&["status"]).stdout.contains("got a new id"));
    exchange(&[&a, &b, &c]);
    for machine in [&a, &b, &c] {
        for text in ["before the copy", "on the original", "on the copy"] {
            assert!(machine.remembers(text), "{} does not remember {text}", machine.name);
        }
    }
    assert_eq!(server.sql("team", "SELECT count(DISTINCT host) FROM longhaul.records"), "2");
}

/// A cloned virtual machine has the same machine id and the same inodes: only the records show that there are two.
#[test]
fn two_clones_that_wrote_to_a_folder_at_once_lose_nothing() {
    let (a, b, c) = (Machine::new("a"), Machine::new("b"), Machine::new("c"));
    let circle = a.sandbox.path("circle");
    a.init(&format!("folder:{}", circle.display()));
    c.join(&a);
    a.work("before the clone", "x");
    a.done(&["now"]);
    // B becomes a clone: with A's memory, in a data folder that counts as the same one.
    b.join(&a);
    let_rest(&a);
    let_rest(&b);
    let machine = b.sandbox.rows("SELECT machine FROM sync_hosts WHERE circle IS NOT NULL").remove(0);
    for file in std::fs::read_dir(b.sandbox.data_dir()).unwrap().flatten().filter(|file| file.path().is_file()) {
        std::fs::remove_file(file.path()).unwrap();
    }
    add_missing(&a.sandbox.data_dir(), &b.sandbox.data_dir());
    let database = b.sandbox.database();
    database.execute("UPDATE sync_hosts SET machine = ?1 WHERE circle IS NOT NULL", [machine]).unwrap();
    drop(database);
    // Each writes to a copy of the folder, as with Syncthing.
    let other = b.sandbox.path("circle");
    copy(&circle, &other);
    let address = format!("folder:{}", other.display());
    let config = serde_json::json!({ "sync": { "enabled": false, "url": address } });
    b.sandbox.write_config(&config.to_string());
    b.done(&["share"]);
    for number in 0..3 {
        a.work(&format!("original {number}"), "x");
        b.work(&format!("clone {number}"), "x");
    }
    exchange(&[&a, &b]);
    for _ in 0..3 {
        add_missing(&circle, &other);
        add_missing(&other, &circle);
        exchange(&[&a, &b, &c]);
    }
    for machine in [&a, &b, &c] {
        for number in 0..3 {
            for text in [format!("original {number}"), format!("clone {number}")] {
                assert!(machine.remembers(&text), "{} does not remember {text}", machine.name);
            }
        }
    }
}
