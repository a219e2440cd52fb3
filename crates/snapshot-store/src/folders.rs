//! The folders of a work tree: those with unusual permissions, and those without any file, of which git stores neither; how a
//! restore changes them; and those that belong to a repository.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longhaul_runtime::git::{PrivateGit, WorkTree};
use rustix::fs::{Mode, RawMode};

use crate::Error;
use crate::disk::Files;
use crate::git_output::listed_paths;
use crate::paths::{Change, ancestors, decoded_path, encoded_path, names_git};
use crate::place::{MAX_MODES, Metadata};
use crate::restore::{Destination, Goal};
use crate::restore_plan::{Disk, OnDisk};
use crate::scan::Scanned;

/// Maximum number of folders without files that are stored.
const MAX_EMPTY: usize = 1000;

/// What is known of the folders of a work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Permissions that differ from those of a new folder.
    pub(crate) modes: BTreeMap<String, u32>,
    /// Folders that contain no file.
    pub(crate) empty: Vec<String>,
}

/// Inspects the folders of the stored files, `known`, and those in them. Removes those that no longer exist from `known`.
///
/// `emptied` are paths of files that are no longer stored: the folders above them may be empty.
pub(crate) fn inspect(top: &Path, known: &mut BTreeSet<String>, umask: u32, emptied: &BTreeSet<Vec<u8>>) -> Folders {
    let usual = 0o777 & !umask;
    let mut folders = Folders::default();
    let mut links: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    known.retain(|path| {
        let bytes = decoded_path(path);
        let Some(found) = folder_at(top, &bytes) else { return false };
        if found.mode() & 0o7777 != usual {
            folders.modes.insert(path.clone(), found.mode() & 0o7777);
        }
        links.insert(bytes, found.nlink());
        true
    });
    links.insert(Vec::new(), u64::MAX);
    let mut children: BTreeMap<&[u8], u64> = BTreeMap::new();
    for path in links.keys().filter(|path| !path.is_empty()) {
        *children.entry(ancestors(path).last().unwrap_or_default()).or_default() += 1;
    }
    let mut empty = BTreeSet::new();
    for (path, count) in &links {
        // A folder has a link for each folder in it, and two of its own. Where that is not so, one that is empty is not found.
        if *count > children.get(path.as_slice()).copied().unwrap_or_default() + 2 {
            find_empty(top, path, &|below| links.contains_key(below), &mut empty);
        }
    }
    for path in emptied.iter().flat_map(|path| ancestors(path)) {
        add_if_empty(top, path, &mut empty);
    }
    for path in empty.iter().take(MAX_EMPTY) {
        let mode = folder_at(top, path).map_or(usual, |found| found.mode() & 0o7777);
        folders.modes.extend((mode != usual).then(|| (encoded_path(path), mode)));
    }
    // As an unknown folder, it is found again by the next scan.
    known.retain(|path| !empty.contains(&decoded_path(path)));
    folders.empty = empty.into_iter().take(MAX_EMPTY).map(|path| encoded_path(&path)).collect();
    folders
}

fn folder_at(top: &Path, path: &[u8]) -> Option<std::fs::Metadata> {
    std::fs::symlink_metadata(top.join(OsStr::from_bytes(path))).ok().filter(std::fs::Metadata::is_dir)
}

/// Adds the empty ones of the folders in a folder.
fn find_empty(top: &Path, path: &[u8], is_known: &dyn Fn(&[u8]) -> bool, empty: &mut BTreeSet<Vec<u8>>) {
    for entry in std::fs::read_dir(top.join(OsStr::from_bytes(path))).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let below = if path.is_empty() { name.as_bytes().to_vec() } else { [path, b"/", name.as_bytes()].concat() };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !names_git(name.as_bytes()) && !is_known(&below) {
            add_if_empty(top, &below, empty);
        }
    }
}

/// Adds a folder, and those in it, if it contains no file; returns whether it does not. Stops at the first file.
fn add_if_empty(top: &Path, path: &[u8], empty: &mut BTreeSet<Vec<u8>>) -> bool {
    let Some(entries) = folder_at(top, path).and_then(|_| std::fs::read_dir(top.join(OsStr::from_bytes(path))).ok())
    else {
        return false;
    };
    let mut found = BTreeSet::from([path.to_owned()]);
    for entry in entries.flatten() {
        let below = [path, b"/", entry.file_name().as_bytes()].concat();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || !add_if_empty(top, &below, &mut found) {
            return false;
        }
    }
    empty.append(&mut found);
    true
}

// The permissions of folders, and which of them a restore changes.

/// A folder whose permissions a restore changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderChange {
    pub path: Vec<u8>,
    /// The permissions that it has now.
    pub before: u32,
    /// Those that it will have.
    pub after: u32,
}

