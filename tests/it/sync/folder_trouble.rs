//! A folder as the engine: two machines at once, and a disk that is read-only or full.

use std::process::Stdio;

use super::machine::{Machine, exchange};
use crate::small_disk::Small;

#[test]
fn two_machines_may_write_to_a_folder_at_once() {
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    let folder = format!("folder:{}", a.sandbox.path("circle").display());
    a.init(&folder);
    b.join(&a);
    for round in 0..3 {
        a.work(&format!("task {round} of a"), "Done.");
        b.work(&format!("task {round} of b"), "Done.");
        let both = [&a, &b].map(|machine| machine.exchange().stdout(Stdio::null()).spawn().unwrap());
        for mut child in both {
            assert!(child.wait().unwrap().success());
        }
    }
    exchange(&[&a, &b, &a]);
    assert_eq!(a.memory(), b.memory());
    assert_eq!(a.memory().iter().filter(|row| row.starts_with("prompt ")).count(), 6, "{:#?}", a.memory());
}

#[test]
fn a_folder_that_cannot_be_written_still_gives_what_it_has() {
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    let mounted = a.sandbox.path("disk");
    let Some(small) = Small::mount(&a.sandbox, &mounted, "4m") else { return };
    a.init(&format!("folder:{}/circle", mounted.display()));
    b.join(&a);
    a.work("find the nuthatch", "Found.");
    a.done(&["now"]);
    b.work("find the treecreeper", "Found.");
    small.remount(&a.sandbox, "ro");
    let error = b.refused(&["now"]);
    assert!(error.contains("no permission"), "{error}");
    assert!(b.remembers("nuthatch"));
    small.remount(&a.sandbox, "rw");

    // Full: nothing half written is left, and the rest is sent when there is space again.
    let filler = mounted.join("filler");
    let _ = std::fs::write(&filler, vec![1; 4 << 20]);
    let error = b.refused(&["now"]);
    assert!(error.contains("no space left"), "{error}");
    std::fs::remove_file(&filler).unwrap();
    exchange(&[&b, &a]);
    assert!(a.remembers("treecreeper"));
}

/// A folder that is not mounted is not taken for an empty one.
#[test]
fn a_missing_folder_is_named_and_not_created() {
    let a = Machine::new("a");
    let path = a.sandbox.path("circle");
    a.init(&format!("folder:{}", path.display()));
    std::fs::rename(&path, a.sandbox.path("away")).unwrap();
    assert!(a.refused(&["now"]).contains("is it mounted?"));
    assert!(!path.exists());
    std::fs::create_dir(&path).unwrap();
    assert!(a.refused(&["now"]).contains("holds no circle"), "an empty mount point");
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(a.sandbox.path("away"), &path).unwrap();
    a.done(&["now"]);
}

/// A file that is complete by its length and damaged by its content is named, until it is there again.
#[test]
fn a_damaged_file_is_named_until_it_is_replaced() {
    let (a, b) = (Machine::new("a"), Machine::new("b"));
    a.init(&format!("folder:{}", a.sandbox.path("circle").display()));
    b.join(&a);
    a.work("find the hoopoe", "Found.");
    a.done(&["now"]);
    let records = std::fs::read_dir(a.sandbox.path("circle/records")).unwrap().flatten();
    let files = records.flat_map(|host| std::fs::read_dir(host.path()).unwrap().flatten());
    let mut files = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "lhs"));
    let file = files.next().unwrap();
    let content = std::fs::read(&file).unwrap();
    let mut damaged = content.clone();
    damaged[content.len() / 2] ^= 1;
    std::fs::write(&file, damaged).unwrap();
    let named = "record 1 and later ones of @a cannot be read";
    assert!(b.done(&["now"]).contains(named));
    assert!(b.done(&["status"]).contains(named));
    assert!(b.sandbox.longhaul(&["doctor"]).stdout.contains(named));
    // Its machine sends what the folder lacks.
    std::fs::remove_file(&file).unwrap();
    exchange(&[&a, &b]);
    assert!(b.remembers("hoopoe"));
    assert!(!b.done(&["status"]).contains("cannot be read"));
}
