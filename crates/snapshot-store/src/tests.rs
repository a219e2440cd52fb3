use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use longhaul_core::{Env, Millis, Platform};
use longhaul_runtime::Home;
use longhaul_store::{Snapshot, SnapshotKind, Store};
use tempfile::TempDir;

use super::*;
use crate::left_out::Limits;

mod decisions;
mod folders;
mod forgotten;
mod random_trees;
mod repositories;
mod restoring;
mod rules;
mod taking_back;
mod untouched_repository;
mod upkeep;

/// A repository, a home for its snapshots, and a clock that moves by a second with every event.
struct World {
    root: TempDir,
    limits: Limits,
    now: std::cell::Cell<u64>,
}

impl World {
    fn new() -> Self {
        let world = Self::without_repository();
        world.git(&["init", "-q", "-b", "main"]);
        world
    }

    /// A repository with an untracked file.
    fn with(path: &str, content: &str) -> Self {
        let world = Self::new();
        world.write(path, content);
        world
    }

    fn without_repository() -> Self {
        let root = tempfile::Builder::new().prefix("lh-").tempdir().unwrap();
        for dir in ["home", "project"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        Self { root, limits: Limits::new(1 << 20, 8 << 20, 1000), now: std::cell::Cell::new(1_000_000) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn top(&self) -> PathBuf {
        self.path("project")
    }

    fn env(&self) -> Env {
        let home = self.path("home").to_str().unwrap().to_owned();
        let data = self.path("data").to_str().unwrap().to_owned();
        self.now.set(self.now.get() + 1000);
        Env::new(Millis(self.now.get()), Platform::Unix, |name| match name {
            "HOME" => Some(home.clone()),
            "LONGHAUL_HOME" => Some(data.clone()),
            _ => None,
        })
    }

    fn home(&self) -> Home {
        Home::of(&self.env()).unwrap()
    }

    fn store(&self) -> Store {
        self.home().store(Duration::from_secs(5)).unwrap()
    }

    fn place(&self) -> Place {
        self.place_of(&self.top()).unwrap()
    }

    fn place_of(&self, dir: &Path) -> Result<Place, Error> {
        Place::find(&self.env(), &self.home(), dir)
    }

    /// Runs git as a user does, without the configuration of the user who runs the test.
    #[expect(clippy::disallowed_methods, reason = "the user's own git")]
    fn try_git_in(&self, dir: &Path, args: &[&str]) -> Output {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path("home")).current_dir(dir);
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]).args(args);
        git.output().unwrap()
    }

    fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.try_git_in(dir, args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.top(), args)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.top().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.top().join(path);
        if path.symlink_metadata().unwrap().is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    }

    fn take(&self) -> Snapshot {
        self.try_take().unwrap()
    }

    fn try_take(&self) -> Result<Snapshot, Error> {
        let env = self.env();
        let event = Event::new("s", env.now.0, SnapshotKind::Prompt);
        let (patience, limit) = (Duration::from_secs(10), Duration::from_secs(60));
        let taken = take(&env, &self.place_of(&self.top())?, &self.store(), &self.limits, &[event], patience, limit);
        taken.map(|mut all| all.pop().unwrap())
    }

    fn plan(&self, target: &Snapshot) -> PlannedRestore {
        plan_restore(&self.env(), &self.place(), &self.limits, target, Vec::new()).unwrap()
    }

    fn restore(&self, target: &Snapshot) -> Restored {
        self.plan(target).carry_out(&self.env(), &self.store(), &self.limits, "s").unwrap()
    }

    fn undo(&self) -> Restored {
        let prepared = plan_undo(&self.env(), &self.place(), &self.limits).unwrap();
        prepared.carry_out(&self.env(), &self.store(), &self.limits, "s").unwrap()
    }

    /// Returns every file of the work tree outside of `.git`.
    fn files(&self) -> BTreeMap<OsString, String> {
        let mut found = listing(&self.top());
        found.retain(|path, _| !is_git(path));
        found
    }

    /// Returns the permissions of every folder that contains a file.
    fn folder_modes(&self) -> BTreeMap<PathBuf, u32> {
        let files = self.files().into_keys().map(PathBuf::from);
        let folders = files.flat_map(|file| file.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>());
        let folders = folders.filter(|folder| !folder.as_os_str().is_empty());
        folders.map(|folder| (folder.clone(), mode(&self.top().join(folder)))).collect()
    }

    /// Returns every file of the repository itself.
    fn repository(&self) -> BTreeMap<OsString, String> {
        listing(&self.top().join(".git"))
    }
}

