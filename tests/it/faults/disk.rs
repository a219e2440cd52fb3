//! No room on the disk, and a disk that may not be written to.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Session, answer, bash, check_whole, stored_calls};
use crate::sandbox::{Outcome, Sandbox};

/// Returns a command that runs `command`, whose files may not grow past so many blocks of 512 bytes.
///
/// As on a disk without a free block, writing fails with an error, and may have written a part.
fn within(sandbox: &Sandbox, blocks: u32, command: &Command) -> Command {
    let mut limited = sandbox.program("sh");
    limited.args(["-c", "ulimit -f \"$1\"; trap '' XFSZ; shift; exec \"$@\"", "sh", &blocks.to_string()]);
    limited.arg(command.get_program()).env("CLAUDE_PROJECT_DIR", sandbox.project());
    limited
}

#[test]
fn wherever_the_room_ends_nothing_is_half_written() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s");
    session.fire("SessionStart", json!({ "source": "startup" }));
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

/// Where the machine must allow mounting, as in continuous integration, its refusal is a failure.
const REQUIRED: &str = "LONGHAUL_REQUIRE_MOUNT";

/// A small file system of memory; gone when dropped.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    /// Mounts it, where that is allowed.
    fn mount(sandbox: &Sandbox, at: &'a Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let outcome = Outcome::of(
            sandbox.program("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "longhaul-test"]).arg(at),
            b"",
        );
        if outcome.status != Some(0) {
            let why = format!("a small file system cannot be mounted here: {}", outcome.stderr.trim());
            assert!(std::env::var_os(REQUIRED).is_none(), "{why}");
            // Not eprintln!, which nobody sees of a test that passes.
            let _ = writeln!(io::stderr(), "SKIPPED: {why}");
            return None;
        }
        Some(Self(at))
    }

    fn remount(&self, sandbox: &Sandbox, option: &str) {
        let outcome = Outcome::of(sandbox.program("mount").args(["-o", &format!("remount,{option}")]).arg(self.0), b"");
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
fn a_disk_that_fills_up_and_is_freed_again_loses_only_what_had_no_room() {
    let sandbox = Sandbox::new();
    let data = sandbox.data_dir();
    let Some(_small) = Small::mount(&sandbox, &data, "1536k") else { return };
    let session = Session::new(&sandbox, "s");
    session.fire("SessionStart", json!({ "source": "startup" }));
    session.turn("before");
    let ballast = data.join("ballast");
    let _ = std::fs::write(&ballast, vec![0; 4 << 20]);
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
    check_whole(&sandbox);
}

#[test]
fn a_disk_that_becomes_read_only_is_survived_and_used_again_later() {
    let sandbox = Sandbox::new();
    let data = sandbox.data_dir();
    let Some(small) = Small::mount(&sandbox, &data, "16m") else { return };
    let session = Session::new(&sandbox, "s");
    session.fire("SessionStart", json!({ "source": "startup" }));
    session.turn("before");
    let log = sandbox.log_lines("s");
    small.remount(&sandbox, "ro");
    session.turn("lost");
    session.fire("SessionEnd-clear", json!({}));
    session.fire("SessionStart", json!({ "source": "clear" }));
    assert_eq!(sandbox.log_lines("s"), log);
    small.remount(&sandbox, "rw");
    session.turn("after");
    assert_eq!(stored_calls(&sandbox), ["before", "after"]);
    check_whole(&sandbox);
}
