//! Taking back a restore, whatever happens to the repository or to the process.

use std::time::Instant;

use longhaul_runtime::git::PrivateGit;

use super::*;
use crate::disk::{Files, ModeChange};
use crate::git_output::{UserIndex, object_id};
use crate::restore::young_objects;

impl World {
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.top().join(path)).unwrap()
    }

    /// Makes the repository delete every object.
    fn prune_everything(&self) {
        self.git(&["update-ref", "-d", "HEAD"]);
        self.git(&["rm", "-q", "-r", "-f", "--cached", "."]);
        self.git(&["reflog", "expire", "--expire=now", "--all"]);
        self.git(&["gc", "-q", "--prune=now"]);
    }
}

#[test]
fn what_is_replaced_is_stored_although_the_repository_has_it() {
    let world = World::with("d/work", "one\n");
    let then = world.take();
    world.write("d/work", "precious\n");
    world.commit();
    // Without an index, every file that the repository has is borrowed.
    fs::remove_file(world.place().dir.join("index")).unwrap();
    world.restore(&then);
    world.prune_everything();
    world.undo();
    assert_eq!(world.read("d/work"), "precious\n");
}

#[test]
fn everything_that_taking_back_needs_is_written_to_the_disk_before_the_first_change() {
    let world = World::with("d/deep/work", "one\n");
    let then = world.take();
    world.write("d/deep/work", "precious\n");
    symlink("deep/work", world.top().join("d/link")).unwrap();
    // The repository has the same contents and trees.
    world.commit();
    let restored = world.restore(&then);
    let place = world.place();
    // A journal is begun only after these files are synced.
    let synced = young_objects(&place);
    let own = PrivateGit { borrowed: None, ..place.git(Instant::now() + Duration::from_secs(10)) };
    let needed = own.run(&["rev-list", "--objects", restored.before.commit.as_deref().unwrap()], b"").unwrap();
    let needed = String::from_utf8(needed).unwrap();
    let ids: Vec<&str> = needed.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(ids.len(), 6, "the commit, three trees, two contents: {needed}");
    for id in &ids {
        let object = place.objects().join(&id[..2]).join(&id[2..]);
        assert!(synced.contains(&object), "{needed}");
    }
    // The clock was set back since it was written.
    let object = place.objects().join(&ids[0][..2]).join(&ids[0][2..]);
    let later = object.metadata().unwrap().modified().unwrap() + Duration::from_secs(3600);
    fs::File::open(&object).unwrap().set_modified(later).unwrap();
    assert!(young_objects(&place).contains(&object));
}

#[test]
fn a_file_that_was_staged_and_not_committed_is_in_the_snapshot_after_garbage_collection() {
    let world = World::with("work", "one\n");
    world.take();
    world.write("work", "staged\n");
    world.git(&["add", "work"]);
    let then = world.take();
    world.write("work", "two\n");
    world.git(&["add", "work"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world.restore(&then);
    assert_eq!(world.read("work"), "staged\n");
}

#[test]
fn a_damaged_object_of_the_repository_does_not_stop_taking_back() {
    let world = World::with("work", "one\n");
    let then = world.take();
    world.write("work", "precious\n");
    let id = object_id(world.git(&["hash-object", "-w", "work"]).as_bytes()).unwrap();
    let object = world.top().join(".git/objects").join(&id[..2]).join(&id[2..]);
    chmod(&object, 0o600);
    fs::write(object, "").unwrap();
    world.restore(&then);
    world.undo();
    assert_eq!(world.read("work"), "precious\n");
}

#[test]
fn taking_back_an_interrupted_restore_twice_does_not_lead_to_half_of_it() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.write(name, "then");
    }
    let then = world.take();
    for name in ["a", "b", "c"] {
        world.write(name, "now");
    }
    let after = world.files();
    world.restore(&then);
    // As if it had been killed after two of its changes.
    let dir = world.place().dir;
    fs::rename(dir.join("last-restore.json"), dir.join("journal.json")).unwrap();
    world.write("c", "now");
    world.undo();
    assert_eq!(world.files(), after);
    let again = plan_undo(&world.env(), &world.place(), &world.limits).unwrap();
    assert_eq!(again.plan.steps, []);
}

