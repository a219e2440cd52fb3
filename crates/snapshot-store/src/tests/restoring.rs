//! What a restore refuses, and what happens when it is interrupted.

use super::*;
use crate::journal::{self, Journal};
use crate::restore::sync_objects;
use crate::restore_plan::{KeptReason, Refusal};

#[test]
fn what_no_snapshot_holds_is_not_overwritten_and_not_deleted() {
    let mut world = World::new();
    world.write("big", "small\n");
    world.write("log.o", "one\n");
    let then = world.take();
    world.write(".gitignore", "*.o\n");
    world.write("log.o", "kept\n");
    world.limits.max_file = 100;
    world.write("big", vec![b'x'; 200]);
    let before = world.files();
    let plan = world.plan(&then).plan;
    let refused: Vec<_> = plan.refused.iter().map(|(path, why)| (String::from_utf8_lossy(path), *why)).collect();
    assert_eq!(refused, [("big".into(), Refusal::NotInSnapshot), ("log.o".into(), Refusal::NotInSnapshot)]);
    world.restore(&then);
    let mut expected = before.clone();
    expected.remove(OsStr::new(".gitignore"));
    assert_eq!(world.files(), expected);
    world.undo();
    assert_eq!(world.files(), before);
}

#[test]
fn what_was_left_out_or_ignored_then_is_kept() {
    let mut world = World::new();
    world.limits.max_file = 100;
    world.write("big", vec![b'x'; 200]);
    world.write(".gitignore", "/out\nbuild/\n");
    world.write("out", "one\n");
    world.write("build/x", "one\n");
    world.write(".env", "TOKEN=1\n");
    let then = world.take();
    assert_eq!(then.left_out, 2);
    world.limits.max_file = 1 << 20;
    world.remove(".gitignore");
    world.write("extra", "gone\n");
    world.git(&["add", "--force", ".env"]);
    let plan = world.plan(&then).plan;
    let kept: Vec<_> = plan.kept.iter().map(|(path, why)| (String::from_utf8_lossy(path), *why)).collect();
    assert_eq!(
        kept,
        [
            (".env".into(), KeptReason::LeftOutThen),
            ("big".into(), KeptReason::LeftOutThen),
            ("build/x".into(), KeptReason::IgnoredThen),
            ("out".into(), KeptReason::IgnoredThen),
        ]
    );
    world.restore(&then);
    for path in [".env", "big", "build/x", "out", ".gitignore"] {
        assert!(world.top().join(path).exists(), "{path}");
    }
    assert!(!world.top().join("extra").exists());
}

#[test]
fn a_file_that_was_ignored_since_is_neither_read_nor_deleted() {
    let world = World::new();
    let first = world.take();
    world.write("local.cfg", "one\n");
    world.take();
    world.write(".gitignore", "local.cfg\n");
    world.write("local.cfg", "secret\n");
    let third = world.take();
    let git = world.place().git(std::time::Instant::now() + Duration::from_secs(10));
    let listed = git.run(&["ls-tree", "--name-only", third.tree.as_deref().unwrap()], b"").unwrap();
    assert_eq!(String::from_utf8_lossy(&listed), ".gitignore\n");
    world.restore(&first);
    assert_eq!(fs::read_to_string(world.top().join("local.cfg")).unwrap(), "secret\n");
    assert!(!world.top().join(".gitignore").exists());
}

#[test]
fn only_the_selected_files_are_restored_and_only_those_undone() {
    let world = World::with("src/a", "1");
    world.write("src/b", "1");
    world.write("doc", "1");
    let then = world.take();
    for path in ["src/a", "src/b", "doc"] {
        world.write(path, "2");
    }
    let selected = vec![b"src/".to_vec()];
    let prepared = plan_restore(&world.env(), &world.place(), &world.limits, &then, selected).unwrap();
    prepared.carry_out(&world.env(), &world.store(), &world.limits, "s").unwrap();
    let read = |path: &str| fs::read_to_string(world.top().join(path)).unwrap();
    assert_eq!([read("src/a"), read("src/b"), read("doc")], ["1", "1", "2"]);
    world.write("doc", "3");
    world.undo();
    assert_eq!([read("src/a"), read("src/b"), read("doc")], ["2", "2", "3"], "the work since stays");
}

#[test]
fn a_path_that_is_nowhere_is_an_error_and_one_that_does_not_differ_is_not() {
    let world = World::with("src/a", "1");
    world.write("gone", "1");
    let then = world.take();
    let select = |path: &str| {
        let selected = vec![path.as_bytes().to_vec()];
        plan_restore(&world.env(), &world.place(), &world.limits, &then, selected).map(|prepared| prepared.plan.steps.len())
    };
    assert_eq!(select("src/a").unwrap(), 0);
    assert_eq!(select("src").unwrap(), 0);
    let unknown = select("src/b").unwrap_err();
    assert_eq!(unknown.to_string(), "src/b is neither in the snapshot nor in the work tree");
    world.remove("gone");
    assert_eq!(select("gone").unwrap(), 1);
}

#[test]
fn many_files_and_links_are_restored() {
    let world = World::new();
    let change = |text: &str| {
        for number in 0..60 {
            world.write(&format!("d{}/f{number}", number % 9), format!("{text} {number}"));
            let link = world.top().join(format!("d{}/l{number}", number % 9));
            let _ = fs::remove_file(&link);
            symlink(format!("{text}-{number}"), link).unwrap();
        }
    };
    change("then");
    let then = world.take();
    let before = world.files();
    change("now");
    let after = world.files();
    assert_eq!(world.restore(&then).plan.steps.len(), 120);
    assert_eq!(world.files(), before);
    world.undo();
    assert_eq!(world.files(), after);
}

