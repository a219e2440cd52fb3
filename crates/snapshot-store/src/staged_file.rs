//! Writes a file of the work tree beside its place, and renames it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};

use crate::disk::FOLDER;

/// How many files are many, for which the whole file system is synced.
#[cfg(target_os = "linux")]
const MANY: usize = 24;

/// What is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NewFile {
    /// A regular file with these permissions.
    File(u32),
    /// A symbolic link; the content is its target.
    Link,
}

/// A file that was written beside its place. Removed when dropped: on a full disk, half of a file would keep it full.
#[derive(Debug)]
pub(crate) struct StagedFile {
    folder: OwnedFd,
    name: OsString,
    temporary: String,
    /// `None` for a link.
    pub(crate) file: Option<File>,
    is_placed: bool,
}

impl StagedFile {
    /// Writes a file under the name `temporary` to a folder.
    pub(crate) fn write(
        folder: OwnedFd,
        name: &OsStr,
        kind: NewFile,
        content: &mut dyn Read,
        temporary: String,
    ) -> io::Result<Self> {
        let mut staged = Self { folder, name: name.to_owned(), temporary, file: None, is_placed: false };
        staged.remove();
        staged.file = create(&staged.folder, &staged.temporary, kind, content)?;
        Ok(staged)
    }

    /// Renames it to its place, which never holds half of it.
    pub(crate) fn place(mut self) -> io::Result<()> {
        // An empty folder may be in its place.
        if rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is_folder(&stat)) {
            remove_empty_folders(self.folder.as_fd(), &self.name)?;
        }
        rustix::fs::renameat(&self.folder, &self.temporary, &self.folder, &self.name)?;
        self.is_placed = true;
        Ok(())
    }

    fn remove(&self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.temporary, AtFlags::empty());
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_placed {
            self.remove();
        }
    }
}

/// Waits until the content of files, which are on one file system, is on the disk.
pub(crate) fn sync_all<'f>(files: impl IntoIterator<Item = &'f File>) -> io::Result<()> {
    let files: Vec<&File> = files.into_iter().collect();
    match files.first() {
        Some(first) if sync_many(first, files.len())? => Ok(()),
        _ => files.into_iter().try_for_each(File::sync_data),
    }
}

/// Waits until everything on the file system of `one` is on the disk, if that takes less time than to wait for each of
/// `count` files. Returns whether it did.
pub(crate) fn sync_many(one: &File, count: usize) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if count >= MANY {
        rustix::fs::syncfs(one)?;
        return Ok(true);
    }
    let _ = (one, count);
    Ok(false)
}

/// Creates a file, which is returned, or a link.
fn create(folder: &OwnedFd, name: &str, kind: NewFile, content: &mut dyn Read) -> io::Result<Option<File>> {
    match kind {
        NewFile::File(permissions) => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
            io::copy(content, &mut file)?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(permissions as rustix::fs::RawMode))?;
            Ok(Some(file))
        }
        NewFile::Link => {
            let mut target = Vec::new();
            content.read_to_end(&mut target)?;
            rustix::fs::symlinkat(OsString::from_vec(target), folder, name)?;
            Ok(None)
        }
    }
}

/// Removes a folder that contains only empty folders.
fn remove_empty_folders(above: impl AsFd, name: &OsStr) -> io::Result<()> {
    let folder = rustix::fs::openat(&above, name, FOLDER, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            remove_empty_folders(folder.as_fd(), OsStr::from_bytes(entry.file_name().to_bytes()))?;
        }
    }
    Ok(rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR)?)
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}
