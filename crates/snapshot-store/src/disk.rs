//! Reads and changes files of the work tree. No link is followed, neither of a file nor of a folder above it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;

use crate::Error;
use crate::folders::own_folders;
use crate::paths::LINK;
use crate::place::Place;
use crate::restore_plan::{Disk, OnDisk};

#[derive(Debug)]
pub(crate) struct Files {
    top: OwnedFd,
    path: PathBuf,
    /// The git folders of the repository itself, relative to the top.
    own: Vec<Vec<u8>>,
    /// The permissions that folders have in the end: those that are created, and those that change.
    pub(crate) folder_modes: BTreeMap<Vec<u8>, u32>,
    /// The permissions that those of them have which exist before.
    pub(crate) folders_before: BTreeMap<Vec<u8>, u32>,
    /// Folders that are not removed when they become empty.
    pub(crate) kept_folders: BTreeSet<Vec<u8>>,
}

/// The state of a file, by which a later change is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Type and permissions.
    pub(crate) mode: u32,
    size: u64,
    inode: u64,
    changed: (i64, u64),
}

impl FileState {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn of(stat: &Stat) -> Self {
        Self {
            mode: stat.st_mode as u32,
            size: stat.st_size as u64,
            inode: stat.st_ino as u64,
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
        }
    }

    fn file_type(self) -> FileType {
        FileType::from_raw_mode(self.mode as RawMode)
    }

    /// Returns the mode that git stores for it; `None` if it stores none.
    pub(crate) fn git_mode(self) -> Option<u32> {
        match self.file_type() {
            FileType::RegularFile if self.mode & 0o100 != 0 => Some(0o100_755),
            FileType::RegularFile => Some(0o100_644),
            FileType::Symlink => Some(LINK),
            _ => None,
        }
    }

    pub(crate) fn is_folder(self) -> bool {
        self.file_type() == FileType::Directory
    }

    pub(crate) fn permissions(self) -> u32 {
        self.mode & 0o7777
    }
}

/// Space that a file needs beside its content, in bytes.
const SPARE: u64 = 64 << 10;

