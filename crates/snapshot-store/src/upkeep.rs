//! Drops old snapshots and keeps the store small. Never runs in a hook.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use longhaul_core::{Config, Env, Millis};
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{Home, bounded_read, files};
use longhaul_snapshot::{Kept, retention};
use longhaul_store::{Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::lock::Lock;
use crate::place::{Place, folders, remove, snapshots_dir};
use crate::temporary_objects::remove_temporary_files;
use crate::{Error, journal};

/// Time limit for packing a store.
const LIMIT: Duration = Duration::from_secs(600);

/// How long to wait for a snapshot that is being taken, or whose process is about to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for packing new objects after a snapshot.
const PACKING: Duration = Duration::from_secs(60);

/// Number of files in [`SAMPLE`] from which on the store is packed: about 2,000 objects in all.
const MANY: usize = 32;

/// Four of the 256 folders of objects.
const SAMPLE: [&str; 4] = ["17", "5a", "9c", "e3"];

/// How many rounds of dropping and packing are made to get below the cap.
const ROUNDS: usize = 3;

/// The part of the cap up to which the objects of a repository are copied for pinned snapshots.
const COPIED: u64 = 4;

/// How large the store of all snapshots is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Bytes of all files.
    pub bytes: u64,
    /// Number of repositories.
    pub repositories: usize,
}

/// Returns how large the store of all snapshots is.
pub fn store_size(home: &Home) -> StoreSize {
    let repositories = repositories(home);
    StoreSize { bytes: repositories.iter().map(|dir| size(dir)).sum(), repositories: repositories.len() }
}

/// Returns the last failure of a snapshot that no later one has followed: the time, and a description.
pub fn last_failure(home: &Home) -> Option<(Millis, String)> {
    let trees = repositories(home).into_iter().flat_map(|dir| folders(&dir.join("trees")));
    let read = |dir: PathBuf| {
        let text = bounded_read::text(&dir.join("failure"), bounded_read::SMALL).ok()?;
        let (at, why) = text.split_once(' ')?;
        Some((Millis(at.parse().ok()?), why.trim().to_owned()))
    };
    trees.filter_map(read).max_by_key(|(at, _)| *at)
}

/// Records that a snapshot of a work tree failed.
pub(crate) fn record_failure(place: &Place, error: &Error) {
    let at = longhaul_runtime::env().now.0;
    let text = format!("{at} {}: {}", place.tree.top.display(), error.chain());
    let _ = files::replace(&place.dir.join("failure"), text.as_bytes());
}

/// Records that a snapshot of a work tree was taken.
pub(crate) fn clear_failure(place: &Place) {
    let _ = remove(&place.dir.join("failure"));
}

/// Packs new objects if there are many. The lock must be held.
pub(crate) fn pack_if_many(place: &Place) {
    let count = |name: &str| std::fs::read_dir(place.objects().join(name)).map_or(0, Iterator::count);
    if SAMPLE.into_iter().map(count).sum::<usize>() >= MANY {
        let git = PrivateGit { git_dir: place.repository_dir.clone(), ..place.git(Instant::now() + PACKING) };
        // If it fails, upkeep tries again.
        let _ = git.run(&["repack", "-q", "-d", "-l", "--no-write-bitmap-index"], b"");
    }
}

