//! Reading files that anybody may have made: regular files only, without blocking, up to a limit.
//!
//! A project's folder, a client's folder and other programs' folders hold what other people put there. A FIFO would
//! block whoever opens it, `/dev/zero` has no end, and a huge file fills the memory. Every file is opened here; a test
//! fails when another module of the program does it on its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The limit for a file of a few lines, such as `.git/HEAD`.
pub const SMALL: u64 = 64 * 1024;

/// The limit for settings and for files of our own.
pub const LARGE: u64 = 16 << 20;

/// Whether a path that is a symbolic link is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The file that it leads to is opened.
    Follow,
    /// It is an error.
    Refuse,
}

/// Opens a regular file for reading.
///
/// Anything else is an error at once: a FIFO is not waited for, and no device is read. A link is followed.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, Links::Follow)
}

/// Opens a regular file for reading, and treats a link as `links` says.
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

/// Opens a folder, for locking it.
pub fn open_dir(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Returns the content of a regular file; one of more than `most` bytes is an error.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes"));
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // It may be growing: the limit holds for what is read, not only for the length.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Returns the content of a regular file as text; one of more than `most` bytes is an error, as is one that is not UTF-8.
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
