//! The folders whose permissions a restore changes, in the end or only while it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

use longhaul_runtime::git::PrivateGit;
use longhaul_snapshot::{Disk, FolderChange, FolderModes, OnDisk, Step, ancestors, decoded_path};

use crate::Error;
use crate::disk::Files;
use crate::git_output::listed_paths;
use crate::metadata::{MAX_MODES, Metadata};
use crate::restore::Goal;
use crate::scan::Scanned;

/// The permissions that the owner of a folder needs to change what is in it.
pub(crate) const OWNER: u32 = 0o700;

/// Returns the folders that exist now and in the target, and whose permissions differ.
pub(crate) fn folder_changes(
    git: &PrivateGit,
    files: &Files,
    goal: &Goal,
    now: &Scanned,
    then: &Metadata,
    target: &str,
) -> Result<Vec<FolderChange>, Error> {
    let mut changes = match &goal.folders {
        Some(folders) => taken_back(files, folders),
        None => changes_to(git, goal, now, then, target)?,
    };
    changes.retain(|change| is_own(files, &change.path) && is_plain(files, &change.path));
    Ok(changes)
}

/// Returns the changes by which the folders that a restore has changed become what they were.
fn taken_back(files: &Files, folders: &BTreeMap<Vec<u8>, u32>) -> Vec<FolderChange> {
    let change = |(path, after): (&Vec<u8>, &u32)| {
        let state = files.state(path).ok().flatten()?;
        let before = state.permissions();
        (before != *after).then(|| FolderChange { path: path.clone(), before, after: *after })
    };
    folders.iter().filter_map(change).collect()
}

fn changes_to(
    git: &PrivateGit,
    goal: &Goal,
    now: &Scanned,
    then: &Metadata,
    target: &str,
) -> Result<Vec<FolderChange>, Error> {
    if then.has_no_folder_modes || now.folders.modes.len() >= MAX_MODES {
        return Ok(Vec::new());
    }
    let decoded =
        |modes: &BTreeMap<String, u32>| modes.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect();
    let modes_now = FolderModes { unusual: decoded(&now.folders.modes), umask: now.umask };
    let mut changes = modes_now.changes_to(&then.folder_modes());
    changes.retain(|change| goal.selects(&change.path));
    if !changes.is_empty() {
        let exist = folders_of(git, &now.tree, &now.folders.empty)?;
        let existed = folders_of(git, target, &then.empty_folders)?;
        changes.retain(|change| exist.contains(&change.path) && existed.contains(&change.path));
    }
    Ok(changes)
}

/// Returns the folders of a tree, and those without files, which it does not have.
fn folders_of(git: &PrivateGit, tree: &str, empty: &[String]) -> Result<BTreeSet<Vec<u8>>, Error> {
    let listed = git.run(&["ls-tree", "-r", "-d", "-z", "--name-only", tree], b"")?;
    let listed = listed_paths(&listed).into_iter().map(<[u8]>::to_vec);
    Ok(listed.chain(empty.iter().map(|path| decoded_path(path))).collect())
}

/// Returns whether this process may change the permissions of a folder.
fn is_own(files: &Files, path: &[u8]) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || files.full(path).symlink_metadata().is_ok_and(|found| found.uid() == user.as_raw())
}

/// Returns whether a path is a folder, neither a repository nor in one.
fn is_plain(files: &Files, path: &[u8]) -> bool {
    ancestors(path).chain([path]).all(|folder| files.at(folder) == OnDisk::Folder)
}

/// Returns the existing folders at and above the paths of steps in which the owner may change nothing, with their permissions.
pub(crate) fn closed_folders(files: &Files, steps: &[Step]) -> BTreeMap<Vec<u8>, u32> {
    let paths = steps.iter().flat_map(|step| ancestors(&step.path).chain([step.path.as_slice()]));
    let paths: BTreeSet<&[u8]> = paths.collect();
    let closed = |path: &&[u8]| {
        let state = files.state(path).ok().flatten().filter(|state| state.is_folder())?;
        (state.permissions() & OWNER != OWNER).then(|| state.permissions())
    };
    paths.iter().filter_map(|path| Some((path.to_vec(), closed(path)?))).collect()
}
