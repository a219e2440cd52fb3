//! The permissions of folders, and which of them a restore changes.

use std::collections::{BTreeMap, BTreeSet};

/// A folder whose permissions a restore changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderChange {
    /// The folder.
    pub path: Vec<u8>,
    /// The permissions that it has now.
    pub before: u32,
    /// Those that it will have.
    pub after: u32,
}

/// The permissions of the folders of a work tree at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderModes {
    /// Those that differ from the permissions of a new folder.
    pub unusual: BTreeMap<Vec<u8>, u32>,
    /// The permissions that a new folder does not get.
    pub umask: u32,
}

impl FolderModes {
    /// Returns the permissions of a folder that existed then.
    pub fn of(&self, path: &[u8]) -> u32 {
        self.unusual.get(path).copied().unwrap_or(0o777 & !self.umask)
    }

    /// Returns the folders whose permissions differ between now and `then`, if they existed at both times.
    pub fn changes_to(&self, then: &Self) -> Vec<FolderChange> {
        let paths: BTreeSet<&Vec<u8>> = self.unusual.keys().chain(then.unusual.keys()).collect();
        let change = |path: &Vec<u8>| FolderChange { path: path.clone(), before: self.of(path), after: then.of(path) };
        paths.into_iter().map(change).filter(|change| change.before != change.after).collect()
    }
}