/// How folders are opened: no link is followed.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Files {
    pub(crate) fn of(place: &Place) -> Result<Self, Error> {
        let path = place.tree.top.clone();
        let opened = rustix::fs::open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Ok(Self {
            top: opened.map_err(|errno| Error::change(&path)(errno.into()))?,
            path,
            own: own_folders(&place.tree),
            folder_modes: BTreeMap::new(),
            folders_before: BTreeMap::new(),
            kept_folders: BTreeSet::new(),
        })
    }

    pub(crate) fn full(&self, path: &[u8]) -> PathBuf {
        self.path.join(OsStr::from_bytes(path))
    }

    /// Returns the state of what is at a path; `None` if there is nothing, or a link or file is above it.
    pub(crate) fn state(&self, path: &[u8]) -> io::Result<Option<FileState>> {
        let found = self
            .parent(path, Missing::Report)
            .and_then(|(folder, name)| Ok(rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?));
        match found {
            Ok(stat) => Ok(Some(FileState::of(&stat))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn link_target(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (folder, name) = self.parent(path, Missing::Report)?;
        Ok(rustix::fs::readlinkat(&folder, name, Vec::new())?.into_bytes())
    }

    /// Writes a file under the name `temporary` beside its place. Creates missing folders.
    pub(crate) fn stage(
        &self,
        path: &[u8],
        kind: NewFile,
        content: &mut dyn Read,
        temporary: String,
    ) -> io::Result<StagedFile> {
        let (folder, name) = self.parent(path, Missing::Create)?;
        StagedFile::write(folder, name, kind, content, temporary)
    }

    /// Deletes a file that is still in the given state, if that makes room for `size` bytes. Returns whether it was deleted.
    pub(crate) fn make_room(&self, path: &[u8], expected: Option<FileState>, size: u64) -> io::Result<bool> {
        let (folder, name) = self.parent(path, Missing::Report)?;
        let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let state = FileState::of(&stat);
        // Another name of the file keeps its content on the disk.
        if Some(state) != expected || state.file_type() != FileType::RegularFile || stat.st_nlink != 1 {
            return Ok(false);
        }
        let disk = rustix::fs::fstatvfs(&folder)?;
        let room = disk.f_bavail.saturating_mul(disk.f_frsize) + stat.st_blocks.unsigned_abs() * 512;
        let is_enough = room >= size + SPARE;
        if is_enough {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
        }
        Ok(is_enough)
    }

    /// Changes the permissions of a file, if it is still in the given state.
    pub(crate) fn set_permissions(
        &self,
        path: &[u8],
        expected: Option<FileState>,
        permissions: u32,
    ) -> io::Result<ModeChange> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let (folder, name) = match self.parent(path, Missing::Report) {
            Err(error) if is_absent(&error) => return Ok(ModeChange::Conflict),
            found => found?,
        };
        let open = |access: OFlags| rustix::fs::openat(&folder, name, flags | access, Mode::empty());
        // A file may be opened without being followed only for reading or writing, and its owner may have neither.
        let file = match open(OFlags::RDONLY).or_else(|_| open(OFlags::WRONLY)) {
            Ok(file) => file,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(ModeChange::NotPermitted),
            Err(errno) if is_absent(&errno.into()) => return Ok(ModeChange::Conflict),
            Err(errno) => return Err(errno.into()),
        };
        if Some(FileState::of(&rustix::fs::fstat(&file)?)) != expected {
            return Ok(ModeChange::Conflict);
        }
        rustix::fs::fchmod(&file, Mode::from_raw_mode(permissions as RawMode))?;
        Ok(ModeChange::Done)
    }

    pub(crate) fn open_folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let (above, name) = self.parent(path, Missing::Report)?;
        Ok(rustix::fs::openat(&above, name, FOLDER, Mode::empty())?)
    }

    /// Deletes a file or link, and the folders above it that become empty.
    pub(crate) fn delete(&self, path: &[u8]) -> io::Result<()> {
        let (folder, name) = match self.parent(path, Missing::Report) {
            Err(error) if is_absent(&error) => return Ok(()),
            found => found?,
        };
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => {}
            removed => removed?,
        }
        let mut above = path;
        while let Some(at) = above.iter().rposition(|byte| *byte == b'/') {
            above = &above[..at];
            if self.kept_folders.contains(above) {
                break;
            }
            let (folder, name) = self.parent(above, Missing::Report)?;
            // A folder that is not empty stays, and all above it.
            if rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Removes a temporary file beside the place of a file.
    pub(crate) fn remove_temporary(&self, path: &[u8], temporary: &str) {
        if let Ok((folder, _)) = self.parent(path, Missing::Report) {
            let _ = rustix::fs::unlinkat(&folder, temporary, AtFlags::empty());
        }
    }

    /// Returns whether a folder is a repository: one with `.git`, a bare one, or the git folder of the work tree itself.
    fn is_repository(&self, path: &[u8]) -> bool {
        let within = |name: &[u8]| self.state(&[path, b"/", name].concat());
        let is_folder = |name: &[u8]| within(name).is_ok_and(|found| found.is_some_and(FileState::is_folder));
        self.own.iter().any(|own| own == path)
            || !matches!(within(b".git"), Ok(None))
            || (matches!(within(b"HEAD"), Ok(Some(_))) && is_folder(b"objects") && is_folder(b"refs"))
    }

    /// Opens the folder of a path; returns it with the name in it.
    fn parent<'p>(&self, path: &'p [u8], missing: Missing) -> io::Result<(OwnedFd, &'p OsStr)> {
        let mut names = path.split(|byte| *byte == b'/').map(OsStr::from_bytes);
        let last = names.next_back().filter(|name| is_name(name)).ok_or(io::ErrorKind::InvalidInput)?;
        let mut folder = self.top.try_clone()?;
        let mut length = 0;
        for name in names {
            length += name.len() + usize::from(length > 0);
            if !is_name(name) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            folder = match rustix::fs::openat(&folder, name, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if missing == Missing::Create => {
                    // Until all files are written, the owner may write, and others no more than in the end.
                    let mode = self.folder_modes.get(&path[..length]).map_or(0o777, |mode| (mode & 0o777) | 0o700);
                    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(mode as RawMode)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok((folder, last))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModeChange {
    Done,
    /// Something else is there now.
    Conflict,
    /// The file cannot be opened, so it must be written again.
    NotPermitted,
}

/// What happens if a folder does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Report,
    Create,
}

impl Disk for Files {
    fn at(&self, path: &[u8]) -> OnDisk {
        match self.state(path) {
            Ok(None) => OnDisk::Nothing,
            Ok(Some(state)) => match state.file_type() {
                FileType::RegularFile => OnDisk::File,
                FileType::Symlink => OnDisk::Link,
                FileType::Directory if self.is_repository(path) => OnDisk::Repository,
                FileType::Directory => OnDisk::Folder,
                _ => OnDisk::Other,
            },
            // What cannot be inspected is not touched.
            Err(_) => OnDisk::Other,
        }
    }

    fn below(&self, folder: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        // A folder that cannot be read is not empty.
        if self.open_folder(folder).and_then(|opened| list(&opened, folder, &mut found)).is_err() {
            found.push(folder.to_owned());
        }
        found
    }
}

/// Adds the paths of all files below a folder.
fn list(folder: &OwnedFd, path: &[u8], found: &mut Vec<Vec<u8>>) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let below = [path, b"/", name].concat();
        match rustix::fs::openat(folder, entry.file_name(), FOLDER, Mode::empty()) {
            Ok(folder) => list(&folder, &below, found)?,
            Err(_) => found.push(below),
        }
    }
    Ok(())
}

/// Returns whether a part of a path is a name. Paths come from git, which allows nothing else.
fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && name != "." && name != ".."
}

fn is_absent(error: &io::Error) -> bool {
    let absent = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(|errno| Some(errno.raw_os_error()));
    absent.contains(&error.raw_os_error())
}

// Writes a file of the work tree beside its place, and renames it.

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
pub(crate) fn sync_many(file: &File, count: usize) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if count >= MANY {
        rustix::fs::syncfs(file)?;
        return Ok(true);
    }
    let _ = (file, count);
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
