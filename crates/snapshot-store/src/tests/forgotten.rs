//! What is no longer listed is deleted, whatever else is wrong.

use longhaul_core::Config;
use longhaul_runtime::git::PrivateGit;

use super::upkeep::upkeep_at;
use super::*;
use crate::upkeep::keep_only;

/// A repository with a snapshot that holds a secret, which is no longer listed, and one that is.
struct Forgotten {
    world: World,
    place: Place,
    /// The id of the secret.
    secret: String,
    kept: Snapshot,
}

impl Forgotten {
    fn new() -> Self {
        let world = World::with("work", "borrowed\n");
        world.git(&["add", "work"]);
        world.take();
        // The repository deletes what the first snapshot has borrowed.
        world.write("work", "changed\n");
        world.git(&["add", "work"]);
        world.git(&["gc", "-q", "--prune=now"]);
        let kept = world.take();
        world.write("secret", "forgotten secret\n");
        let secret = world.git(&["hash-object", "secret"]).trim().to_owned();
        let forgotten = world.take();
        world.remove("secret");
        world.take();
        world.store().drop_snapshots(&[forgotten.id]).unwrap();
        Self { place: world.place(), world, secret, kept }
    }

    fn git(&self) -> PrivateGit {
        let git = self.place.git(std::time::Instant::now() + Duration::from_secs(10));
        PrivateGit { borrowed: None, work_tree: self.place.dir.clone(), ..git }
    }

    fn has_secret(&self) -> bool {
        self.git().run(&["cat-file", "-e", &self.secret], b"").is_ok()
    }
}

#[test]
fn an_object_that_the_repository_has_pruned_does_not_stop_upkeep() {
    let this = Forgotten::new();
    assert!(this.has_secret());
    upkeep_at(&this.world, 5_000_000, &Config::default());
    assert!(!this.has_secret());
    this.world.write("work", "later\n");
    this.world.restore(&this.kept);
    assert_eq!(fs::read_to_string(this.world.top().join("work")).unwrap(), "changed\n");
}

#[test]
fn upkeep_keeps_the_copies_of_what_the_repository_has_too() {
    let this = Forgotten::new();
    // The repository still has the object that the snapshot has stored as well.
    this.world.git(&["hash-object", "-w", "work"]);
    let id = this.world.git(&["hash-object", "work"]).trim().to_owned();
    let has_copy = || this.git().run(&["cat-file", "-e", &id], b"").is_ok();
    assert!(has_copy());
    upkeep_at(&this.world, 5_000_000, &Config::default());
    assert!(has_copy());
    crate::upkeep::pack_loose(&this.git()).unwrap();
    assert!(has_copy());
}

#[test]
fn what_is_forgotten_is_deleted_also_if_the_repository_is_gone() {
    let this = Forgotten::new();
    fs::remove_dir_all(this.world.top()).unwrap();
    upkeep_at(&this.world, 5_000_000, &Config::default());
    assert!(!this.has_secret());
    assert!(this.git().run(&["cat-file", "-e", this.kept.commit.as_deref().unwrap()], b"").is_ok());
}

#[test]
fn a_request_of_a_process_that_was_killed_does_not_stop_upkeep() {
    let this = Forgotten::new();
    fs::create_dir_all(this.place.dir.join("requests")).unwrap();
    fs::write(this.place.dir.join("requests/1-1.json"), "{}").unwrap();
    upkeep_at(&this.world, 5_000_000, &Config::default());
    assert!(!this.has_secret());
}

#[test]
fn upkeep_that_was_killed_before_it_deleted_the_objects_is_repeated() {
    let this = Forgotten::new();
    let forgotten: Vec<_> = fs::read_dir(this.place.repository_dir.join("refs/snapshots")).unwrap().collect();
    let listed: Vec<String> =
        this.world.store().snapshots(None).unwrap().into_iter().filter_map(|snapshot| snapshot.commit).collect();
    for entry in forgotten {
        let path = entry.unwrap().path();
        if !listed.iter().any(|commit| path.ends_with(commit)) {
            fs::remove_file(path).unwrap();
        }
    }
    fs::write(this.place.repository_dir.join("unpruned"), "").unwrap();
    upkeep_at(&this.world, 5_000_000, &Config::default());
    assert!(!this.has_secret() && !this.place.repository_dir.join("unpruned").exists());
}

#[test]
fn an_unfinished_restore_keeps_the_files_and_that_is_reported() {
    let this = Forgotten::new();
    this.world.write("work", "later\n");
    this.world.restore(&this.kept);
    fs::rename(this.place.dir.join("last-restore.json"), this.place.dir.join("journal.json")).unwrap();
    let world = &this.world;
    let dropped = crate::upkeep(&world.env(), &world.home(), &Config::default(), &world.store()).unwrap();
    assert_eq!(dropped.in_use, 1);
}

#[test]
fn a_store_that_cannot_be_tidied_does_not_stop_the_others_and_is_reported() {
    let this = Forgotten::new();
    let world = &this.world;
    let broken: Vec<PathBuf> = ["0", "z"].map(|name| world.path("data/snapshots").join(name)).to_vec();
    for dir in &broken {
        fs::create_dir_all(dir.join("trees")).unwrap();
        fs::create_dir(dir.join("upkeep")).unwrap();
    }
    let upkeep = || crate::upkeep(&world.env(), &world.home(), &Config::default(), &world.store()).unwrap();
    assert_eq!(upkeep().failures.len(), 2);
    assert!(!this.has_secret());
    let (_, why) = last_failure(&world.home()).unwrap();
    assert!(why.contains("upkeep"), "{why}");
    broken.iter().for_each(|dir| fs::remove_dir(dir.join("upkeep")).unwrap());
    assert_eq!(upkeep().failures.len(), 0);
    assert_eq!(last_failure(&world.home()), None);
}

#[test]
fn objects_of_a_snapshot_that_is_being_taken_are_not_deleted() {
    let this = Forgotten::new();
    let store = |text: &str| {
        let id = this.git().run(&["hash-object", "-w", "--stdin"], text.as_bytes()).unwrap();
        String::from_utf8_lossy(&id).trim().to_owned()
    };
    let old = store("old");
    let path = this.place.objects().join(&old[..2]).join(&old[2..]);
    chmod(&path, 0o600);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1000)).unwrap();
    let mark = world_mark(&this);
    let young = store("young");
    keep_only(&this.git(), &std::collections::BTreeSet::new(), mark).unwrap();
    let exists = |id: &str| this.git().run(&["cat-file", "-e", id], b"").is_ok();
    assert!(exists(&young) && !exists(&old) && !exists(this.kept.commit.as_deref().unwrap()));
}

/// Returns the present time as the file system sees it.
fn world_mark(this: &Forgotten) -> std::time::SystemTime {
    let mark = this.world.path("mark");
    fs::write(&mark, "").unwrap();
    mark.metadata().unwrap().modified().unwrap()
}
