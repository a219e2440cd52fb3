//! What is known of a work tree from the last scan.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longhaul_snapshot::{ancestors, decoded_path, encoded_path};
use serde::{Deserialize, Serialize};

use crate::metadata::usual_permissions;
use crate::tracked::version_of;

/// What is known of a work tree from the last scan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ScanState {
    /// The version of the index that the tree was written from.
    pub(crate) index: Option<String>,
    pub(crate) tree: Option<String>,
    /// The permissions that a new file does not get, as of the first scan.
    pub(crate) umask: Option<u32>,
    /// Permissions of files that differ from those of a new file.
    pub(crate) modes: BTreeMap<String, u32>,
    /// Tracked files that are ignored: git does not list them, so their versions are compared.
    pub(crate) forced: BTreeMap<String, String>,
    /// Files that were changed within the last second of the scan. git compares whole seconds, and would not notice that
    /// their permissions change in the same second.
    pub(crate) recent: BTreeSet<String>,
    /// The folders of the stored files.
    pub(crate) folders: BTreeSet<String>,
    /// Identifies the rules by which the stored files were chosen.
    pub(crate) rules: Option<String>,
    /// Until when the work tree is not scanned, and why.
    pub(crate) pause: Option<(u64, String)>,
}

impl ScanState {
    /// Returns the permissions that a new file does not get.
    pub(crate) fn umask(&mut self) -> u32 {
        *self.umask.get_or_insert_with(current_umask)
    }

    /// Records the permissions of a file.
    pub(crate) fn record_mode(&mut self, path: String, metadata: &Metadata) {
        let (umask, permissions) = (self.umask(), metadata.mode() & 0o7777);
        if permissions == usual_permissions(umask, permissions & 0o100 != 0) {
            self.modes.remove(&path);
        } else {
            self.modes.insert(path, permissions);
        }
    }

    /// Reads permissions and folders of all stored files again. Returns files as [`Self::record_recent_modes`] does.
    ///
    /// A scan that was killed may have written the index and not this state. git does not list these files then, because
    /// they have not changed since they are in the index.
    pub(crate) fn record_stored(&mut self, top: &Path, stored: &[&[u8]]) -> Vec<(String, i64)> {
        self.modes.clear();
        self.forced.clear();
        self.folders.clear();
        let mut recent = Vec::new();
        for path in stored {
            self.folders.extend(ancestors(path).map(encoded_path));
            let found = std::fs::symlink_metadata(top.join(OsStr::from_bytes(path)));
            if let Some(metadata) = found.ok().filter(Metadata::is_file) {
                recent.push((encoded_path(path), metadata.ctime()));
                self.record_mode(encoded_path(path), &metadata);
            }
        }
        recent
    }

    /// Reads the permissions of recently changed files again. Returns these files, each with the second of its last change.
    pub(crate) fn record_recent_modes(&mut self, top: &Path) -> Vec<(String, i64)> {
        let mut recent = Vec::new();
        for path in std::mem::take(&mut self.recent) {
            let found = std::fs::symlink_metadata(top.join(OsStr::from_bytes(&decoded_path(&path))));
            if let Some(metadata) = found.ok().filter(Metadata::is_file) {
                recent.push((path.clone(), metadata.ctime()));
                self.record_mode(path, &metadata);
            }
        }
        recent
    }

    /// Returns whether a tracked file that is ignored has changed since the last scan, and records its version.
    pub(crate) fn has_changed(&mut self, top: &Path, path: &[u8]) -> bool {
        let (key, version) = (encoded_path(path), version_of(&top.join(OsStr::from_bytes(path))));
        match version {
            Some(version) => self.forced.insert(key, version.clone()) != Some(version),
            None => self.forced.remove(&key).is_some(),
        }
    }
}

fn current_umask() -> u32 {
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(umask);
    umask.as_raw_mode() as u32
}
