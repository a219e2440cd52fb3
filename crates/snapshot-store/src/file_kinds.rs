//! What the files of a work tree are, as far as it decides whether they are stored.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use longhaul_runtime::bounded_read;
use longhaul_runtime::git::WorkTree;
use longhaul_snapshot::{Candidate, FileKind, ancestors};

use crate::repository_folders::{is_repository, own_folders};
use crate::tracked::Tracked;

/// Finds out what the files of a work tree are. Inspects each folder once.
pub(crate) struct FileKinds<'a> {
    top: &'a Path,
    tracked: &'a Tracked,
    own: Vec<Vec<u8>>,
    folders: HashMap<Vec<u8>, FolderKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderKind {
    Folder,
    Repository,
    /// It is not there, or is a file or a link.
    None,
}

impl<'a> FileKinds<'a> {
    pub(crate) fn new(tree: &'a WorkTree, tracked: &'a Tracked) -> Self {
        Self { top: &tree.top, tracked, own: own_folders(tree), folders: HashMap::new() }
    }

    /// Returns what is at a path; `None` if nothing is, or only behind a link, or a folder. There is no metadata of a file in
    /// a folder that may not be searched.
    pub(crate) fn at<'p>(&mut self, path: &'p [u8]) -> Option<(Option<Metadata>, Candidate<'p>)> {
        let (path, is_folder) = path.strip_suffix(b"/").map_or((path, false), |path| (path, true));
        let mut is_in_other_repository = false;
        for folder in ancestors(path) {
            match self.folder(folder) {
                FolderKind::Folder => {}
                FolderKind::Repository => is_in_other_repository = true,
                FolderKind::None => return None,
            }
        }
        let full = self.top.join(OsStr::from_bytes(path));
        let metadata = match std::fs::symlink_metadata(&full) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let mut candidate = Candidate::new(path, FileKind::File, 0);
                candidate.is_readable = false;
                return Some((None, candidate));
            }
            Err(_) => return None,
        };
        let kind = match metadata.file_type() {
            kind if kind.is_file() => FileKind::File,
            kind if kind.is_symlink() => FileKind::Link,
            // git lists a folder only if it is a repository.
            kind if kind.is_dir() && is_folder => FileKind::Repository,
            kind if kind.is_dir() => return None,
            kind => {
                debug_assert!(kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device());
                FileKind::Other
            }
        };
        let mut candidate = Candidate::new(path, kind, metadata.size());
        candidate.is_tracked = self.tracked.contains(path);
        candidate.is_in_other_repository = is_in_other_repository;
        candidate.is_readable = kind != FileKind::File || bounded_read::open(&full).is_ok();
        Some((Some(metadata), candidate))
    }

    fn folder(&mut self, path: &[u8]) -> FolderKind {
        if let Some(known) = self.folders.get(path) {
            return *known;
        }
        let full = self.top.join(OsStr::from_bytes(path));
        let kind = match std::fs::symlink_metadata(&full) {
            Ok(found) if found.is_dir() => {
                let is_own = self.own.iter().any(|own| own == path);
                let is_other = is_own || is_repository(&full) || self.tracked.submodules.contains(path);
                if is_other { FolderKind::Repository } else { FolderKind::Folder }
            }
            _ => FolderKind::None,
        };
        self.folders.insert(path.to_owned(), kind);
        kind
    }

    /// Returns the outermost repository that contains a path.
    pub(crate) fn repository_above(&mut self, path: &[u8]) -> Vec<u8> {
        let folder = ancestors(path).find(|folder| self.folders.get(*folder) == Some(&FolderKind::Repository));
        folder.unwrap_or(path).to_owned()
    }
}
