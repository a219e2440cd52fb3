//! Permissions of folders, restored by a user who is not the superuser.

use std::os::unix::fs::PermissionsExt;

use super::refused::{give_away, run_without_rights};
use super::*;

#[test]
fn folders_that_are_closed_now_or_were_closed_then_are_restored_and_taken_back() {
    let session = Session::new();
    for path in ["closed/sub/file", "shut/file", "shut/other"] {
        session.write(path, "one\n");
    }
    give_away(&session.sandbox.path(""));
    let at = |path: &str| session.sandbox.project().join(path);
    let mode = |path: &str| fs::metadata(at(path)).unwrap().permissions().mode() & 0o7777;
    let chmod = |path: &str, mode: u32| fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
    let run = |executable: &str, args: &[&str]| run_without_rights(&session, executable, args);
    let usual = mode("shut");
    chmod("closed/sub", 0o555);
    run("longhaul-snapshot", &["s", "prompt", "1", "", "-"]);
    chmod("closed/sub", 0o755);
    session.write("closed/sub/file", "two\n");
    fs::remove_file(at("shut/other")).unwrap();
    chmod("closed/sub", 0o500);
    // Nothing can be written to it, as it is.
    chmod("shut", 0o500);
    let planned = run("longhaul", &["restore", "last", "--dry-run"]);
    assert!(planned.contains("Permissions of 2 folders to change:"), "{planned}");
    assert!(planned.contains("  0500 becomes 0555 closed/sub"), "{planned}");
    let done = run("longhaul", &["restore", "last", "--yes"]);
    assert!(done.contains("Restored 2 files and the permissions of 2 folders."), "{done}");
    assert_eq!((session.read("closed/sub/file"), session.read("shut/other")), ("one\n".into(), "one\n".into()));
    assert_eq!((mode("closed/sub"), mode("shut")), (0o555, usual));
    run("longhaul", &["restore", "--undo", "--yes"]);
    assert_eq!((session.read("closed/sub/file"), at("shut/other").exists()), ("two\n".into(), false));
    assert_eq!((mode("closed/sub"), mode("shut")), (0o500, 0o500));
}