/// Drops snapshots that are too old or too many, and deletes what no snapshot needs. Returns how many were dropped.
pub fn upkeep(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<usize, Error> {
    let settings = &config.snapshots;
    let mut dropped = 0;
    for round in 0..ROUNDS {
        let excess = store_size(home).bytes.saturating_sub(settings.max_store.0);
        let snapshots = store.snapshots(None)?;
        let kept: Vec<Kept> =
            snapshots.iter().filter(|one| one.commit.is_some() || one.skipped.is_some()).map(kept).collect();
        let drop = retention(&kept, env.now, settings.max_age_days.as_millis(), excess);
        if drop.is_empty() && round > 0 {
            break;
        }
        dropped += store.drop_snapshots(&drop)?;
        for dir in repositories(home) {
            tidy(&dir, store, settings.max_store.0)?;
        }
    }
    Ok(dropped)
}

fn kept(snapshot: &Snapshot) -> Kept {
    let mut kept = Kept::new(snapshot.id, Millis(snapshot.created_at), snapshot.bytes.max(1));
    kept.is_pinned = snapshot.is_pinned;
    kept
}

/// Deletes what no snapshot of a repository needs.
fn tidy(dir: &Path, store: &Store, max_store: u64) -> Result<(), Error> {
    let trees = folders(&dir.join("trees"));
    let mut locks = Vec::new();
    for tree in &trees {
        match Lock::take(tree, PATIENCE) {
            Ok(lock) => locks.push(lock),
            // It is left to the next run.
            Err(Error::Locked) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    let is_in_use = |tree: &PathBuf| {
        tree.join("journal.json").exists()
            || std::fs::read_dir(tree.join("requests")).is_ok_and(|mut all| all.next().is_some())
    };
    if trees.iter().any(is_in_use) {
        return Ok(());
    }
    // The first snapshot of another worktree may be taken now: its references are younger than this file.
    let mark = dir.join("upkeep");
    files::replace(&mark, b"")?;
    let began = modified(&mark).unwrap_or(SystemTime::UNIX_EPOCH);
    remove_temporary_files(&dir.join("objects"));
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_own = |one: &Snapshot| one.tree_key.as_deref().and_then(|key| key.split('/').next()) == Some(&name);
    let snapshots: Vec<Snapshot> = store.snapshots(None)?.into_iter().filter(is_own).collect();
    let own: Vec<&Snapshot> = snapshots.iter().collect();
    let is_young = |path: &Path| modified(path).is_some_and(|at| at >= began);
    if own.iter().all(|one| one.commit.is_none()) && !references(dir).iter().any(|(path, _)| is_young(path)) {
        return std::fs::remove_dir_all(dir).map_err(Error::change(dir));
    }
    let common = bounded_read::bytes(&dir.join("common-dir"), bounded_read::SMALL).unwrap_or_default();
    let borrowed = Path::new(OsStr::from_bytes(&common)).join("objects");
    if !borrowed.is_dir() {
        // The repository is gone, and what was borrowed from it. Nothing can be packed without it.
        return Ok(());
    }
    let git = PrivateGit {
        git_dir: dir.to_owned(),
        work_tree: dir.to_owned(),
        objects: dir.join("objects"),
        borrowed: Some(borrowed.clone()),
        deadline: Instant::now() + LIMIT,
    };
    let commits: BTreeSet<&str> = own.iter().filter_map(|one| one.commit.as_deref()).collect();
    let undo = trees.iter().filter_map(|tree| journal::before_of(tree)).collect::<BTreeSet<String>>();
    let has_removed = remove_references(dir, &commits, &undo, is_young)?;
    let pinned: BTreeSet<String> =
        own.iter().filter(|one| one.is_pinned).filter_map(|one| one.commit.clone()).collect();
    if size(&borrowed) <= max_store / COPIED {
        copy_borrowed(&git, &pinned)?;
    }
    check_newest(&git, &own, dir)?;
    if has_removed {
        // The private indexes may name objects that are deleted here: without an index, every file is read again.
        for tree in &trees {
            remove(&tree.join("index"))?;
        }
        git.run(&["repack", "-q", "-a", "-d", "-l", "--no-write-bitmap-index"], b"")?;
        git.run(&["prune", "--expire=now"], b"")?;
    }
    git.run(&["pack-refs", "--all"], b"")?;
    Ok(())
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// Returns the files of all references that are not packed, each with the commit that it belongs to.
fn references(dir: &Path) -> Vec<(PathBuf, String)> {
    let folders = ["snapshots", "staged"].map(|name| dir.join("refs").join(name));
    let entries = folders.into_iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Removes the references of snapshots that are no longer listed; returns whether there were any.
fn remove_references(
    dir: &Path,
    commits: &BTreeSet<&str>,
    undo: &BTreeSet<String>,
    is_young: impl Fn(&Path) -> bool,
) -> Result<bool, Error> {
    let is_kept = |commit: &str| commits.contains(commit) || undo.contains(commit);
    let mut has_removed = false;
    for (path, commit) in references(dir) {
        if !is_kept(&commit) && !is_young(&path) {
            remove(&path)?;
            has_removed = true;
        }
    }
    // A line is an id and a name. Lines that begin otherwise belong to tags, and there are none.
    let packed = dir.join("packed-refs");
    if let Ok(text) = bounded_read::text(&packed, bounded_read::LARGE) {
        let is_wanted = |line: &&str| line.starts_with('#') || line.rsplit('/').next().is_some_and(is_kept);
        let left: String = text.lines().filter(is_wanted).map(|line| format!("{line}\n")).collect();
        if left != text {
            files::replace(&packed, left.as_bytes())?;
            has_removed = true;
        }
    }
    Ok(has_removed)
}

/// Which snapshots need no object of the repository, and the pack that makes them independent.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Independent {
    commits: BTreeSet<String>,
    pack: String,
}

/// Copies what pinned snapshots borrow from the repository into a pack of their own, which later packing keeps.
fn copy_borrowed(git: &PrivateGit, pinned: &BTreeSet<String>) -> Result<(), Error> {
    let stored = git.git_dir.join("independent.json");
    let known: Independent = bounded_read::bytes(&stored, bounded_read::LARGE)
        .ok()
        .and_then(|json| serde_json::from_slice(&json).ok())
        .unwrap_or_default();
    if known.commits == *pinned {
        return Ok(());
    }
    let mut new = Independent { commits: pinned.clone(), pack: String::new() };
    let packs = git.objects.join("pack");
    if !pinned.is_empty() {
        files::create_dir(&packs)?;
        let input: String = pinned.iter().map(|commit| format!("{commit}\n")).collect();
        let base = packs.join("pack").to_string_lossy().into_owned();
        let hash = git.run(&["pack-objects", "-q", "--revs", &base], input.as_bytes())?;
        new.pack = String::from_utf8_lossy(&hash).trim().to_owned();
        files::replace(&packs.join(format!("pack-{}.keep", new.pack)), b"longhaul\n")?;
    }
    if !known.pack.is_empty() && known.pack != new.pack {
        // The objects that are still needed are in the new pack, or in another.
        remove(&packs.join(format!("pack-{}.keep", known.pack)))?;
    }
    let json = serde_json::to_vec(&new).map_err(|_| Error::Output)?;
    Ok(files::replace(&stored, &json)?)
}

/// Looks for objects of the newest snapshots that the repository has pruned. The files are then read again.
fn check_newest(git: &PrivateGit, own: &[&Snapshot], dir: &Path) -> Result<(), Error> {
    let mut newest: BTreeMap<&str, &Snapshot> = BTreeMap::new();
    for snapshot in own.iter().filter(|one| one.commit.is_some()) {
        newest.insert(snapshot.tree_key.as_deref().unwrap_or_default(), snapshot);
    }
    for (key, snapshot) in newest {
        let commit = snapshot.commit.as_deref().unwrap_or_default();
        let listed = git.run(&["rev-list", "--objects", "--missing=print", "--no-object-names", commit], b"");
        let is_whole = listed.is_ok_and(|list| !list.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"?")));
        if !is_whole && let Some(tree) = key.split('/').nth(1) {
            remove(&dir.join("trees").join(tree).join("index"))?;
        }
    }
    Ok(())
}

/// Returns the folders of all repositories.
fn repositories(home: &Home) -> Vec<PathBuf> {
    folders(&snapshots_dir(home)).into_iter().filter_map(|dir| std::path::absolute(dir).ok()).collect()
}

/// Returns the size of all files below a folder.
fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
