use std::cell::Cell;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use longhaul_core::json_text;
use serde_json::Value;

use super::{Backup, NewFile, backup_of, change};
use crate::Error;

const KEEP: (Backup, NewFile) = (Backup::Keep, NewFile::Private);
const PLAIN: (Backup, NewFile) = (Backup::None, NewFile::Private);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn append(text: Option<&str>) -> Result<Option<String>, Error> {
    Ok(Some(format!("{}ours\n", text.unwrap_or_default())))
}

#[test]
fn a_file_that_another_program_changes_meanwhile_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, "one\n").unwrap();
    let tries = Cell::new(0);
    change(&path, KEEP, |text| {
        tries.set(tries.get() + 1);
        if tries.get() < 3 {
            fs::write(&path, format!("theirs {}\n", tries.get())).unwrap();
        }
        append(text)
    })
    .unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs 2\nours\n");
    assert_eq!(tries.get(), 3);
    let never = change(&path, KEEP, |text| {
        let text = text.unwrap_or_default();
        fs::write(&path, format!("{text}theirs\n")).unwrap();
        append(Some(text))
    });
    assert!(matches!(never, Err(Error::Contended { .. })), "{never:?}");
    assert!(!fs::read_to_string(&path).unwrap().ends_with("ours\n"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the file, and the copy from before");
}

#[test]
fn nothing_that_others_write_at_the_same_moment_is_lost_or_seen_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, "{\"n\":0}").unwrap();
    let is_done = AtomicBool::new(false);
    let read = || serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).expect("whole at every moment");
    let count = std::thread::scope(|scope| {
        let counter = scope.spawn(|| {
            let mut count = 0;
            while !is_done.load(Relaxed) {
                // A program that does not know of Longhaul reads, changes and replaces the file. It may briefly see our
                // version instead of its own, until ours is exchanged back.
                let deadline = Instant::now() + Duration::from_secs(10);
                let mut settings = read();
                while settings["n"] != count {
                    assert!(Instant::now() < deadline, "change {count} is lost: {settings}");
                    settings = read();
                }
                count += 1;
                settings["n"] = count.into();
                fs::write(folder.path().join("theirs"), settings.to_string()).unwrap();
                fs::rename(folder.path().join("theirs"), &path).unwrap();
                std::thread::sleep(Duration::from_micros(300));
            }
            count
        });
        for _ in 0..100 {
            let ours = Value::from("x".repeat(2000));
            let added: Result<bool, Error> =
                change(&path, KEEP, |text| Ok(json_text::insert(text.unwrap_or_default(), &["ours"], &ours)));
            let removed: Result<bool, Error> = change(&path, PLAIN, |text| {
                let mut settings: Value = serde_json::from_str(text.unwrap_or_default()).unwrap_or_default();
                let had = settings.as_object_mut().and_then(|members| members.remove("ours"));
                Ok(had.map(|_| settings.to_string()))
            });
            assert!(matches!(added, Ok(_) | Err(Error::Contended { .. })), "{added:?}");
            assert!(matches!(removed, Ok(_) | Err(Error::Contended { .. })), "{removed:?}");
        }
        is_done.store(true, Relaxed);
        counter.join().unwrap()
    });
    assert_eq!(read()["n"], count);
}

#[test]
fn a_link_stays_a_link_and_the_mode_stays_the_mode() {
    let folder = tempfile::tempdir().unwrap();
    let (link, file) = (folder.path().join("link"), folder.path().join("dotfiles/settings.json"));
    fs::create_dir(folder.path().join("dotfiles")).unwrap();
    fs::write(&file, "one\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    symlink("dotfiles/settings.json", &link).unwrap();
    assert!(change(&link, KEEP, append).unwrap());
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("one\nours\n", 0o640));
    let backup = backup_of(&file);
    assert_eq!((fs::read_to_string(&backup).unwrap().as_str(), mode(&backup)), ("one\n", 0o640));
    change(&link, KEEP, append).unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), "one\n", "the copy is from before the first change");
}

#[test]
fn what_must_not_or_cannot_be_changed_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, "one\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(change(&path, KEEP, append), Err(Error::ReadOnly { .. })));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, b"\xff\n").unwrap();
    assert!(matches!(change(&path, KEEP, append), Err(Error::NotText { .. })));
    let dangling = folder.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    assert!(matches!(change(&dangling, KEEP, append), Err(Error::Read { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"\xff\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn an_empty_text_is_no_file_and_a_new_one_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/settings.json");
    assert!(change(&path, KEEP, append).unwrap());
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert!(change::<Error>(&path, PLAIN, |_| Ok(Some(String::new()))).unwrap());
    assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
    assert!(!change::<Error>(&path, KEEP, |_| Ok(None)).unwrap());
    fs::write(folder.path().join("usual"), "").unwrap();
    let project = folder.path().join(".vscode/tasks.json");
    assert!(change(&project, (Backup::None, NewFile::Usual), append).unwrap());
    assert_eq!(mode(&project), mode(&folder.path().join("usual")));
}

#[test]
fn a_file_that_is_removed_is_never_seen_empty_and_what_others_write_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                // Missing, or whole.
                assert_ne!(fs::read_to_string(&path).ok().as_deref(), Some(""));
            }
        });
        for _ in 0..200 {
            fs::write(folder.path().join("theirs"), "ours\n").unwrap();
            fs::rename(folder.path().join("theirs"), &path).unwrap();
            assert!(change::<Error>(&path, PLAIN, |_| Ok(Some(String::new()))).unwrap());
        }
        is_done.store(true, Relaxed);
        reader.join().unwrap();
    });
    fs::write(&path, "ours\n").unwrap();
    let removed: Result<bool, Error> = change(&path, PLAIN, |text| match text {
        Some("ours\n") => {
            fs::write(&path, "theirs\n").unwrap();
            Ok(Some(String::new()))
        }
        _ => Ok(None),
    });
    assert!(!removed.unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_changed_file_is_put_back_instead_of_being_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, temporary) = (folder.path().join("settings.json"), folder.path().join("t"));
    fs::write(&path, "theirs\n").unwrap();
    assert!(!super::take_away(&temporary, &path, Some("ours\n")).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\n");
    assert!(super::take_away(&temporary, &path, Some("theirs\n")).unwrap());
    assert!(!path.exists() && temporary.exists());
}

#[test]
fn what_a_killed_process_has_left_is_removed_with_the_next_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let leave = |name: &str, age: u64| {
        let file = fs::File::create(folder.path().join(name)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(age)).unwrap();
    };
    leave(".longhaul-2147483646.tmp", 1);
    leave(".longhaul-2147483645.tmp", 9_000_000_000);
    leave(&format!(".longhaul-{}.tmp", std::os::unix::process::parent_id()), 1);
    leave(".longhaul-notes.tmp", 1);
    change(&path, PLAIN, append).unwrap();
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(!folder.path().join(".longhaul-2147483646.tmp").exists());
}
