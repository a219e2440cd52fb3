//! Deletes what no snapshot of a repository needs, and packs the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files, waiting_times};
use longhaul_store::{Snapshot, Store};
use serde::{Deserialize, Serialize};

use crate::lock::Lock;
use crate::place::{folders, remove};
use crate::prune::{keep_only, pack, reachable};
use crate::take::read_commit;
use crate::temporary_objects::remove_temporary_files;
use crate::upkeep::size;
use crate::{Error, journal};

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
pub(crate) fn tidy(dir: &Path, store: &Store, max_store: u64) -> Result<Tidied, Error> {
    // A worktree that is not in the list takes its first snapshot after this moment.
    let mark = dir.join("upkeep");
    files::replace(&mark, b"")?;
    let began = modified(&mark).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut trees = folders(&dir.join("trees"));
    let Some(_locks) = lock_all(&trees)? else { return Ok(Tidied::Later) };
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_own = |one: &Snapshot| one.tree_key.as_deref().and_then(|key| key.split('/').next()) == Some(&name);
    let own: Vec<Snapshot> = store.snapshots(None)?.into_iter().filter(is_own).collect();
    remove_gone_trees(&mut trees, &own)?;
    if trees.iter().any(|tree| journal::exists(tree)) {
        return Ok(Tidied::Later);
    }
    let is_young = |path: &Path| modified(path).is_some_and(|at| at >= began);
    remove_temporary_files(&dir.join("objects"), |path| !is_young(path));
    let is_unused = own.iter().all(|one| one.commit.is_none()) && !trees.iter().any(|tree| has_requests(tree));
    if is_unused && !references(dir)?.iter().any(|(path, _)| is_young(path)) {
        std::fs::remove_dir_all(dir).map_err(Error::change(dir))?;
        return Ok(Tidied::All);
    }
    let git = git_of(dir);
    let commits: BTreeSet<&str> = own.iter().filter_map(|one| one.commit.as_deref()).collect();
    for tree in &trees {
        forget_last_restore(&git, store, tree, &commits)?;
    }
    let undo = trees.iter().filter_map(|tree| journal::before_of(tree)).collect::<BTreeSet<String>>();
    let has_removed = remove_references(dir, &commits, &undo, is_young)?;
    let pinned: BTreeSet<String> =
        own.iter().filter(|one| one.is_pinned).filter_map(|one| one.commit.clone()).collect();
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
        deadline: Instant::now() + waiting_times::PACK_SNAPSHOTS,
    }
}

/// Returns what the references of a store name, whether it exists or not. One that cannot be read is an error: without it, the
/// objects of its snapshot would be deleted.
fn tips(dir: &Path) -> Result<BTreeSet<String>, Error> {
    let is_id = |word: &&str| matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let first = |line: &str| line.split_whitespace().next().filter(is_id).map(str::to_owned);
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
        match Lock::take(tree, waiting_times::SNAPSHOT_LOCK) {
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
        let is_of_tree = |one: &Snapshot| one.tree_key.as_deref().and_then(|key| key.split('/').nth(1)) == Some(&name);
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
