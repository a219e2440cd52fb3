//! A JSON file that maps folders to the hash of a file in each. It is used only if no other user could have written it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fs2::FileExt;
use serde::{Deserialize, Serialize};

use crate::{Error, Home, files};

/// Maximum number of folders; the oldest entry is removed first.
const MOST: usize = 1_000;

/// The entry of one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The hash of the file.
    pub(crate) hash: String,
    /// The time at which the entry was written, in milliseconds since the Unix epoch.
    pub(crate) at: u64,
}

/// Entries by the canonical path of the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FolderHashes {
    folders: BTreeMap<String, Entry>,
}

impl FolderHashes {
    /// Reads the file. Returns no entries if it is missing or unreadable, or if another user can write it.
    pub(crate) fn load(path: &Path) -> Self {
        let read = || {
            let metadata = path.symlink_metadata().ok()?;
            let is_own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
            let bytes = is_own.then(|| files::read_without_waiting(path).ok())??;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Changes the file under a lock, so that no concurrent change is lost.
    pub(crate) fn change<T>(home: &Home, path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, Error> {
        let lock = files::open_append(&home.locks().join("projects"))?;
        lock.lock_exclusive().map_err(|source| Error::Write { path: path.to_owned(), source })?;
        let before = Self::load(path);
        let mut after = before.clone();
        let changed = change(&mut after);
        if after != before {
            files::replace(path, &serde_json::to_vec_pretty(&after).unwrap_or_default())?;
        }
        Ok(changed)
    }

    /// Returns the entry of a folder. A path that is not UTF-8 has none: its lossy form could be that of another
    /// folder.
    pub(crate) fn get(&self, folder: &Path) -> Option<&Entry> {
        self.folders.get(folder.to_str()?)
    }

    /// Stores the hash of a folder's file.
    pub(crate) fn set(&mut self, folder: &Path, hash: &str, at: u64) {
        let Some(folder) = folder.to_str() else { return };
        self.folders.insert(folder.to_owned(), Entry { hash: hash.to_owned(), at });
        while self.folders.len() > MOST {
            let oldest = self.folders.iter().min_by_key(|(_, entry)| entry.at).map(|(folder, _)| folder.clone());
            self.folders.retain(|folder, _| Some(folder) != oldest.as_ref());
        }
    }

    /// Removes a folder. Returns whether it had an entry.
    pub(crate) fn remove(&mut self, folder: &Path) -> bool {
        folder.to_str().is_some_and(|folder| self.folders.remove(folder).is_some())
    }

    /// Returns all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.folders.iter().map(|(folder, entry)| (Path::new(folder), entry))
    }
}
