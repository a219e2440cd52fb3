//! Drops old snapshots and keeps the store small. Never runs in a hook.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use longhaul_core::{Config, Env, Millis};
use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::memory::upkeep::may_delete;
use longhaul_runtime::{Home, bounded_read, files};
use longhaul_store::{Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::git_output::is_id;
use crate::place::{LOCK_PATIENCE, Lock, Place, folders, remove, remove_temporary_files, snapshots_dir};
use crate::summary::{Kept, retention};
use crate::take::read_commit;
use crate::{Error, blame, journal};

/// The most time for packing new objects after a snapshot.
const PACK_NEW_OBJECTS: Duration = Duration::from_secs(60);

/// The most time for packing all snapshots of a work tree.
const PACK_SNAPSHOTS: Duration = Duration::from_secs(600);

/// Number of files in [`SAMPLE`] from which on the store is packed: about 2,000 objects in all.
const MANY: usize = 32;

/// Four of the 256 folders of objects.
const SAMPLE: [&str; 4] = ["17", "5a", "9c", "e3"];

/// How many rounds of dropping and packing are made to get below the cap.
const ROUNDS: usize = 5;

/// What the description of a failure of upkeep begins with.
pub const UPKEEP_FAILURE: &str = "the upkeep of the snapshots";

/// How large the store of all snapshots is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    pub bytes: u64,
    pub repositories: usize,
}

/// Returns how large the store of all snapshots is.
pub fn store_size(home: &Home) -> StoreSize {
    let repositories = repositories(home);
    StoreSize { bytes: repositories.iter().map(|dir| size(dir)).sum(), repositories: repositories.len() }
}

/// Returns the last failure of a snapshot, or of the upkeep of a store, that no success has followed: the time, and a
/// description.
pub fn last_failure(home: &Home) -> Option<(Millis, String)> {
    let repositories = repositories(home).into_iter();
    let dirs = repositories.flat_map(|dir| folders(&dir.join("trees")).into_iter().chain([dir]));
    let read = |dir: PathBuf| {
        let text = bounded_read::text(&dir.join("failure"), bounded_read::SMALL).ok()?;
        let (at, why) = text.split_once(' ')?;
        Some((Millis(at.parse().ok()?), why.trim().to_owned()))
    };
    dirs.filter_map(read).max_by_key(|(at, _)| *at)
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
        let git = PrivateGit { git_dir: place.repository_dir.clone(), ..place.git(Instant::now() + PACK_NEW_OBJECTS) };
        // If it fails, upkeep tries again.
        let _ = pack_loose(&git);
    }
}

/// What upkeep has done.
#[derive(Debug, Default)]
pub struct Dropped {
    pub snapshots: usize,
    /// The stores whose files could not be deleted, and why. The other stores are not affected.
    pub failures: Vec<String>,
    /// How many stores are in use: their files are deleted by the next upkeep.
    pub in_use: usize,
}

/// Drops snapshots that are too old or too many, and deletes what no snapshot needs.
pub fn upkeep(env: &Env, home: &Home, config: &Config, store: &Store) -> Result<Dropped, Error> {
    let settings = &config.snapshots;
    let mut dropped = Dropped::default();
    for round in 0..ROUNDS {
        let excess = store_size(home).bytes.saturating_sub(settings.max_store.0);
        let snapshots = store.snapshots(None)?;
        let kept: Vec<Kept> = snapshots
            .iter()
            .filter(|snapshot| snapshot.commit.is_some() || snapshot.skipped.is_some())
            .map(kept)
            .collect();
        let drop = if may_delete(home, env.now) {
            retention(&kept, env.now, settings.max_age_days.as_millis(), excess)
        } else {
            // By a wrong clock, the newest ones may seem to be the oldest.
            Vec::new()
        };
        if drop.is_empty() && round > 0 {
            break;
        }
        keep_line_maps(env, home, store, &snapshots, &drop);
        dropped.snapshots += store.drop_snapshots(&drop)?;
        (dropped.in_use, dropped.failures) = (0, Vec::new());
        for dir in repositories(home) {
            match tidy(&dir, store, settings.max_store.0) {
                Ok(tidied) => {
                    dropped.in_use += usize::from(tidied == Tidied::Later);
                    let _ = remove(&dir.join("failure"));
                }
                Err(error) => {
                    let why = format!("{UPKEEP_FAILURE} in {} failed: {}", dir.display(), error.chain());
                    let _ = files::replace(&dir.join("failure"), format!("{} {why}", env.now.0).as_bytes());
                    dropped.failures.push(why);
                }
            }
        }
    }
    if may_delete(home, env.now) {
        let oldest = match config.memory.retention_days.as_millis() {
            0 => 0,
            kept_ms => env.now.0.saturating_sub(kept_ms),
        };
        store.prune_line_maps(oldest, settings.max_store.0 / LINE_MAPS_PART)?;
    }
    Ok(dropped)
}

