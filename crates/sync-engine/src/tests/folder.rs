//! A folder that another program copies: files arrive late, in parts and in any order.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_sync::{HostId, IdxRange, SealedRecord};
use tempfile::{TempDir, tempdir};

use super::records::{header, host, record, records};
use crate::{Engine, EngineError, EngineHost, Folder, PageLimit, RecordPlace};

fn circle() -> (TempDir, Folder) {
    let dir = tempdir().unwrap();
    let mut folder = Folder::new(dir.path());
    folder.create(&header()).unwrap();
    (dir, folder)
}

fn files_of(dir: &Path, host: HostId) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("records").join(host.to_string())).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "lhs")).collect();
    paths.sort();
    paths
}

fn fetch(folder: &mut Folder, host: HostId) -> Vec<SealedRecord> {
    folder.fetch(IdxRange { host, after: 0, through: 10_000 }, PageLimit::EXCHANGE).unwrap()
}

fn head(folder: &mut Folder, host: HostId) -> Option<u64> {
    folder.overview().unwrap().unwrap().heads.get(&host).copied()
}

/// Copies the files of a host to another folder, in the given order, and checks after each what can be read.
#[test]
fn files_may_arrive_in_any_order() {
    let (from, mut writer) = circle();
    for page in [1..=600, 601..=1200, 1201..=1900] {
        writer.insert(&records(host(1), page)).unwrap();
    }
    let files = files_of(from.path(), host(1));
    assert_eq!(files.len(), 3);
    let (to, mut reader) = circle();
    let folder = to.path().join("records").join(host(1).to_string());
    fs::create_dir_all(&folder).unwrap();
    for (number, expected) in [(2, None), (0, Some(600)), (1, Some(1900))] {
        let name = files[number].file_name().unwrap();
        fs::copy(&files[number], folder.join(name)).unwrap();
        assert_eq!(head(&mut reader, host(1)), expected, "after file {number}");
    }
    let first = fetch(&mut reader, host(1));
    assert_eq!(first, records(host(1), 1..=1000));
}

#[test]
fn a_file_that_is_being_copied_is_not_read() {
    let (dir, mut folder) = circle();
    folder.insert(&records(host(1), 1..=600)).unwrap();
    folder.insert(&records(host(1), 601..=1200)).unwrap();
    let file = files_of(dir.path(), host(1)).remove(1);
    let complete = fs::read(&file).unwrap();
    fs::write(&file, &complete[..complete.len() / 2]).unwrap();
    assert_eq!(head(&mut folder, host(1)), Some(600));
    assert_eq!(fetch(&mut folder, host(1)), records(host(1), 1..=600));
    // Some programs reserve the whole length first: the checksum shows that the content is not there yet.
    let mut reserved = complete.clone();
    reserved[complete.len() / 2..].fill(0);
    fs::write(&file, &reserved).unwrap();
    assert_eq!(fetch(&mut folder, host(1)), records(host(1), 1..=600));
    fs::write(&file, &complete).unwrap();
    assert_eq!(head(&mut folder, host(1)), Some(1200));
    assert_eq!(fetch(&mut folder, host(1)).len(), 1000);
}

#[test]
fn small_files_are_joined_and_nothing_is_left_of_an_interrupted_write() {
    let (dir, mut folder) = circle();
    let records_dir = dir.path().join("records").join(host(1).to_string());
    for idx in (1..=1500).step_by(25) {
        folder.insert(&records(host(1), idx..=idx + 24)).unwrap();
        if idx == 701 {
            fs::write(records_dir.join(".unfinished-1-x"), "half").unwrap();
        }
    }
    assert_eq!(files_of(dir.path(), host(1)).len(), 3);
    assert!(!records_dir.join(".unfinished-1-x").exists());
    assert_eq!(head(&mut folder, host(1)), Some(1500));
}

/// Each of two machines erases another record of the same file, before it has seen what the other did.
#[test]
fn what_two_machines_erase_at_once_is_erased() {
    let (dir, mut folder) = circle();
    let stored = records(host(1), 1..=3);
    folder.insert(&stored).unwrap();
    let original = files_of(dir.path(), host(1)).remove(0);
    let bytes = fs::read(&original).unwrap();
    let place = |record: &SealedRecord| RecordPlace { host: record.host, idx: record.idx, id: record.id };
    folder.erase(&[place(&stored[0])]).unwrap();
    let without_first = files_of(dir.path(), host(1)).remove(0);
    let kept = fs::read(&without_first).unwrap();
    // The other machine still has the original.
    fs::remove_file(&without_first).unwrap();
    fs::write(&original, &bytes).unwrap();
    folder.erase(&[place(&stored[1])]).unwrap();
    fs::write(&without_first, &kept).unwrap();
    let fetched = fetch(&mut folder, host(1));
    let erased: Vec<bool> = fetched.iter().map(|record| record.payload.is_none()).collect();
    assert_eq!(erased, [true, true, false]);
}

