//! Whether a file is still the one that was there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A path, and the file that was there.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    read: fn(&Metadata) -> Identity,
    seen: Option<Identity>,
}

/// Device, inode, size and time of the last change. The last two are 0 for a file that changes all the time.
type Identity = (u64, u64, u64, i64, i64);

impl FileIdentity {
    /// Remembers the file at `path` with its content.
    pub(crate) fn with_content(path: &Path) -> Self {
        Self::new(path, |file| (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec()))
    }

    /// Remembers the file at `path`, whose content may change.
    pub(crate) fn without_content(path: &Path) -> Self {
        Self::new(path, |file| (file.dev(), file.ino(), 0, 0, 0))
    }

    fn new(path: &Path, read: fn(&Metadata) -> Identity) -> Self {
        Self { path: path.to_owned(), read, seen: fs::metadata(path).ok().as_ref().map(read) }
    }

    /// Returns whether the same file is still there.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.seen.is_some() && fs::metadata(&self.path).ok().as_ref().map(self.read) == self.seen
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::FileIdentity;

    #[test]
    fn another_file_and_where_it_matters_other_content_is_noticed() {
        let folder = tempfile::TempDir::new().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, "one").unwrap();
        let both = || [FileIdentity::with_content(&path), FileIdentity::without_content(&path)];
        let unchanged = |both: &[FileIdentity; 2]| both.each_ref().map(FileIdentity::is_unchanged);
        let before = both();
        assert_eq!(unchanged(&before), [true, true]);
        fs::write(&path, "three").unwrap();
        assert_eq!(unchanged(&before), [false, true]);
        let before = both();
        fs::write(&other, "three").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(unchanged(&before), [false, false]);
        let before = both();
        fs::remove_file(&path).unwrap();
        assert_eq!(unchanged(&before), [false, false]);
        assert_eq!(unchanged(&both()), [false, false], "a file that was never there");
    }
}
