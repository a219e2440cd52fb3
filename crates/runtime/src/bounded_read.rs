//! Reads untrusted files: regular files only, without blocking, up to a size limit.
//!
//! The folders of a project, of a client and of other programs contain files of unknown origin. Opening a FIFO would
//! block, `/dev/zero` has no end, and a huge file would fill the memory. Every file is opened by this module; a test
//! fails if another module does so.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The limit for a file of a few lines, such as `.git/HEAD`.
pub const SMALL: u64 = 64 * 1024;

/// The limit for settings and for files of Longhaul itself.
pub const LARGE: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The target is opened.
    Follow,
    Refuse,
}

/// Opens a regular file for reading.
///
/// Anything else is an error. A FIFO does not block, and no device is read. A symbolic link is followed.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, Links::Follow)
}

/// Opens a regular file for reading. `links` says whether a symbolic link is followed.
pub(crate) fn open_with(path: &Path, links: Links) -> io::Result<File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Opens a folder in order to lock or sync it.
pub fn open_dir(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Returns the content of a regular file. More than `most` bytes are an error.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes"));
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // The file may be growing, so the limit applies to the bytes that are read, not only to the length.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Returns the content of a regular file as text. More than `most` bytes, or text that is not UTF-8, are an error.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::ErrorKind;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tempfile::tempdir;

    use super::{Links, bytes, open, open_with, text};

    #[test]
    fn only_regular_files_are_opened_and_nothing_is_waited_for() {
        let dir = tempdir().unwrap();
        let [fifo, link, zero] = ["fifo", "link", "zero"].map(|name| dir.path().join(name));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink(&fifo, &link).unwrap();
        symlink("/dev/zero", &zero).unwrap();
        for path in [&fifo, &link, &zero, &dir.path().to_owned()] {
            assert_eq!(open(path).unwrap_err().kind(), ErrorKind::InvalidInput, "{}", path.display());
        }
    }

    #[test]
    fn a_link_is_followed_only_where_that_is_wanted() {
        let dir = tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        fs::write(&file, "x").unwrap();
        symlink(&file, &link).unwrap();
        assert!(open(&link).is_ok());
        assert!(open_with(&link, Links::Refuse).is_err());
        assert!(open_with(&file, Links::Refuse).is_ok());
    }

    #[test]
    fn a_file_above_the_limit_is_an_error_however_large() {
        let dir = tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        assert_eq!(bytes(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(bytes(&path, 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
