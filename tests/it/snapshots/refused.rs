//! What cannot be stored, and what is not restored.

use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::process::CommandExt;

use super::*;

/// A user without rights, for tests that run as the superuser, who may read everything.
const NOBODY: u32 = 65_534;

/// Gives everything below a path to that user, if the tests run as the superuser.
pub(super) fn give_away(path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    if path.symlink_metadata().unwrap().is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give_away(&entry.unwrap().path()));
    }
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// Runs an executable as a user who is not the superuser, and returns what it prints.
#[track_caller]
pub(super) fn run_without_rights(session: &Session, executable: &str, args: &[&str]) -> String {
    let mut command = session.sandbox.executable(executable);
    command.args(args);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let outcome = Outcome::of(&mut command, b"");
    assert_eq!(outcome.status, Some(0), "{executable} {args:?}: {outcome:?}");
    outcome.stdout
}

/// Takes a snapshot while a folder has the permissions `mode`, and restores it when the folder can be read.
#[track_caller]
fn check_closed_folder(mode: u32) {
    let session = Session::new();
    session.write("closed/file", "one\n");
    session.write("open", "one\n");
    give_away(&session.sandbox.path(""));
    let run = |executable: &str, args: &[&str]| run_without_rights(&session, executable, args);
    let closed = session.sandbox.project().join("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    run("longhaul-snapshot", &["s", "prompt", "1", "", "-"]);
    let listed = run("longhaul", &["snapshots"]);
    assert!(listed.contains("(cannot be read)"), "{listed}");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    session.write("open", "two\n");
    let done = run("longhaul", &["restore", "last", "--yes"]);
    assert!(done.contains("Restored 1 file"), "{done}");
    assert_eq!(session.read("closed/file"), "one\n");
}

#[test]
fn a_folder_that_cannot_be_read_is_said_and_its_files_are_kept() {
    check_closed_folder(0);
    // Its files can be listed and not opened.
    check_closed_folder(0o400);
}

#[test]
fn without_git_the_list_says_why_there_is_no_snapshot() {
    let session = Session::new();
    let mut take = session.sandbox.executable("longhaul-snapshot");
    take.args([session.id, "bookmark", "1000", "", "-"]).env("PATH", session.sandbox.path("nothing"));
    assert_eq!(Outcome::of(&mut take, b"").status, Some(1));
    let why = session.snapshots()[0]["skipped"].to_string();
    assert!(why.contains("cannot start git"), "{why}");
}

#[test]
fn an_empty_path_does_not_stand_for_everything() {
    let (session, snapshot) = changed();
    let refused = session.sandbox.longhaul(&["restore", &snapshot, "--yes", "--", ""]);
    assert!(refused.status == Some(1) && refused.stderr.contains("an empty path names no file"), "{refused:?}");
    assert_eq!(session.read("tracked.txt"), "two\n");
}

#[test]
fn a_subagent_restores_nothing() {
    let (session, snapshot) = changed();
    let prompt = format!("/longhaul:restore {snapshot} now");
    let changes = json!({ "prompt": prompt, "agent_id": "a1", "agent_type": "Explore" });
    session.fire("longhaul-user-prompt-submit", "UserPromptSubmit", changes);
    assert_eq!(session.read("tracked.txt"), "two\n");
    session.send(&prompt);
    assert_eq!(session.read("tracked.txt"), "one\n");
}

#[test]
fn what_a_forgotten_session_has_replaced_cannot_be_brought_back() {
    let session = Session::new();
    session.write("a", "base\n");
    let first = number(&session.prompt("one"));
    let mine = Session { sandbox: session.sandbox, id: "99999999-two" };
    mine.write("a", "forgotten secret\n");
    mine.prompt("two");
    mine.send(&format!("/longhaul:restore {first} --session abcdef01 now"));
    assert_eq!(mine.read("a"), "base\n");
    mine.run(&["memory", "forget", "--session", "99999999", "--yes"]);
    let undo = mine.sandbox.longhaul(&["restore", "--undo", "--yes"]);
    assert!(undo.status == Some(1) && undo.stderr.contains("no restore of this work tree"), "{undo:?}");
    assert_eq!(mine.read("a"), "base\n");
}

#[test]
fn forgetting_says_that_files_remain_while_a_restore_is_not_finished() {
    let session = Session::new();
    let first = number(&session.prompt("one"));
    session.write("tracked.txt", "two\n");
    session.run(&["restore", &first, "--yes"]);
    let trees = fs::read_dir(session.sandbox.data_dir().join("snapshots")).unwrap();
    let trees = trees.map(|entry| entry.unwrap().path().join("trees")).find(|trees| trees.is_dir()).unwrap();
    let tree = fs::read_dir(trees).unwrap().next().unwrap().unwrap().path();
    fs::rename(tree.join("last-restore.json"), tree.join("journal.json")).unwrap();
    let forgotten = session.sandbox.longhaul(&["memory", "forget", "--session", "abcdef01", "--yes"]);
    assert!(forgotten.status == Some(1) && forgotten.stderr.contains("may remain"), "{forgotten:?}");
}
