//! What a snapshot knows beside its files, stored as JSON in the message of its commit.

use std::collections::BTreeMap;

use longhaul_snapshot::{FolderModes, LeftOut, LeftOutReason, decoded_path, encoded_path};
use serde::{Deserialize, Serialize};

/// What a snapshot knows beside its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    /// The session.
    pub(crate) session: String,
    /// What the snapshot was taken for.
    pub(crate) kind: String,
    /// The time of the event, in milliseconds since the epoch.
    pub(crate) created_at: u64,
    /// What was left out: paths and the names of reasons.
    pub(crate) left_out: Vec<(String, String)>,
    /// Permissions of files that differ from those of a new file.
    pub(crate) modes: BTreeMap<String, u32>,
    /// The permissions that a new file does not get.
    pub(crate) umask: u32,
    /// Whether too many files have unusual permissions to store them.
    pub(crate) has_no_modes: bool,
    /// Permissions of folders that differ from those of a new folder.
    pub(crate) folder_modes: BTreeMap<String, u32>,
    /// Whether too many folders have unusual permissions to store them.
    pub(crate) has_no_folder_modes: bool,
    /// Folders that contained no file, as far as they were found.
    pub(crate) empty_folders: Vec<String>,
    /// The ignore rules that are not in the work tree; `None` if they were not stored.
    pub(crate) rules: Option<String>,
    /// The files of ignore rules in the work tree that were ignored themselves, with their texts.
    pub(crate) hidden_rules: BTreeMap<String, String>,
}

/// Maximum number of files, and of folders, of which it is stored that they have unusual permissions.
pub(crate) const MAX_MODES: usize = 50_000;

impl Metadata {
    /// Returns the permissions of folders.
    pub(crate) fn folder_modes(&self) -> FolderModes {
        let unusual = self.folder_modes.iter().map(|(path, mode)| (decoded_path(path), *mode)).collect();
        FolderModes { unusual, umask: self.umask }
    }

    /// Returns what was left out.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        let one = |(path, reason): &(String, String)| LeftOut {
            path: decoded_path(path),
            reason: LeftOutReason::of(reason).unwrap_or(LeftOutReason::Excluded),
        };
        self.left_out.iter().map(one).collect()
    }
}

/// Returns the permissions of a file, given those that differ from those of a new file.
pub(crate) fn permissions(modes: &BTreeMap<String, u32>, umask: u32, path: &[u8], is_executable: bool) -> u32 {
    modes.get(&encoded_path(path)).copied().unwrap_or_else(|| usual_permissions(umask, is_executable))
}

/// Returns the permissions of a new file.
pub(crate) fn usual_permissions(umask: u32, is_executable: bool) -> u32 {
    (if is_executable { 0o777 } else { 0o666 }) & !umask
}

/// Encodes what was left out.
pub(crate) fn encoded(left_out: &[LeftOut]) -> Vec<(String, String)> {
    left_out.iter().map(|left| (encoded_path(&left.path), left.reason.name().to_owned())).collect()
}
