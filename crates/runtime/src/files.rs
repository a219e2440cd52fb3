//! Files that only their owner may read, replaced as a whole.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use longhaul_core::Millis;
use rustix::fs::{Access, OFlags};

use crate::Error;
use crate::bounded_read::{self, Links};

/// Maximum number of bytes read from a file of a project.
const MAX_FOREIGN: u64 = bounded_read::SMALL;

const RANDOM_SOURCE: &str = "/dev/urandom";

/// Reads a file of a project, which is untrusted: no link is followed, only a regular file is read, and no more than 64
/// KB of it.
///
/// Returns its text and its modification time; `None` if there is no such file.
pub(crate) fn read_foreign(path: &Path) -> Option<(String, SystemTime)> {
    let file = bounded_read::open_with(path, Links::Refuse).ok()?;
    let modified = file.metadata().ok()?.modified().ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_FOREIGN).read_to_end(&mut bytes).ok()?;
    Some((String::from_utf8_lossy(&bytes).into_owned(), modified))
}

/// Reads a file of the user, of any type. From a pipe or a device, it reads only what is available without blocking.
pub(crate) fn read_without_waiting(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let mut bytes = Vec::new();
    file.take(bounded_read::LARGE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the modification time of a file; `None` if it does not exist.
pub fn modified(path: &Path) -> Option<Millis> {
    since_epoch(fs::metadata(path).ok()?.modified().ok()?)
}

/// Converts a file's time to milliseconds since the Unix epoch.
pub fn since_epoch(time: SystemTime) -> Option<Millis> {
    Some(Millis(time.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64))
}

pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let read = File::open(RANDOM_SOURCE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(RandomBytes::failed)?;
    Ok(bytes)
}

/// The random bytes of the system, read in larger pieces than one value needs.
#[derive(Debug)]
pub struct RandomBytes(BufReader<File>);

impl RandomBytes {
    pub fn open() -> Result<Self, Error> {
        let file = File::open(RANDOM_SOURCE);
        file.map(|file| Self(BufReader::with_capacity(4096, file))).map_err(Self::failed)
    }

    /// Returns bytes that no other call returns.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).map_err(Self::failed)?;
        Ok(bytes)
    }

    fn failed(source: io::Error) -> Error {
        Error::Read { path: Path::new(RANDOM_SOURCE).to_owned(), source }
    }
}

pub(crate) fn append_line(path: &Path, line: &str) -> Result<(), Error> {
    let mut file = open_append(path)?;
    file.write_all(format!("{line}\n").as_bytes()).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Replaces spaces and control characters in an id, so that it is one word of a line.
pub(crate) fn word(id: &str) -> String {
    id.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// Creates a folder and its missing parents with mode 0700.
pub fn create_dir(dir: &Path) -> Result<(), Error> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    created.map_err(|source| Error::Write { path: dir.to_owned(), source })
}

/// Opens a file for reading and appending. Creates it with mode 0600, and its folder, if missing.
pub fn open_append(path: &Path) -> Result<File, Error> {
    open_or_create_folder(path, || OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path))
}

/// Takes the lock of a file, which is released when the file is dropped; `None` while another process holds it.
pub fn try_lock(path: &Path) -> Result<Option<File>, Error> {
    let file = open_append(path)?;
    Ok(fs2::FileExt::try_lock_exclusive(&file).is_ok().then_some(file))
}

/// Waits no longer than the limit for the lock of an open file; afterwards the error is of the kind `WouldBlock`.
pub fn lock_within(file: &File, limit: Duration, pause: Duration) -> io::Result<()> {
    let end = Instant::now() + limit;
    loop {
        match fs2::FileExt::try_lock_exclusive(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => thread::sleep(pause),
            locked => return locked,
        }
    }
}

/// Opens a file of our own that is changed in place. Creates it with mode 0600, and its folder, if missing.
pub(crate) fn open_in_place(path: &Path) -> Result<File, Error> {
    open_or_create_folder(path, || open_for_changes(path, true))
}

/// Opens a file, after creating its folder if that is missing.
fn open_or_create_folder(path: &Path, open: impl Fn() -> io::Result<File>) -> Result<File, Error> {
    let opened = match open() {
        // The folder nearly always exists: opening the file first saves a check.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dir(path.parent().unwrap_or(path))?;
            open()
        }
        opened => opened,
    };
    opened.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// As [`open_in_place`], without creating anything: `None` if there is no such file.
pub(crate) fn open_in_place_if_there(path: &Path) -> Result<Option<File>, Error> {
    match open_for_changes(path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(|source| Error::Write { path: path.to_owned(), source }),
    }
}

fn open_for_changes(path: &Path, creates: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(creates).truncate(false).mode(0o600).open(path)
}

/// Creates a file with mode 0600, and its folder, if missing. An existing file is not opened, but it must be writable.
pub(crate) fn create_if_missing(path: &Path) -> Result<(), Error> {
    if !path.is_file() {
        return open_append(path).map(drop);
    }
    let allowed = rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK);
    allowed.map_err(|error| Error::Write { path: path.to_owned(), source: error.into() })
}

/// Creates an empty file with mode 0600. Returns whether it was missing.
pub(crate) fn create_new(path: &Path) -> Result<bool, Error> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(Error::Write { path: path.to_owned(), source }),
    }
}

/// Replaces the content of a file by a temporary file and a rename, so that a reader sees either the old or the new
/// content.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let dir = path.parent().unwrap_or(path);
    create_dir(dir)?;
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(content)?;
        fs::rename(&temporary, path)
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        failed(source)
    })
}

/// Removes a file. It may be missing.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write { path: path.to_owned(), source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Reads at most the last `most` bytes of a file. Also returns whether that is the whole file.
pub(crate) fn tail(file: &File, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(most as u64);
    let mut bytes = vec![0; (length - start) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64)? {
            // Another process truncated the file meanwhile.
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok((bytes, start == 0))
}

// Whether a file is still the one that was there.

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