/// The part of the cap of the store that line maps may take.
const LINE_MAPS_PART: u64 = 100;

/// The most time for the line maps of the snapshots that one run drops.
const KEEP_LINE_MAPS: Duration = Duration::from_secs(60);

/// Stores where the lines come from that the snapshots have changed which are about to be dropped. Of a work tree that is gone, or if
/// its files cannot be read, nothing is stored: that must not keep old snapshots.
fn keep_line_maps(env: &Env, home: &Home, store: &Store, snapshots: &[Snapshot], drop: &[i64]) {
    let dropped: HashSet<i64> = drop.iter().copied().collect();
    let of_dropped = snapshots.iter().filter(|snapshot| dropped.contains(&snapshot.id) && snapshot.tree.is_some());
    let trees: BTreeSet<&str> = of_dropped.filter_map(|snapshot| snapshot.work_tree.as_deref()).collect();
    let deadline = Instant::now() + KEEP_LINE_MAPS;
    for tree in trees {
        if let Ok(place) = Place::find(env, home, Path::new(tree)) {
            let _ = blame::keep_line_maps(env, home, store, &place, &dropped, deadline);
        }
    }
}

fn kept(snapshot: &Snapshot) -> Kept {
    let Snapshot { id, created_at, bytes, is_pinned, .. } = *snapshot;
    Kept { id, at: Millis(created_at), bytes: bytes.max(1), is_pinned }
}

fn repositories(home: &Home) -> Vec<PathBuf> {
    folders(&snapshots_dir(home)).into_iter().filter_map(|dir| std::path::absolute(dir).ok()).collect()
}

/// Returns the size of all files below a folder.
pub(crate) fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

// Deletes what no snapshot of a repository needs, and packs the rest.

/// After this time, no process will serve a request of its own accord.
const SERVED: Duration = Duration::from_secs(60 * 60);

/// Maximum size of the file of packed references.
const MAX_PACKED: u64 = 256 << 20;

/// A file that exists while references are removed whose objects are not deleted yet.
const UNPRUNED: &str = "unpruned";

/// The part of the cap up to which the objects of a repository are copied for pinned snapshots.
const COPIED: u64 = 4;

/// Whether everything that no snapshot needs was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tidied {
    All,
    /// A work tree is in use, so that nothing was deleted.
    Later,
}

