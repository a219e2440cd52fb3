//! How the launchers are replaced by links to the executables of this machine.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{ALL, Universal, native, start};
use crate::dice::Dice;
use crate::sandbox::{Outcome, Sandbox};
use crate::small_disk::Small;

/// An executable that is quick to verify.
const OTHER: &str = "longhaul-post-tool-use";
/// That of SessionStart, which makes the links.
const START: &str = "longhaul-hook";

#[test]
fn the_first_session_replaces_the_launchers_and_the_second_starts_the_executables() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    universal.start_session(&sandbox);
    assert_eq!(universal.linked(&ALL), ALL);
    let hidden = fs::read_dir(universal.bin()).unwrap().flatten();
    let hidden = hidden.filter(|entry| entry.file_name().to_str().unwrap().starts_with('.')).count();
    assert_eq!(hidden, 0, "nothing temporary is left");
    let before = fs::symlink_metadata(universal.bin().join(START)).unwrap();
    universal.start_session(&sandbox);
    let after = fs::symlink_metadata(universal.bin().join(START)).unwrap();
    assert_eq!((before.ino(), before.ctime_nsec()), (after.ino(), after.ctime_nsec()), "nothing is left to do");
    let stop = Outcome::of(&mut universal.command(&sandbox, OTHER), b"");
    assert_eq!(stop.stdout.trim_end(), OTHER, "{stop:?}");
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_session_of_codex_replaces_them_too() {
    let sandbox = Sandbox::new();
    let universal = Universal::new(sandbox.path("bundle"), &["longhaul-hook"]);
    let mut command = universal.command(&sandbox, "longhaul-codex");
    let outcome = Outcome::of(command.arg("session-start"), start("one").as_bytes());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(universal.is_linked("longhaul-hook"));
}

#[test]
fn an_ordinary_bundle_is_not_changed() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    let bin = universal.bin();
    fs::remove_file(bin.join(START)).unwrap();
    fs::rename(bin.join(native()).join(START), bin.join(START)).unwrap();
    universal.start_session(&sandbox);
    assert!(universal.is_launcher(OTHER));
    assert_eq!(sandbox.error_log(), "");
}

/// After any number of links, and with the next one made and not renamed.
#[test]
fn what_a_killed_process_has_left_is_finished_by_the_next_session() {
    for done in 0..ALL.len() {
        let sandbox = Sandbox::new();
        let universal = Universal::small(sandbox.path("bundle"));
        let bin = universal.bin();
        let order: Vec<&str> = ALL.into_iter().filter(|name| *name != START).chain([START]).collect();
        for name in &order[..done] {
            fs::remove_file(bin.join(name)).unwrap();
            symlink(Path::new(native()).join(name), bin.join(name)).unwrap();
        }
        // Either the link that this process would make, or something else of that name.
        let other = Path::new(native()).join(order[done]);
        symlink(
            if done % 2 == 0 { &other } else { Path::new("/etc/passwd") },
            bin.join(format!(".{}.link", order[done])),
        )
        .unwrap();
        for name in ALL.into_iter().filter(|name| *name != START) {
            let outcome = Outcome::of(&mut universal.command(&sandbox, name), b"");
            assert_eq!(outcome.stdout.trim_end(), name, "{outcome:?}");
        }
        universal.replace_launchers(&sandbox);
        assert_eq!(universal.linked(&ALL), ALL, "after {done}");
        assert!(!bin.join(format!(".{}.link", order[done])).is_symlink());
        assert_eq!(sandbox.error_log(), "");
    }
}