#[test]
fn a_newer_layout_and_a_missing_folder_are_named() {
    let (dir, mut folder) = circle();
    fs::write(dir.path().join("longhaul-sync-schema"), "2").unwrap();
    assert!(matches!(folder.overview(), Err(EngineError::NewerSchema { found: 2, known: 1, .. })));
    let mut missing = Folder::new(&dir.path().join("not/there"));
    assert!(matches!(missing.overview(), Err(EngineError::Unreachable { .. })));
    assert!(missing.create(&header()).is_err(), "only the last folder of the path is created");
}

/// Another user who may write to the folder puts links there, to files that only this user may change.
#[test]
fn links_in_the_folder_are_not_followed() {
    let (dir, mut folder) = circle();
    folder.insert(&records(host(1), 1..=2)).unwrap();
    let [hosts, victim, made] = ["hosts", "victim", "made"].map(|name| dir.path().join(name));
    fs::create_dir(&hosts).unwrap();
    fs::write(&victim, "mine").unwrap();
    // A name that can be guessed.
    symlink(&victim, hosts.join(format!(".unfinished-{}-{}", std::process::id(), host(1)))).unwrap();
    folder.put_host(&EngineHost { host: host(1), name: b"x".into(), seen_ms: 1, clock_ahead_ms: 0 }).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert_eq!(folder.hosts().unwrap().len(), 1);

    let lock = dir.path().join("records").join(host(1).to_string()).join(".lock");
    fs::remove_file(&lock).unwrap();
    symlink(&made, &lock).unwrap();
    assert!(folder.insert(&records(host(1), 3..=3)).is_err());
    assert!(!made.exists());

    fs::create_dir(&made).unwrap();
    symlink(&made, dir.path().join("records").join(host(2).to_string())).unwrap();
    let refused = folder.insert(&records(host(2), 1..=1)).unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
    assert!(folder.overview().is_err());
    assert_eq!(fs::read_dir(&made).unwrap().count(), 0);
}

#[test]
fn a_lock_that_is_never_released_is_named() {
    let (dir, mut folder) = circle();
    folder.insert(&records(host(1), 1..=2)).unwrap();
    folder.lock_limit = Duration::from_millis(50);
    let path = dir.path().join("records").join(host(1).to_string()).join(".lock");
    let lock = fs::File::create(path).unwrap();
    lock.lock_exclusive().unwrap();
    let error = folder.insert(&records(host(1), 3..=3)).unwrap_err();
    assert!(error.to_string().contains("another process locks"), "{error}");
    drop(lock);
    folder.insert(&records(host(1), 3..=3)).unwrap();
}

#[test]
fn a_name_with_a_number_that_is_too_large_is_not_a_file_of_records() {
    let (dir, mut folder) = circle();
    folder.insert(&records(host(1), 1..=2)).unwrap();
    let folder_of_host = dir.path().join("records").join(host(1).to_string());
    for last in [u64::MAX, u64::MAX - 1, 1 << 63] {
        fs::write(folder_of_host.join(format!("1-{last}-0-x.lhs")), "").unwrap();
    }
    assert_eq!(head(&mut folder, host(1)), Some(2));
    folder.insert(&records(host(1), 3..=3)).unwrap();
    assert_eq!(fetch(&mut folder, host(1)), records(host(1), 1..=3));
}

/// Two copies of a machine have written to their own copies of the folder, which are then joined.
#[test]
fn two_records_with_one_number_are_noticed() {
    let ((own, mut first), (other, mut second)) = (circle(), circle());
    first.insert(&records(host(1), 1..=600)).unwrap();
    second.insert(&records(host(1), 1..=600)).unwrap();
    first.insert(&records(host(1), 601..=605)).unwrap();
    let others: Vec<SealedRecord> = (601..=603).map(|idx| record(host(1), idx, u8::from(idx > 601))).collect();
    second.insert(&others).unwrap();
    assert_eq!(first.first_double(host(1)).unwrap(), None);
    for file in files_of(other.path(), host(1)) {
        fs::copy(&file, own.path().join("records").join(host(1).to_string()).join(file.file_name().unwrap())).unwrap();
    }
    assert_eq!(first.first_double(host(1)).unwrap(), Some(602));
    assert_eq!(first.first_double(host(2)).unwrap(), None);
}
