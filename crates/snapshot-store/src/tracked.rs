//! What git tracks in the user's repository, read from a copy of its index.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use longhaul_runtime::git::PrivateGit;
use longhaul_runtime::{bounded_read, files};
use longhaul_snapshot::{ancestors, looks_secret};

use crate::place::Place;
use crate::user_index::{MAX_INDEX, UserIndex};
use crate::{Error, rule_files};

/// The tracked files that would be left out if they were not tracked, and the submodules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// Files whose names look like those of secrets.
    pub(crate) secret: BTreeSet<Vec<u8>>,
    /// Files that the ignore rules match.
    pub(crate) ignored: BTreeSet<Vec<u8>>,
    /// Submodules.
    pub(crate) submodules: BTreeSet<Vec<u8>>,
    /// The tree of what is staged; `None` during a merge conflict.
    pub(crate) index_tree: Option<String>,
}

impl Tracked {
    /// Reads the user's index. The result is stored, because the index rarely changes.
    pub(crate) fn read(place: &Place, git: &PrivateGit) -> Result<Self, Error> {
        let index = place.tree.git_dir.join("index");
        let Some(version) = version_of(&index) else { return Ok(Self::default()) };
        let stored = place.dir.join("tracked");
        if let Some(known) = Self::stored(&stored, &version) {
            return Ok(known);
        }
        let copy = UserIndex::copy(place)?;
        let variables: [(&str, &Path); 1] = [("GIT_INDEX_FILE", copy.path())];
        let mut tracked = Self::default();
        let mut folders = BTreeSet::new();
        let listed = git.run_with(&["ls-files", "-z", "--stage"], &variables, b"")?;
        for entry in listed.split(|byte| *byte == 0) {
            let mut parts = entry.splitn(2, |byte| *byte == b'\t');
            let (Some(head), Some(path)) = (parts.next(), parts.next()) else { continue };
            if let Some(folder) = ancestors(path).last().filter(|folder| !folders.contains(folder)) {
                folders.extend(ancestors(folder).chain([folder]));
            }
            if head.starts_with(b"160000 ") {
                tracked.submodules.insert(path.to_owned());
            } else if looks_secret(path) {
                tracked.secret.insert(path.to_owned());
            }
        }
        rule_files::check(&place.tree.top, folders)?;
        let ignored = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let ignored = git.run_with(&ignored, &variables, b"")?;
        tracked.ignored =
            ignored.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect();
        // It fails during a merge conflict, and for entries that have no object yet.
        let tree = git.run_with(&["write-tree"], &variables, b"").ok();
        tracked.index_tree = tree.and_then(|id| String::from_utf8(id).ok()).map(|id| id.trim().to_owned());
        files::replace(&stored, &tracked.to_bytes(&version))?;
        Ok(tracked)
    }

    /// Returns whether git tracks a file, as far as it matters for a file that would be left out otherwise.
    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.secret.contains(path) || self.ignored.contains(path)
    }

    fn to_bytes(&self, version: &str) -> Vec<u8> {
        let mut bytes = version.as_bytes().to_vec();
        let lists = [(b's', &self.secret), (b'i', &self.ignored), (b'm', &self.submodules)];
        for (letter, paths) in lists {
            for path in paths {
                bytes.extend([0, letter]);
                bytes.extend(path);
            }
        }
        if let Some(tree) = &self.index_tree {
            bytes.extend([0, b't']);
            bytes.extend(tree.as_bytes());
        }
        bytes
    }

    fn stored(path: &Path, version: &str) -> Option<Self> {
        let bytes = bounded_read::bytes(path, MAX_INDEX).ok()?;
        let mut parts = bytes.split(|byte| *byte == 0);
        parts.next().filter(|found| *found == version.as_bytes())?;
        let mut tracked = Self::default();
        for part in parts {
            let (letter, path) = part.split_first()?;
            match letter {
                b's' => drop(tracked.secret.insert(path.to_owned())),
                b'i' => drop(tracked.ignored.insert(path.to_owned())),
                b'm' => drop(tracked.submodules.insert(path.to_owned())),
                b't' => tracked.index_tree = String::from_utf8(path.to_owned()).ok(),
                _ => return None,
            }
        }
        Some(tracked)
    }
}

/// Returns what changes with every change of a file; `None` if it does not exist.
pub(crate) fn version_of(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let (mtime, ctime) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    Some(format!("{}.{} {}.{} {} {}", mtime.0, mtime.1, ctime.0, ctime.1, found.size(), found.ino()))
}
