//! A full disk, of the store and of the work tree.

use super::*;
use crate::small_disk::Small;

/// Returns bytes that cannot be compressed.
fn noise(size: usize) -> Vec<u8> {
    let mut dice = Dice(5);
    std::iter::repeat_with(|| dice.roll(256) as u8).take(size).collect()
}

/// Returns the files below a folder that something has left in the middle of its work.
fn temporary(dir: &Path) -> Vec<PathBuf> {
    let is_temporary = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("tmp_") || name.starts_with(".longhaul-restore") || name.ends_with(".lock")
    };
    files_below(dir).into_keys().filter(is_temporary).collect()
}

#[test]
fn the_doctor_reports_that_no_space_is_left_for_snapshots() {
    let session = Session::new();
    let data = session.sandbox.data_dir();
    let Some(_small) = Small::mount(&session.sandbox, &data, "3m") else { return };
    let found = session.sandbox.longhaul(&["doctor", "--json"]).stdout;
    assert!(found.contains("kB are free where snapshots are stored"), "{found}");
}

#[test]
fn a_store_on_a_full_disk_works_again_when_the_large_file_is_gone() {
    let session = Session::new();
    let data = session.sandbox.data_dir();
    let Some(_small) = Small::mount(&session.sandbox, &data, "3m") else { return };
    session.prompt("one");
    let large = session.sandbox.project().join("large");
    fs::write(&large, noise(6 << 20)).unwrap();
    let snapshot = session.prompt("two");
    assert!(snapshot["skipped"].is_string(), "{snapshot}");
    assert_eq!(temporary(&data.join("snapshots")), Vec::<PathBuf>::new());
    fs::remove_file(large).unwrap();
    let snapshot = session.prompt("three");
    assert_eq!(snapshot["skipped"], Value::Null, "{snapshot}");
    session.write("tracked.txt", "two\n");
    session.run(&["restore", &number(&snapshot), "--yes"]);
    assert_eq!(session.read("tracked.txt"), "one\n");
}

#[test]
fn a_restore_on_a_full_disk_leaves_no_temporary_file_and_can_be_finished_or_taken_back() {
    let session = Session::new();
    let tree = session.sandbox.path("small");
    let Some(_small) = Small::mount(&session.sandbox, &tree, "2m") else { return };
    let longhaul =
        |args: &[&str]| Outcome::of(session.sandbox.executable("longhaul").current_dir(&tree).args(args), b"");
    session.git_in(&tree, &["init", "-q"]);
    fs::write(tree.join("large"), noise(1 << 20)).unwrap();
    fs::write(tree.join("a"), "then").unwrap();
    let mut take = session.sandbox.executable("longhaul-snapshot");
    let taken = Outcome::of(take.current_dir(&tree).args(["s", "prompt", "1000", "", "-"]), b"");
    assert_eq!(taken.status, Some(0), "{taken:?}");
    let then = files_below(&tree);
    fs::remove_file(tree.join("large")).unwrap();
    fs::write(tree.join("a"), "now").unwrap();
    // It is ignored, so the restore does not make room by deleting it.
    fs::write(tree.join(".git/info/exclude"), "ballast\n").unwrap();
    fs::write(tree.join("ballast"), noise(3 << 19)).unwrap();
    let failed = longhaul(&["restore", "last", "--yes"]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    for part in ["No space left", "was interrupted", "longhaul restore --undo"] {
        assert!(failed.stderr.contains(part), "{part}: {failed:?}");
    }
    assert_eq!(temporary(&tree), Vec::<PathBuf>::new());
    let undone = longhaul(&["restore", "--undo", "--yes"]);
    assert_eq!(undone.status, Some(0), "{undone:?}");
    assert_eq!(fs::read_to_string(tree.join("a")).unwrap(), "now");
    assert_eq!(longhaul(&["restore", "last", "--yes"]).status, Some(1));
    fs::remove_file(tree.join("ballast")).unwrap();
    let finished = longhaul(&["restore", "last", "--yes"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let content = |all: &BTreeMap<PathBuf, Vec<u8>>| {
        let mut all = all.clone();
        all.retain(|path, _| !path.components().any(|part| part.as_os_str() == ".git"));
        all
    };
    assert_eq!(content(&files_below(&tree)), content(&then));
}

#[test]
fn a_large_file_comes_back_and_is_taken_back_on_a_disk_that_has_no_room_for_it_twice() {
    let session = Session::new();
    let tree = session.sandbox.path("small");
    let Some(_small) = Small::mount(&session.sandbox, &tree, "2m") else { return };
    let longhaul =
        |args: &[&str]| Outcome::of(session.sandbox.executable("longhaul").current_dir(&tree).args(args), b"");
    session.git_in(&tree, &["init", "-q"]);
    let (then, now) = (noise(5 << 18), vec![b'n'; 5 << 18]);
    fs::write(tree.join("large"), &then).unwrap();
    fs::write(tree.join("other"), "then").unwrap();
    let mut take = session.sandbox.executable("longhaul-snapshot");
    let taken = Outcome::of(take.current_dir(&tree).args(["s", "prompt", "1000", "", "-"]), b"");
    assert_eq!(taken.status, Some(0), "{taken:?}");
    fs::write(tree.join("large"), &now).unwrap();
    fs::write(tree.join("other"), "now").unwrap();
    for (args, large, other) in [
        (&["restore", "last", "--yes"][..], &then, "then"),
        (&["restore", "--undo", "--yes"], &now, "now"),
        (&["restore", "--undo", "--yes"], &then, "then"),
    ] {
        let done = longhaul(args);
        assert_eq!(done.status, Some(0), "{args:?}: {done:?}");
        assert!(fs::read(tree.join("large")).unwrap() == *large, "{args:?}");
        assert_eq!(fs::read_to_string(tree.join("other")).unwrap(), other);
        assert_eq!(temporary(&tree), Vec::<PathBuf>::new());
    }
}