fn is_git(path: &OsStr) -> bool {
    Path::new(path).components().any(|part| part.as_os_str() == ".git")
}

/// Returns type, mode and content of every file below a folder.
fn listing(dir: &Path) -> BTreeMap<OsString, String> {
    fn add(dir: &Path, top: &Path, found: &mut BTreeMap<OsString, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(top).unwrap().as_os_str().to_owned();
            if metadata.is_dir() {
                add(&path, top, found);
            } else if metadata.is_symlink() {
                found.insert(name, format!("link {:?}", fs::read_link(&path).unwrap()));
            } else {
                let content = fs::read(&path).unwrap();
                found.insert(name, format!("{:o} {content:?}", metadata.permissions().mode() & 0o7777));
            }
        }
    }
    let mut found = BTreeMap::new();
    add(dir, dir, &mut found);
    found
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn name(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[test]
fn a_snapshot_brings_back_what_was_there() {
    let world = World::with("tracked", "one\n");
    world.commit();
    world.write("untracked", "two\n");
    let then = world.take();
    let before = world.files();
    world.write("tracked", "changed\n");
    world.remove("untracked");
    world.write("new/file", "three\n");
    let after = world.files();
    let restored = world.restore(&then);
    assert_eq!(world.files(), before);
    assert_eq!(restored.conflicts, Vec::<Vec<u8>>::new());
    assert!(!world.top().join("new").exists(), "the folder that became empty is gone");
    world.undo();
    assert_eq!(world.files(), after);
    world.undo();
    assert_eq!(world.files(), before, "taking back can be taken back");
}

#[test]
fn files_that_do_not_differ_keep_their_time() {
    let world = World::with("same", "one\n");
    world.write("other", "one\n");
    let then = world.take();
    let time = |name: &str| world.top().join(name).metadata().unwrap().modified().unwrap();
    let before = time("same");
    world.write("other", "two\n");
    world.restore(&then);
    assert_eq!(time("same"), before);
}

#[test]
fn permissions_that_change_in_the_second_of_two_snapshots_come_back() {
    // Within a second, git notices only another content. Each attempt needs all its steps within one.
    for attempt in 0..5 {
        let world = World::new();
        let file = world.top().join("file");
        world.write("file", "one\n");
        chmod(&file, 0o644);
        world.take();
        world.write("other", "one\n");
        let then = world.take();
        chmod(&file, 0o600);
        world.restore(&then);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644, "attempt {attempt}");
    }
}

#[test]
fn permissions_come_back_after_a_scan_that_was_killed_between_the_index_and_its_state() {
    for is_first in [true, false] {
        let world = World::new();
        let state = world.place().dir.join("state.json");
        world.write("old", "one\n");
        let before = (!is_first).then(|| {
            world.take();
            fs::read(&state).unwrap()
        });
        for (path, mode) in [("new", 0o600), ("d/secret", 0o640), ("old", 0o606)] {
            world.write(path, "two\n");
            chmod(&world.top().join(path), mode);
        }
        chmod(&world.top().join("d"), 0o700);
        world.take();
        // As if it had been killed after it wrote the index: the state is that of the scan before.
        match before {
            Some(before) => fs::write(&state, before).unwrap(),
            None => fs::remove_file(&state).unwrap(),
        }
        let (then, files, folders) = (world.take(), world.files(), world.folder_modes());
        for path in ["new", "d/secret", "old"] {
            chmod(&world.top().join(path), 0o644);
        }
        chmod(&world.top().join("d"), 0o755);
        assert_eq!(world.plan(&then).plan.steps.len(), 3, "they differ");
        world.restore(&then);
        assert_eq!((world.files(), world.folder_modes()), (files, folders), "the first scan: {is_first}");
    }
}

#[test]
fn the_second_snapshot_counts_what_changed() {
    let world = World::with("a", "1\n2\n");
    assert_eq!(world.take().changed, None);
    world.write("a", "1\n3\n4\n");
    world.write("b", "1\n");
    let second = world.take();
    assert_eq!(second.changed, Some((2, 3, 1)));
    assert_eq!(world.take().changed, Some((0, 0, 0)));
    assert_eq!(world.store().snapshots(None).unwrap().len(), 3);
}
