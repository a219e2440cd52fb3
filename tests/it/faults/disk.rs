//! No room on the disk, and a disk that may not be written to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Session, answer, bash, check_whole, stored_calls};
use crate::sandbox::{Outcome, Sandbox};
use crate::small_disk::{Small, skipped};

/// Returns a command that runs `command`, whose files may not grow past so many blocks of 512 bytes.
///
/// As on a disk without a free block, writing fails with an error, and may have written a part.
fn within(sandbox: &Sandbox, blocks: u32, command: &Command) -> Command {
    let script = "ulimit -f \"$1\"; trap '' XFSZ; shift; exec \"$@\"";
    let mut limited = sandbox.wrapped("sh", &["-c", script, "sh", &blocks.to_string()], command);
    limited.env("CLAUDE_PROJECT_DIR", sandbox.project());
    limited
}

#[test]
fn wherever_the_room_ends_nothing_is_half_written() {
    let sandbox = Sandbox::new();
    let session = Session::started(&sandbox, "s");
    let mut kept = Vec::new();
    // From nothing at all, over the log, the spool and the write-ahead log, to the database itself.
    for blocks in [0, 1, 2, 3, 5, 8, 16, 40, 80, 160, 300, 600, 1200] {
        let healthy = format!("healthy-{blocks}");
        session.turn(&healthy);
        kept.push(healthy);
        for (name, changes) in [
            ("UserPromptSubmit", json!({ "prompt": "no room" })),
            ("PostToolUse", bash(&format!("full-{blocks}"))),
            ("Stop", json!({ "last_assistant_message": "no room" })),
            ("SessionEnd-clear", json!({})),
            ("SessionStart", json!({ "source": "clear" })),
        ] {
            let (command, payload) = session.hook(name, &changes);
            answer(&Outcome::of(&mut within(&sandbox, blocks, &command), payload.as_bytes()));
        }
        let stored = stored_calls(&sandbox);
        assert!(kept.iter().all(|id| stored.contains(id)), "{blocks} blocks: {kept:?} of {stored:?}");
    }
    session.turn("last");
    assert!(stored_calls(&sandbox).contains(&"last".to_owned()));
    check_whole(&sandbox);
    assert_eq!(sandbox.longhaul(&["memory", "stats"]).status, Some(0));
}

#[test]
fn a_disk_that_fills_up_tells_its_user_once_and_loses_only_what_had_no_room() {
    let sandbox = Sandbox::new();
    let data = sandbox.data_dir();
    let Some(_small) = Small::mount(&sandbox, &data, "1536k") else { return };
    let session = Session::started(&sandbox, "s");
    session.turn("before");
    let ballast = data.join("ballast");
    let _ = fs::write(&ballast, vec![0; 4 << 20]);
    // The write-ahead log may have room left that was written before.
    let prompts = (0..40).map(|number| {
        let prompt = format!("{number} {}", "words ".repeat(500));
        told(&session.fire("UserPromptSubmit", json!({ "prompt": prompt, "prompt_id": prompt }))).to_owned()
    });
    let told: Vec<String> = prompts.filter(|told| !told.is_empty()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    for number in 0..5 {
        session.turn(&format!("full-{number}"));
    }
    assert!(stored_calls(&sandbox).contains(&"before".to_owned()));
    std::fs::remove_file(&ballast).unwrap();
    session.turn("after");
    let stored = stored_calls(&sandbox);
    assert!(stored.contains(&"before".to_owned()) && stored.contains(&"after".to_owned()), "{stored:?}");
    // Each once, in the order in which they were made; of those in between, whichever found room.
    let made = ["before", "full-0", "full-1", "full-2", "full-3", "full-4", "after"];
    let kept: Vec<&str> = made.into_iter().filter(|id| stored.iter().any(|stored| stored == id)).collect();
    assert_eq!(stored, kept);
    assert!(!sandbox.error_log().contains("panicked"), "{}", sandbox.error_log());
    assert!(!set_aside(&sandbox), "a full disk damages nothing");
    check_whole(&sandbox);
}

#[test]
fn a_disk_that_becomes_read_only_tells_its_user_at_the_next_start_and_is_used_again_later() {
    let sandbox = Sandbox::new();
    let data = sandbox.data_dir();
    let Some(small) = Small::mount(&sandbox, &data, "16m") else { return };
    let session = Session::started(&sandbox, "s");
    session.turn("before");
    let log = sandbox.log_lines("s");
    small.remount(&sandbox, "ro");
    let answer = session.fire("SessionStart", json!({ "source": "resume" }));
    assert!(told(&answer).contains("is on a read-only file system"), "{answer}");
    let answer = session.fire("UserPromptSubmit", json!({ "prompt": "go on" }));
    assert_eq!(told(&answer), "", "{answer}");
    session.turn("lost");
    session.fire("SessionEnd-clear", json!({}));
    session.fire("SessionStart", json!({ "source": "clear" }));
    assert_eq!(sandbox.log_lines("s"), log);
    small.remount(&sandbox, "rw");
    assert!(!set_aside(&sandbox), "a read-only disk damages nothing");
    session.turn("after");
    assert_eq!(stored_calls(&sandbox), ["before", "after"]);
    check_whole(&sandbox);
}

/// Returns what a hook tells the user of the disk.
fn told(answer: &Value) -> &str {
    answer["systemMessage"].as_str().filter(|told| told.contains("not recorded")).unwrap_or_default()
}

fn set_aside(sandbox: &Sandbox) -> bool {
    let entries = std::fs::read_dir(sandbox.data_dir()).unwrap().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().contains("damaged"))
}

