//! The folders of a work tree: those with unusual permissions, and those without any file. git stores neither.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longhaul_snapshot::{ancestors, decoded_path, encoded_path, names_git};

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