/// Deletes what no snapshot of a repository needs.
fn tidy(dir: &Path, store: &Store, max_store: u64) -> Result<Tidied, Error> {
    // A worktree that is not in the list takes its first snapshot after this moment.
    let mark = dir.join("upkeep");
    files::replace(&mark, b"")?;
    let began = modified(&mark).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut trees = folders(&dir.join("trees"));
    let Some(_locks) = lock_all(&trees)? else { return Ok(Tidied::Later) };
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_own =
        |snapshot: &Snapshot| snapshot.tree_key.as_deref().and_then(|key| key.split('/').next()) == Some(&name);
    let own: Vec<Snapshot> = store.snapshots(None)?.into_iter().filter(is_own).collect();
    remove_gone_trees(&mut trees, &own)?;
    if trees.iter().any(|tree| journal::exists(tree)) {
        return Ok(Tidied::Later);
    }
    let is_young = |path: &Path| modified(path).is_some_and(|at| at >= began);
    remove_temporary_files(&dir.join("objects"), |path| !is_young(path));
    let is_unused =
        own.iter().all(|snapshot| snapshot.commit.is_none()) && !trees.iter().any(|tree| has_requests(tree));
    if is_unused && !references(dir)?.iter().any(|(path, _)| is_young(path)) {
        std::fs::remove_dir_all(dir).map_err(Error::change(dir))?;
        return Ok(Tidied::All);
    }
    let git = git_of(dir);
    let commits: BTreeSet<&str> = own.iter().filter_map(|snapshot| snapshot.commit.as_deref()).collect();
    for tree in &trees {
        forget_last_restore(&git, store, tree, &commits)?;
    }
    let undo = trees.iter().filter_map(|tree| journal::before_of(tree)).collect::<BTreeSet<String>>();
    let has_removed = remove_references(dir, &commits, &undo, is_young)?;
    let pinned: BTreeSet<String> =
        own.iter().filter(|snapshot| snapshot.is_pinned).filter_map(|snapshot| snapshot.commit.clone()).collect();
    if git.borrowed.as_ref().is_none_or(|borrowed| size(borrowed) <= max_store / COPIED) {
        copy_borrowed(&git, &pinned)?;
    }
    check_newest(&git, &own, dir)?;
    if has_removed {
        // The private indexes may name objects that are deleted here: without an index, every file is read again.
        for tree in &trees {
            remove(&tree.join("index"))?;
        }
        keep_only(&git, &tips(dir)?, began)?;
        remove(&dir.join(UNPRUNED))?;
    }
    git.run(&["pack-refs", "--all"], b"")?;
    Ok(Tidied::All)
}

/// Returns git for the store of a repository. The repository itself may be gone, and what was borrowed from it.
fn git_of(dir: &Path) -> PrivateGit {
    let common = bounded_read::bytes(&dir.join("common-dir"), bounded_read::SMALL).unwrap_or_default();
    let borrowed = Path::new(OsStr::from_bytes(&common)).join("objects");
    PrivateGit {
        git_dir: dir.to_owned(),
        work_tree: dir.to_owned(),
        objects: dir.join("objects"),
        borrowed: Some(borrowed).filter(|objects| objects.is_dir()),
        deadline: Instant::now() + PACK_SNAPSHOTS,
    }
}

/// Returns what the references of a store name, whether it exists or not. One that cannot be read is an error: without it, the
/// objects of its snapshot would be deleted.
fn tips(dir: &Path) -> Result<BTreeSet<String>, Error> {
    let first = |line: &str| line.split_whitespace().next().filter(|word| is_id(word)).map(str::to_owned);
    let mut tips: BTreeSet<String> = packed_references(dir)?.lines().filter_map(first).collect();
    for (path, commit) in references(dir)? {
        let text = bounded_read::text(&path, bounded_read::SMALL).map_err(Error::change(&path))?;
        // After a power failure, the file may be empty. Its name is the commit.
        tips.extend(first(&text).into_iter().chain([commit]));
    }
    Ok(tips)
}

/// Returns the file of packed references, a line for each.
fn packed_references(dir: &Path) -> Result<String, Error> {
    let path = dir.join("packed-refs");
    match bounded_read::text(&path, MAX_PACKED) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(Error::change(&path)),
    }
}

/// Deletes how to take back the last restore of a work tree, if the session in which it was made was forgotten.
fn forget_last_restore(git: &PrivateGit, store: &Store, tree: &Path, commits: &BTreeSet<&str>) -> Result<(), Error> {
    let Some(before) = journal::before_of(tree).filter(|before| !commits.contains(before.as_str())) else {
        return Ok(());
    };
    let is_forgotten = match read_commit(git, &before) {
        Ok((_, metadata)) => store.is_forgotten(&metadata.session)?,
        Err(_) => false,
    };
    if is_forgotten { journal::forget_last(tree) } else { Ok(()) }
}