#[test]
fn an_undo_after_a_restore_that_was_killed_before_it_began_does_not_take_back_the_one_before() {
    let world = World::with("a", "1");
    let first = world.take();
    world.write("a", "2");
    world.restore(&first);
    let files = world.files();
    // A process that is killed drops nothing.
    std::mem::forget(announce(&world.place(), first.id).unwrap());
    let undo = || plan_undo(&world.env(), &world.place(), &world.limits);
    assert!(matches!(undo(), Err(Error::NotBegun(id)) if id == first.id));
    assert_eq!(world.files(), files);
    // It was said: the next one takes back the restore before.
    world.undo();
    assert_eq!(world.read("a"), "2");
    // One that ends by itself, with or without an error, or that has begun, leaves nothing behind.
    drop(announce(&world.place(), first.id).unwrap());
    assert!(undo().is_ok());
    std::mem::forget(announce(&world.place(), first.id).unwrap());
    world.restore(&first);
    assert!(undo().is_ok());
}

#[test]
fn a_file_that_was_deleted_to_make_room_is_written_when_the_restore_is_finished() {
    let world = World::with("a", "then");
    world.write("b", "then");
    let then = world.take();
    let before = world.files();
    world.write("a", "now");
    world.write("b", "now");
    world.restore(&then);
    // As if it had been killed between deleting and writing.
    let dir = world.place().dir;
    fs::rename(dir.join("last-restore.json"), dir.join("journal.json")).unwrap();
    world.remove("a");
    let recovery = recover(&world.env(), &world.place()).unwrap().unwrap();
    assert_eq!((recovery.conflicts.len(), world.files()), (0, before));
}

#[test]
fn a_journal_that_was_not_written_to_the_end_was_not_begun() {
    let world = World::with("a", "1");
    world.take();
    fs::write(world.place().dir.join("journal.json"), "{\"snapshot\":1,").unwrap();
    world.write("a", "2");
    let then = world.take();
    assert_eq!(unfinished(&world.place()), None);
    assert_eq!(recover(&world.env(), &world.place()).unwrap(), None);
    world.write("a", "3");
    world.restore(&then);
    assert_eq!(world.read("a"), "2");
}

#[test]
fn permissions_are_not_changed_through_a_link_that_took_the_place_of_the_file() {
    let world = World::with("a", "1");
    let outside = world.path("outside");
    fs::write(&outside, "key").unwrap();
    chmod(&outside, 0o600);
    let files = Files::of(&world.place()).unwrap();
    let state = files.state(b"a").unwrap();
    world.remove("a");
    symlink(&outside, world.top().join("a")).unwrap();
    assert_eq!(files.set_permissions(b"a", state, 0o644).unwrap(), ModeChange::Conflict);
    assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // Another file is not what was planned for either.
    world.remove("a");
    world.write("a", "2");
    assert_eq!(files.set_permissions(b"a", state, 0o600).unwrap(), ModeChange::Conflict);
    let state = files.state(b"a").unwrap();
    assert_eq!(files.set_permissions(b"a", state, 0o600).unwrap(), ModeChange::Done);
    assert_eq!(world.top().join("a").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn only_the_shared_part_that_an_index_names_is_copied() {
    let world = World::with("a", "1");
    world.commit();
    for number in 0..3 {
        fs::write(world.top().join(format!(".git/sharedindex.{number:040}")), vec![0; 1000]).unwrap();
    }
    let place = world.place();
    let copies = |place: &Place| {
        let names = fs::read_dir(&place.dir).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| crate::git_output::is_copy(name)).count()
    };
    world.take();
    let copy = UserIndex::copy(&place).unwrap();
    assert_eq!(copies(&place), 1);
    drop(copy);
    world.git(&["update-index", "--split-index"]);
    let copy = UserIndex::copy(&place).unwrap();
    assert_eq!(copies(&place), 2);
    // A process that is killed leaves them.
    std::mem::forget(copy);
    world.write("a", "2");
    world.take();
    assert_eq!(copies(&place), 0);
}