#[test]
fn a_session_on_a_full_disk_tells_its_user_once() {
    let sandbox = Sandbox::new();
    let data = sandbox.data_dir();
    let Some(_small) = Small::mount(&sandbox, &data, "64k") else { return };
    let session = Session::new(&sandbox, "s");
    let answer = session.fire("SessionStart", json!({ "source": "startup" }));
    assert!(told(&answer).contains("there is no space left for"), "{answer}");
    assert!(told(&answer).contains("free some space"), "{answer}");
    for _ in 0..2 {
        let answer = session.fire("UserPromptSubmit", json!({ "prompt": "go on" }));
        assert_eq!(told(&answer), "", "told once: {answer}");
    }
    assert!(!set_aside(&sandbox), "a full disk damages nothing");
}

/// Permissions do not bind root: its hooks run as another user here.
#[test]
fn a_session_whose_folder_may_not_be_written_to_tells_its_user() {
    check_forbidden(|data| fs::set_permissions(data, Permissions::from_mode(0o500)).unwrap());
}

#[test]
fn a_session_whose_database_may_not_be_written_to_tells_its_user() {
    check_forbidden(|data| {
        let database = data.join("longhaul.db");
        fs::write(&database, "").unwrap();
        fs::set_permissions(database, Permissions::from_mode(0o400)).unwrap();
    });
}

/// Checks what a session says that starts as a user to whom `forbid` has forbidden something in the data folder.
fn check_forbidden(forbid: impl Fn(&Path)) {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    let (mut command, payload) = session.hook("SessionStart", &json!({ "source": "startup" }));
    if rustix::process::geteuid().is_root() {
        for dir in [sandbox.path(""), sandbox.home(), sandbox.project(), sandbox.data_dir()] {
            std::os::unix::fs::chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let args = [&format!("--reuid={NOBODY}"), &format!("--regid={NOBODY}"), "--clear-groups"];
        let mut other = sandbox.wrapped("setpriv", &args, &command);
        other.env("CLAUDE_PROJECT_DIR", sandbox.project());
        command = other;
    }
    forbid(&sandbox.data_dir());
    let outcome = Outcome::of(&mut command, payload.as_bytes());
    fs::set_permissions(sandbox.data_dir(), Permissions::from_mode(0o700)).unwrap();
    if outcome.status != Some(0) {
        assert!(rustix::process::geteuid().is_root(), "{outcome:?}");
        skipped(&format!("another user cannot run the executables, or setpriv is missing: {}", outcome.stderr.trim()));
        return;
    }
    let answer = answer(&outcome);
    assert!(told(&answer).contains("may not be written to by this user"), "{answer}");
}

/// A user that owns nothing.
const NOBODY: u32 = 65534;
