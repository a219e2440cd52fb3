//! A folder of our own that exists only for a moment.

use std::path::{Path, PathBuf};

use longhaul_runtime::files;

use crate::Error;

/// The folders that may be left by a process that was killed.
pub(crate) const NAMES: [&str; 2] = ["rules", "links"];

/// A folder in the git folder of a work tree, whose lock must be held. Removed when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    /// Creates a folder for the ignore rules of another time.
    pub(crate) fn for_rules(git_dir: &Path) -> Result<Self, Error> {
        Self::new(git_dir.join(NAMES[0]))
    }

    /// Creates a folder for the targets of links.
    pub(crate) fn for_links(git_dir: &Path) -> Result<Self, Error> {
        Self::new(git_dir.join(NAMES[1]))
    }

    fn new(path: PathBuf) -> Result<Self, Error> {
        let folder = Self { path };
        files::create_dir(&folder.path)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