#[test]
fn a_file_changed_between_plan_and_restore_stops_it() {
    let world = World::with("a", "1");
    let then = world.take();
    world.write("a", "2");
    // A person was asked meanwhile.
    let mut prepared = world.plan(&then);
    prepared.release();
    world.write("b", "new");
    let done = prepared.carry_out(&world.env(), &world.store(), &world.limits, "s");
    assert!(matches!(done, Err(Error::Changed(_))), "{done:?}");
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "2");
    // No person was asked: a file that the restore does not touch does not matter, one that it touches does.
    let prepared = world.plan(&then);
    world.write("c", "new");
    world.write("a", "3");
    let done = prepared.carry_out(&world.env(), &world.store(), &world.limits, "s");
    assert!(matches!(done, Err(Error::Changed(_))), "{done:?}");
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "3");
    let prepared = world.plan(&then);
    world.write("d", "new");
    prepared.carry_out(&world.env(), &world.store(), &world.limits, "s").unwrap();
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(world.top().join("d")).unwrap(), "new");
}

#[test]
fn a_missing_object_stops_a_restore_before_its_first_change() {
    let world = World::with("a", "1\n");
    world.write("b", "1 of b\n");
    world.commit();
    let then = world.take();
    world.write("a", "2\n");
    world.write("b", "2 of b\n");
    let before = world.files();
    // The object is borrowed, and the repository has pruned it.
    let id = world.git(&["rev-parse", "HEAD:b"]);
    let (folder, file) = id.trim().split_at(2);
    fs::remove_file(world.top().join(".git/objects").join(folder).join(file)).unwrap();
    let done = world.plan(&then).carry_out(&world.env(), &world.store(), &world.limits, "s");
    assert!(done.as_ref().is_err_and(|error| error.chain().contains("is missing")), "{done:?}");
    assert_eq!(world.files(), before);
    assert_eq!(unfinished(&world.place()), None);
}

/// Interrupts a restore after `done` of its steps.
fn interrupted(world: &World, then: &Snapshot, done: usize) -> Journal {
    world.restore(then);
    let journal = journal::last(&world.place()).unwrap();
    world.undo();
    let mut part = journal.clone();
    part.steps.truncate(done);
    // The first steps are done by a restore of just those paths, and the journal names them all.
    let selected: Vec<Vec<u8>> = part.steps.iter().map(|step| step.step().path).collect();
    if !selected.is_empty() {
        let prepared = plan_restore(&world.env(), &world.place(), &world.limits, then, selected).unwrap();
        prepared.carry_out(&world.env(), &world.store(), &world.limits, "s").unwrap();
    }
    fs::write(world.top().join(journal.temporary_name(0)), "half").unwrap();
    journal::begin(&world.place(), &journal, &sync_objects(&world.place()).unwrap()).unwrap();
    journal
}

#[test]
fn an_interrupted_restore_is_finished_or_taken_back() {
    for done in 0..=3 {
        let world = World::with("a", "1");
        world.write("gone", "1");
        let then = world.take();
        let before = world.files();
        world.write("a", "2");
        world.write("new", "2");
        world.remove("gone");
        let after = world.files();
        interrupted(&world, &then, done);
        assert!(matches!(world.try_take(), Err(Error::Unfinished)));
        let recovery = recover(&world.env(), &world.place()).unwrap().unwrap();
        assert_eq!(recovery, Recovery { to: Destination::Snapshot(then.id), conflicts: Vec::new() });
        assert_eq!(world.files(), before, "finished after {done} steps");
        assert_eq!(recover(&world.env(), &world.place()).unwrap(), None);
        world.undo();
        assert_eq!(world.files(), after);
        interrupted(&world, &then, done);
        world.undo();
        assert_eq!(world.files(), after, "taken back after {done} steps");
        world.take();
    }
}

#[test]
fn a_file_that_was_changed_after_an_interrupted_restore_is_left_alone() {
    let world = World::with("a", "1");
    world.write("b", "1");
    let then = world.take();
    world.write("a", "2");
    world.write("b", "2");
    interrupted(&world, &then, 0);
    world.write("b", "3");
    let recovery = recover(&world.env(), &world.place()).unwrap().unwrap();
    assert_eq!(recovery.conflicts, [b"b".to_vec()]);
    assert_eq!(fs::read_to_string(world.top().join("a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(world.top().join("b")).unwrap(), "3");
}

#[test]
fn nothing_is_written_through_a_link_that_took_the_place_of_a_folder() {
    let world = World::with("dir/a", "1");
    let then = world.take();
    world.remove("dir");
    fs::create_dir(world.path("outside")).unwrap();
    symlink(world.path("outside"), world.top().join("dir")).unwrap();
    world.restore(&then);
    assert!(world.top().join("dir/a").is_file() && !world.top().join("dir").is_symlink());
    assert_eq!(fs::read_dir(world.path("outside")).unwrap().count(), 0);
    world.undo();
    assert!(world.top().join("dir").is_symlink());
    // A link that is ignored stays, and nothing goes through it.
    world.write(".gitignore", "/dir\n");
    let plan = world.plan(&then).plan;
    assert!(plan.refused.iter().any(|(path, why)| path == b"dir/a" && *why == Refusal::Blocked), "{plan:?}");
}
