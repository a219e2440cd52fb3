//! The exchange of two machines through a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_core::Millis;
use longhaul_store::{NewNote, RecordId, Scan, Store, What};
use longhaul_sync::{CircleError, CircleHeader, CircleKey, HostId, IdxRange, ProjectId};
use tempfile::{TempDir, tempdir};

use super::records::{header, key};
use crate::{Engine, EngineError, ExchangeError, Exchanged, Folder, PageLimit, Participant, RecordPlace, exchange};

/// A machine with its own database.
struct Machine {
    store: Store,
    name: &'static str,
    now: u64,
    _dir: TempDir,
}

impl Machine {
    fn new(name: &'static str, number: u8) -> Self {
        let dir = tempdir().unwrap();
        let store = Store::open(&dir.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let machine = Self { store, name, now: 1_000_000_000, _dir: dir };
        let host = HostId::random([number; 16]);
        machine.store.join_circle(header().circle, host, name, name, Millis(machine.now)).unwrap();
        machine.store.share_project(ProjectId::of_name("p"), "p", "/p", "p", Millis(0)).unwrap();
        machine
    }

    fn note(&mut self, text: &str) {
        self.now += 1_000;
        let at = Millis(self.now);
        let note = NewNote { session: None, project_key: "/p", project: "p", title: text, text, at };
        self.store.save_note(&note).unwrap();
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.store.page_records("/p", 100, 0).unwrap().into_iter().map(|record| record.title).collect();
        notes.sort();
        notes
    }

    fn try_exchange(&self, folder: &Path, key: &CircleKey) -> Result<Exchanged, ExchangeError> {
        let scan = Scan { now: Millis(self.now), raw: false };
        let participant =
            Participant { store: &self.store, key, machine: self.name.to_owned(), name: self.name.to_owned(), scan };
        exchange(&mut Folder::new(folder), &participant, &mut |_| {})
    }

    #[track_caller]
    fn exchange(&self, folder: &Path) -> Exchanged {
        self.try_exchange(folder, &key()).unwrap()
    }
}

fn circle() -> (TempDir, PathBuf) {
    let dir = tempdir().unwrap();
    let folder = dir.path().join("circle");
    Folder::new(&folder).create(&header()).unwrap();
    (dir, folder)
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn more_records_than_one_page_reach_another_machine() {
    let (_dir, folder) = circle();
    let (mut a, b) = (Machine::new("a", 1), Machine::new("b", 2));
    (0..1_203).for_each(|number| a.note(&format!("note {number}")));
    assert_eq!(a.exchange(&folder).sent, 1_203);
    let exchanged = b.exchange(&folder);
    assert_eq!((exchanged.fetched, exchanged.applied), (1_203, 1_203));
    assert_eq!(b.exchange(&folder).fetched, 0);
}

#[test]
fn a_damaged_file_of_this_machine_is_written_again() {
    let (_dir, folder) = circle();
    let (mut a, b) = (Machine::new("a", 1), Machine::new("b", 2));
    (0..1_203).for_each(|number| a.note(&format!("note {number}")));
    a.exchange(&folder);
    let records = folder.join("records").join(HostId::random([1; 16]).to_string());
    let is_records = |path: &PathBuf| path.extension().is_some_and(|end| end == "lhs");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path()).filter(is_records).collect();
    files.sort();
    let mut content = fs::read(&files[0]).unwrap();
    content[100] ^= 1;
    fs::write(&files[0], content).unwrap();
    assert_eq!(b.exchange(&folder).fetched, 0);
    a.now += 3_600_000;
    let repaired = a.exchange(&folder);
    assert!(repaired.remarks.iter().any(|remark| remark.contains("written again")), "{repaired:?}");
    assert_eq!(b.exchange(&folder).fetched, 1_203);
    assert_eq!(a.exchange(&folder).remarks, [""; 0]);
}

/// Whoever may write to the folder can remove payloads without the key: for others, the records look forgotten.
#[test]
fn what_was_erased_without_the_key_is_written_again() {
    let (_dir, folder) = circle();
    let (mut a, mut b) = (Machine::new("a", 1), Machine::new("b", 2));
    let host = HostId::random([1; 16]);
    let erase = |after: u64| {
        let mut engine = Folder::new(&folder);
        let range = IdxRange { host, after, through: 100 };
        let records = engine.fetch(range, PageLimit::EXCHANGE).unwrap();
        let places: Vec<RecordPlace> =
            records.iter().map(|record| RecordPlace { host, idx: record.idx, id: record.id }).collect();
        assert_eq!(engine.erase(&places).unwrap().len(), records.len());
    };
    let is_said = |exchanged: &Exchanged| exchanged.remarks.iter().any(|remark| remark.contains("without the key"));
    ["one", "two", "three"].into_iter().for_each(|text| a.note(text));
    a.exchange(&folder);
    erase(0);
    b.exchange(&folder);
    assert_eq!(b.notes(), [""; 0]);
    a.now += 3_600_000;
    let repaired = a.exchange(&folder);
    assert!(is_said(&repaired) && repaired.sent == 3, "{repaired:?}");
    b.exchange(&folder);
    assert_eq!(b.notes(), ["one", "three", "two"]);
    // What this machine has erased itself stays so, and its tombstone cannot be taken away either.
    let id = RecordId { what: What::Observation, id: 1 };
    assert!(a.store.forget(id).unwrap());
    a.exchange(&folder);
    erase(6);
    for machine in [&mut a, &mut b] {
        machine.now += 3_600_000;
        machine.exchange(&folder);
    }
    assert_eq!(b.notes(), ["three", "two"]);
    a.now += 3_600_000;
    let quiet = a.exchange(&folder);
    assert!(!is_said(&quiet) && quiet.sent == 0, "{quiet:?}");
}

/// Whoever can write to the engine could bring back a header from before a rotation: machines would use the old key again.
#[test]
fn an_older_key_than_before_is_refused() {
    let (_dir, folder) = circle();
    let mut a = Machine::new("a", 1);
    a.exchange(&folder);
    let new = CircleKey::new([9; 32]);
    let ring = header().unlock(&key()).unwrap();
    Folder::new(&folder).replace_header(&CircleHeader::rotated(&ring, &new, || [4; 24])).unwrap();
    a.try_exchange(&folder, &new).unwrap();
    fs::remove_file(folder.join("circle/00000002")).unwrap();
    a.note("not to be written with the old key");
    match a.try_exchange(&folder, &key()) {
        Err(ExchangeError::Engine(EngineError::Circle(error))) => {
            assert_eq!(error, CircleError::OlderKey { found: 1, known: 2 });
        }
        other => panic!("{other:?}"),
    }
    assert!(!folder.join("records").join(HostId::random([1; 16]).to_string()).exists());
}

/// A folder has no clock. The records themselves show that a clock is ahead.
#[test]
fn a_clock_that_is_ahead_is_reported_without_a_clock_of_the_engine() {
    let (_dir, folder) = circle();
    let (mut a, mut b) = (Machine::new("a", 1), Machine::new("b", 2));
    a.now += 3_600_000;
    a.note("from the future");
    a.exchange(&folder);
    let exchanged = b.exchange(&folder);
    assert_eq!(exchanged.remarks, ["The clock of @a is 60 minutes ahead."]);
    let ahead = |b: &Machine| b.store.sync_hosts().unwrap().iter().find(|host| host.name == "a").unwrap().clock_ahead;
    assert_eq!(ahead(&b), 3_600_000);
    b.now += 11 * 60_000;
    a.now -= 3_600_000 - 11 * 60_000;
    assert_eq!(b.exchange(&folder).remarks, [""; 0]);
    assert_eq!(ahead(&b), 3_600_000, "it stays until the next record");
    a.note("the clock is right");
    a.exchange(&folder);
    assert_eq!(b.exchange(&folder).remarks, [""; 0]);
    assert_eq!(ahead(&b), 0);
}

#[test]
fn an_engine_that_was_restored_is_noticed_and_what_was_written_instead_is_fetched() {
    let (dir, folder) = circle();
    let (mut a, b) = (Machine::new("a", 1), Machine::new("b", 2));
    (0..5).for_each(|number| a.note(&format!("before {number}")));
    a.exchange(&folder);
    let backup = dir.path().join("backup");
    copy(&folder, &backup);
    // The machine is restored too: another database with the same id and the same first records.
    let mut restored = Machine::new("a", 1);
    (0..5).for_each(|number| restored.note(&format!("before {number}")));
    (0..3).for_each(|number| a.note(&format!("lost {number}")));
    a.exchange(&folder);
    b.exchange(&folder);
    assert_eq!(b.notes().len(), 8);

    let exchanged = b.exchange(&backup);
    assert_eq!(exchanged.remarks.len(), 1, "{:?}", exchanged.remarks);
    assert!(exchanged.remarks[0].contains("has 5 records of @a, this machine has 8"), "{:?}", exchanged.remarks);
    fs::remove_dir_all(backup.join("records")).unwrap();
    (0..4).for_each(|number| restored.note(&format!("instead {number}")));
    restored.exchange(&backup);
    let exchanged = b.exchange(&backup);
    assert_eq!(exchanged.fetched, 9, "{exchanged:?}");
    assert!(b.notes().contains(&"instead 0".to_owned()), "{:?}", b.notes());
    assert!(b.notes().contains(&"lost 0".to_owned()), "{:?}", b.notes());
}