#[test]
fn a_process_killed_at_any_moment_leaves_a_bundle_that_works() {
    let sandbox = Sandbox::new();
    let mut dice = Dice(7);
    let mut unfinished = 0;
    for round in 0..8 {
        let universal = Universal::small(sandbox.path(&format!("bundle-{round}")));
        let mut command = universal.command(&sandbox, "longhaul-session-start");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(start("one").as_bytes());
        // The moment is what is tried here, so it is left to chance and not waited for.
        thread::sleep(Duration::from_micros(dice.roll(400_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        unfinished += usize::from(!universal.is_linked(START));
        for name in ALL {
            assert!(universal.is_linked(name) || universal.is_launcher(name), "{name} in round {round}");
        }
        universal.replace_launchers(&sandbox);
        assert_eq!(universal.linked(&ALL), ALL, "round {round}");
        fs::remove_dir_all(&universal.folder).unwrap();
    }
    assert!(unfinished > 0, "no process was killed before it was done");
}

#[test]
fn several_sessions_at_once_do_no_harm() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| universal.start_session(&sandbox));
        }
    });
    universal.replace_launchers(&sandbox);
    assert_eq!(universal.linked(&ALL), ALL);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn an_executable_with_another_checksum_keeps_its_launcher_and_is_logged_once() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    let sums = universal.bin().join("SHA256SUMS");
    let right = fs::read_to_string(&sums).unwrap();
    let wrong = right.lines().map(|line| {
        if line.ends_with(&format!("{}/{OTHER}", native())) {
            format!("{}{}\n", "0".repeat(64), &line[64..])
        } else {
            format!("{line}\n")
        }
    });
    fs::write(&sums, wrong.collect::<String>()).unwrap();
    universal.start_session(&sandbox);
    universal.start_session(&sandbox);
    assert_eq!(universal.linked(&ALL), ["longhaul"]);
    let log = sandbox.error_log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains(&format!("{}/{OTHER} is not the executable that was released", native())), "{log}");
    fs::write(&sums, right).unwrap();
    universal.replace_launchers(&sandbox);
    assert_eq!(universal.linked(&ALL), ALL);
    assert_eq!(sandbox.error_log(), log);
    assert!(!sandbox.data_dir().join("launcher-problem").exists());
}

#[test]
fn a_list_of_checksums_that_cannot_be_read_changes_nothing() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    fs::write(universal.bin().join("SHA256SUMS"), "../../../etc/passwd\n").unwrap();
    universal.start_session(&sandbox);
    fs::remove_file(universal.bin().join("SHA256SUMS")).unwrap();
    universal.start_session(&sandbox);
    assert_eq!(universal.linked(&ALL), [""; 0]);
    let log = sandbox.error_log();
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains("line 1 of SHA256SUMS is not a checksum"), "{log}");
}

#[test]
fn no_link_leads_out_of_the_bundle() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    let (inside, outside) = (universal.bin().join(native()).join(OTHER), sandbox.path("outside"));
    // The same bytes, so that the checksum is right.
    fs::rename(&inside, &outside).unwrap();
    symlink(&outside, &inside).unwrap();
    universal.start_session(&sandbox);
    assert!(universal.is_launcher(OTHER) && universal.is_launcher(START));
    assert!(sandbox.error_log().contains(OTHER), "{}", sandbox.error_log());
    // A folder of a target that is a link.
    let universal = Universal::small(sandbox.path("other"));
    let folder = universal.bin().join(native());
    fs::rename(&folder, sandbox.path("moved")).unwrap();
    symlink(sandbox.path("moved"), &folder).unwrap();
    universal.start_session(&sandbox);
    assert_eq!(universal.linked(&ALL), [""; 0]);
}

/// A user's own file, in place of a launcher, stays.
#[test]
fn only_launchers_are_replaced() {
    let sandbox = Sandbox::new();
    let universal = Universal::small(sandbox.path("bundle"));
    super::write_executable(&universal.bin().join(OTHER), "#!/bin/sh\necho mine\n");
    universal.replace_launchers(&sandbox);
    assert_eq!(fs::read_to_string(universal.bin().join(OTHER)).unwrap(), "#!/bin/sh\necho mine\n");
    assert!(universal.is_linked(START));
}

#[test]
fn a_read_only_bundle_keeps_its_launchers_and_is_logged_once() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("disk");
    let Some(disk) = Small::mount(&sandbox, &place, "200m") else { return };
    let universal = Universal::new(place.join("bundle"), &[OTHER, START]);
    disk.remount(&sandbox, "ro");
    universal.start_session(&sandbox);
    universal.start_session(&sandbox);
    assert!(universal.is_launcher(OTHER) && universal.is_launcher(START));
    let log = sandbox.error_log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("the hooks still start through launchers: cannot write"), "{log}");
    disk.remount(&sandbox, "rw");
    universal.replace_launchers(&sandbox);
    assert_eq!(universal.linked(&[OTHER, START]), [OTHER, START]);
    assert_eq!(sandbox.error_log(), log);
}