/// Takes the locks of all work trees; returns `None` if another process holds one for long.
fn lock_all(trees: &[PathBuf]) -> Result<Option<Vec<Lock>>, Error> {
    let mut locks = Vec::new();
    for tree in trees {
        match Lock::take(tree, LOCK_PATIENCE) {
            Ok(lock) => locks.push(lock),
            Err(Error::Locked) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(locks))
}

/// Returns whether a process may be about to take a snapshot of a work tree.
fn has_requests(tree: &Path) -> bool {
    let requests = std::fs::read_dir(tree.join("requests")).into_iter().flatten().flatten();
    let age = |path: &Path| modified(path).and_then(|at| at.elapsed().ok()).unwrap_or_default();
    requests.into_iter().any(|entry| age(&entry.path()) < SERVED)
}

/// Removes what is stored of work trees that no longer exist: the index, and everything once no snapshot is left.
fn remove_gone_trees(trees: &mut Vec<PathBuf>, own: &[Snapshot]) -> Result<(), Error> {
    let mut removed = Ok(());
    trees.retain(|tree| {
        let stored = bounded_read::bytes(&tree.join("work-tree"), bounded_read::SMALL);
        let is_gone = stored.is_ok_and(|path| !Path::new(OsStr::from_bytes(&path)).is_dir());
        if !is_gone || removed.is_err() {
            return true;
        }
        let name = tree.file_name().unwrap_or_default().to_string_lossy();
        let is_of_tree =
            |snapshot: &Snapshot| snapshot.tree_key.as_deref().and_then(|key| key.split('/').nth(1)) == Some(&name);
        if own.iter().any(is_of_tree) || journal::exists(tree) {
            let _ = std::fs::remove_dir_all(tree.join("requests"));
            removed = remove(&tree.join("index"));
            return true;
        }
        removed = std::fs::remove_dir_all(tree).map_err(Error::change(tree));
        false
    });
    removed
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// Returns the files of all references that are not packed, each with the commit that it belongs to.
fn references(dir: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let mut found = Vec::new();
    for folder in ["snapshots", "staged"].map(|name| dir.join("refs").join(name)) {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(Error::change(&folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(Error::change(&folder))?;
            let path = entry.path();
            // A process that was killed leaves a file that was not renamed.
            if path.extension().is_none() {
                found.push((path, entry.file_name().to_string_lossy().into_owned()));
            }
        }
    }
    Ok(found)
}

/// Removes the references of snapshots that are no longer listed; returns whether there were any.
fn remove_references(
    dir: &Path,
    commits: &BTreeSet<&str>,
    undo: &BTreeSet<String>,
    is_young: impl Fn(&Path) -> bool,
) -> Result<bool, Error> {
    let is_kept = |commit: &str| commits.contains(commit) || undo.contains(commit);
    let unpruned = dir.join(UNPRUNED);
    // An earlier process was killed before it has deleted the objects.
    let mut has_removed = unpruned.exists();
    for (path, commit) in references(dir)? {
        if !is_kept(&commit) && !is_young(&path) {
            files::replace(&unpruned, b"")?;
            remove(&path)?;
            has_removed = true;
        }
    }
    // A line is an id and a name. Lines that begin otherwise belong to tags, and there are none.
    let text = packed_references(dir)?;
    let is_wanted = |line: &&str| line.starts_with('#') || line.rsplit('/').next().is_some_and(is_kept);
    let left: String = text.lines().filter(is_wanted).map(|line| format!("{line}\n")).collect();
    if left != text {
        files::replace(&unpruned, b"")?;
        files::replace(&dir.join("packed-refs"), left.as_bytes())?;
        has_removed = true;
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
        // What the repository has already pruned is not among them.
        let name = pack(git, &reachable(git, pinned)?, &[])?.unwrap_or_default();
        new.pack = name.strip_prefix("pack-").unwrap_or_default().to_owned();
    }
    if !new.pack.is_empty() {
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
fn check_newest(git: &PrivateGit, own: &[Snapshot], dir: &Path) -> Result<(), Error> {
    let mut newest: BTreeMap<&str, &Snapshot> = BTreeMap::new();
    for snapshot in own.iter().filter(|snapshot| snapshot.commit.is_some()) {
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

// Packs the objects that snapshots need, and deletes all others. Objects that the repository has pruned do not matter.

/// Returns the objects that can be reached from some commits or trees, as far as they exist.
fn reachable(git: &PrivateGit, tips: &BTreeSet<String>) -> Result<Vec<String>, Error> {
    // A tip that does not exist would be an error.
    let tips = existing(git, &tips.iter().cloned().collect::<Vec<_>>())?;
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let args = ["rev-list", "--objects", "--missing=print", "--no-object-names", "--stdin"];
    let listed = git.run(&args, lines(&tips).as_bytes())?;
    let listed = String::from_utf8_lossy(&listed);
    Ok(listed.lines().filter(|line| !line.starts_with('?')).map(str::to_owned).collect())
}

fn existing(git: &PrivateGit, ids: &[String]) -> Result<Vec<String>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = git.run(&["cat-file", "--batch-check=%(objectname)"], lines(ids).as_bytes())?;
    let found = String::from_utf8_lossy(&found);
    Ok(found.lines().filter(|line| !line.ends_with(" missing")).map(str::to_owned).collect())
}

fn lines(ids: &[String]) -> String {
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// Writes a pack of some objects; returns its name without the extension, or `None` if there is none to write.
pub(crate) fn pack(git: &PrivateGit, ids: &[String], options: &[&str]) -> Result<Option<String>, Error> {
    let packs = git.objects.join("pack");
    files::create_dir(&packs)?;
    let base = packs.join("pack").to_string_lossy().into_owned();
    let args = [&["pack-objects", "-q", "--non-empty"], options, &[base.as_str()]].concat();
    let hash = git.run(&args, lines(ids).as_bytes())?;
    let hash = String::from_utf8_lossy(&hash).trim().to_owned();
    Ok((!hash.is_empty()).then(|| format!("pack-{hash}")))
}

/// Packs all objects that are in files of their own. Nothing is followed, so that it does not matter what is missing.
pub(crate) fn pack_loose(git: &PrivateGit) -> Result<(), Error> {
    let mut ids = Vec::new();
    for folder in folders(&git.objects) {
        let first = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| format!("{first}{}", entry.file_name().to_string_lossy()));
        ids.extend(names.filter(|id| is_id(id)));
    }
    let own = PrivateGit { borrowed: None, ..git.clone() };
    pack(&own, &ids, &["--incremental"])?;
    own.run(&["prune-packed", "-q"], b"")?;
    Ok(())
}

/// Packs the objects of `tips`, and deletes those that are older than `began` and that no tip needs.
///
/// Younger ones may belong to a snapshot that is being taken.
pub(crate) fn keep_only(git: &PrivateGit, tips: &BTreeSet<String>, began: SystemTime) -> Result<(), Error> {
    // git would not pack an object that the repository has, too, and the copy of our own would be deleted.
    let own = PrivateGit { borrowed: None, ..git.clone() };
    let new = pack(&own, &existing(&own, &reachable(git, tips)?)?, &["--honor-pack-keep"])?;
    let is_old = |path: &Path| path.symlink_metadata().and_then(|found| found.modified()).is_ok_and(|at| at < began);
    for folder in folders(&git.objects) {
        let is_packs = folder.ends_with("pack");
        if folder.ends_with("info") {
            continue;
        }
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let is_needed = is_packs && (is_kept_pack(&path) || is_new_pack(&path, new.as_deref()));
            // All files of a pack are as young as the pack itself.
            let decisive = if is_packs { path.with_extension("pack") } else { path.clone() };
            if !is_needed && (is_old(&decisive) || !decisive.exists()) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}

fn is_kept_pack(path: &Path) -> bool {
    path.with_extension("keep").exists()
}

fn is_new_pack(path: &Path, new: Option<&str>) -> bool {
    new.is_some() && path.file_stem().and_then(|stem| stem.to_str()) == new
}