/// The permissions of the folders of a work tree at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FolderModes {
    /// Those that differ from the permissions of a new folder.
    pub unusual: BTreeMap<Vec<u8>, u32>,
    /// The permissions that a new folder does not get.
    pub umask: u32,
}

impl FolderModes {
    /// Returns the permissions of a folder that existed then.
    pub(crate) fn of(&self, path: &[u8]) -> u32 {
        self.unusual.get(path).copied().unwrap_or(0o777 & !self.umask)
    }

    /// Returns the folders whose permissions differ between now and `then`, if they existed at both times.
    pub(crate) fn changes_to(&self, then: &Self) -> Vec<FolderChange> {
        let paths: BTreeSet<&Vec<u8>> = self.unusual.keys().chain(then.unusual.keys()).collect();
        let change = |path: &Vec<u8>| FolderChange { path: path.clone(), before: self.of(path), after: then.of(path) };
        paths.into_iter().map(change).filter(|change| change.before != change.after).collect()
    }
}

// The folders whose permissions a restore changes, in the end or only while it writes.

/// The permissions that the owner of a folder needs to change what is in it.
const OWNER: u32 = 0o700;

/// Returns the folders that exist now and in the target, and whose permissions differ.
pub(crate) fn folder_changes(
    git: &PrivateGit,
    files: &Files,
    goal: &Goal,
    now: &Scanned,
    then: &Metadata,
    target: &str,
) -> Result<Vec<FolderChange>, Error> {
    let mut changes = match goal.to {
        Destination::BeforeRestore => taken_back(files, &goal.folders),
        Destination::Snapshot(_) => changes_to(git, goal, now, then, target)?,
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
pub(crate) fn closed_folders(files: &Files, steps: &[Change]) -> BTreeMap<Vec<u8>, u32> {
    let paths = steps.iter().flat_map(|step| ancestors(&step.path).chain([step.path.as_slice()]));
    let paths: BTreeSet<&[u8]> = paths.collect();
    let closed = |path: &&[u8]| {
        let state = files.state(path).ok().flatten().filter(|state| state.is_folder())?;
        (state.permissions() & OWNER != OWNER).then(|| state.permissions())
    };
    paths.iter().filter_map(|path| Some((path.to_vec(), closed(path)?))).collect()
}

// Changes the permissions of folders of the work tree, before and after a restore.

impl Files {
    /// Lets the owner change what is in the folders whose permissions change. Returns those that another program has changed
    /// meanwhile: they are left alone.
    pub(crate) fn open_folders(&self) -> Vec<Vec<u8>> {
        let mut conflicts = Vec::new();
        // A folder comes after those above it.
        for (path, before) in &self.folders_before {
            let Ok((folder, mode)) = self.folder_with_mode(path) else { continue };
            let after = self.folder_modes.get(path).copied().unwrap_or(*before);
            if ![*before, before | OWNER, after, after | OWNER].contains(&mode) {
                conflicts.push(path.clone());
            } else if mode & OWNER != OWNER {
                // If that is not permitted, the change in it fails and says why.
                let _ = set_mode(&folder, mode | OWNER);
            }
        }
        conflicts
    }

    /// Gives folders their permissions, after everything in them is written: a folder comes before those above it, which may
    /// become closed.
    pub(crate) fn set_folder_permissions(&self, left_alone: &[Vec<u8>]) {
        for (path, mode) in self.folder_modes.iter().rev().filter(|(path, _)| !left_alone.contains(path)) {
            if let Ok((folder, now)) = self.folder_with_mode(path)
                && now != *mode
            {
                let _ = set_mode(&folder, *mode);
            }
        }
    }

    fn folder_with_mode(&self, path: &[u8]) -> io::Result<(OwnedFd, u32)> {
        let folder = self.open_folder(path)?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        let mode = rustix::fs::fstat(&folder)?.st_mode as u32 & 0o7777;
        Ok((folder, mode))
    }
}

fn set_mode(folder: &OwnedFd, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(folder, Mode::from_raw_mode(mode as RawMode))?)
}

// Detects which folders of a work tree belong to a repository. They are neither read nor changed; the reason that is
// reported is in `left_out.rs`.

/// Returns the git folders of the repository itself that lie in the work tree under any name, relative to its top.
pub(crate) fn own_folders(tree: &WorkTree) -> Vec<Vec<u8>> {
    let below = [&tree.git_dir, &tree.common_dir].into_iter().filter_map(|dir| dir.strip_prefix(&tree.top).ok());
    below.map(|below| below.as_os_str().as_bytes().to_vec()).collect()
}

/// Returns whether a folder is a repository: one with `.git`, or a bare one.
pub(crate) fn is_repository(folder: &Path) -> bool {
    let is_folder = |name: &str| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
    folder.join(".git").symlink_metadata().is_ok()
        || (folder.join("HEAD").symlink_metadata().is_ok() && is_folder("objects") && is_folder("refs"))
}
