//! From version to version and back, with sessions that run.

use std::fs;

use serde_json::json;

use super::{Machine, succeeds};
use crate::sandbox::payload;

#[test]
fn a_session_that_runs_keeps_its_version_and_there_is_one_registration() {
    let machine = Machine::new();
    succeeds(&machine.install("1.0.0", &[]));
    let first = fs::read_link(machine.link()).unwrap();
    machine.start_session();
    let updated = machine.install("1.1.0", &[]);
    succeeds(&updated);
    assert!(updated.stderr.contains("Running sessions"), "{updated:?}");
    succeeds(&machine.install("1.2.0", &[]));
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0", "1.2.0"]);
    assert!(first.exists(), "the session's executables");
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);
    assert_eq!(machine.plugins()[0]["version"], "1.2.0");
    machine.end_session();
    succeeds(&machine.longhaul(&["install"]));
    assert_eq!(machine.versions(), ["1.1.0", "1.2.0"], "the one before stays, those before it go");
}

#[test]
fn going_back_loses_nothing() {
    let machine = Machine::new();
    succeeds(&machine.install("2.0.0", &[]));
    machine.sandbox.hook("longhaul-session-start", payload("SessionStart", json!({ "session_id": "kept" })));
    let database = machine.sandbox.data_dir().join("longhaul.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.pragma_update(None, "user_version", 9_999).unwrap();
    drop(connection);
    let before = fs::read(&database).unwrap();
    let back = machine.install("1.0.0", &[]);
    succeeds(&back);
    assert!(back.stderr.contains("newer version"), "{back:?}");
    assert_eq!(machine.plugins()[0]["version"], "1.0.0");
    assert_eq!(machine.plugins().as_array().unwrap().len(), 1);
    assert_eq!(fs::read(&database).unwrap(), before);
    let doctor = machine.longhaul(&["doctor"]);
    assert_eq!(doctor.status, Some(1));
    assert!(doctor.stdout.contains("install the newer version again; nothing is lost"), "{doctor:?}");
}

#[test]
fn update_takes_what_lies_where_this_version_came_from() {
    let machine = Machine::new();
    succeeds(&machine.install("1.0.0", &["--hooks-only"]));
    let same = machine.longhaul(&["update"]);
    assert!(same.stderr.contains("is already installed"), "{same:?}");
    machine.bundle("1.1.0");
    let other = machine.sandbox.path("dist-1.1.0");
    succeeds(&machine.longhaul(&["update", "--from", other.to_str().unwrap()]));
    assert_eq!(machine.versions(), ["1.0.0", "1.1.0"]);
    assert!(machine.settings_text().contains("versions/1.1.0-"), "as hooks, as before");
    assert!(!machine.settings_text().contains("versions/1.0.0-"));
    fs::remove_dir_all(other).unwrap();
    let gone = machine.longhaul(&["update"]);
    assert_eq!(gone.status, Some(1));
    assert!(gone.stderr.contains("--from"), "{gone:?}");
}
