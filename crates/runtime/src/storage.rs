//! Whether anything can be stored: whether the data folder can be written and has enough free space, in texts that hooks and
//! the doctor show; and the database of a hook.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;

use longhaul_core::event::{EventName, HookEvent};
use longhaul_store::Store;
use once_cell::unsync::OnceCell;
use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags};

use crate::{Error, Home, Hook};

/// Required free space in bytes: the minimum that a session of average length stores.
const NEEDED: usize = 256 * 1024;

/// Why nothing can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageTrouble {
    /// The disk is full, or the user's quota is used up.
    Full,
    /// The file system is read-only.
    ReadOnly,
    /// The folder belongs to another user, or its permissions do not allow writing.
    Forbidden,
    /// The path is a file, or a link that does not lead to a folder.
    NotAFolder,
    /// A file or folder of Longhaul cannot be created, because something else has its name.
    Obstructed,
}

impl StorageTrouble {
    /// Returns a description of the problem for the data folder at `dir`.
    pub fn describe(self, dir: &Path) -> String {
        let dir = dir.display();
        match self {
            Self::Full => format!("there is no space left for {dir}"),
            Self::ReadOnly => format!("{dir} is on a read-only file system"),
            Self::Forbidden => format!("{dir} may not be written to by this user"),
            Self::NotAFolder => format!("{dir} is neither a folder nor a link to one"),
            Self::Obstructed => format!("in {dir}, something else has the name of a Longhaul file or folder"),
        }
    }

    pub fn advice(self) -> &'static str {
        match self {
            Self::Full => "free some space on that disk; nothing that is stored is lost",
            Self::ReadOnly => "mount it writable, or set LONGHAUL_HOME to another folder",
            Self::Forbidden => "give the folder to your user, or set LONGHAUL_HOME to another folder",
            Self::NotAFolder => "move it away, or set LONGHAUL_HOME to another folder",
            Self::Obstructed => "move away what longhaul.log in that folder names",
        }
    }

    fn of(error: &io::Error) -> Option<Self> {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Self::Full),
            io::ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
            io::ErrorKind::PermissionDenied => Some(Self::Forbidden),
            _ => None,
        }
    }

    /// Returns the problem of the data folder that caused an error; `None` if the error has another cause.
    pub(crate) fn behind(error: &Error, home: &Home) -> Option<Self> {
        match error {
            Error::Write { path, source } if path.starts_with(home.dir()) => {
                Self::of(source).or_else(|| Self::not_a_folder(home.dir())).or_else(|| Self::obstructed(source))
            }
            Error::Store(error) if error.is_disk_full() => Some(Self::Full),
            Error::Store(error) if error.is_disk_trouble() => Self::look(home.dir()),
            _ => None,
        }
    }

    fn not_a_folder(dir: &Path) -> Option<Self> {
        (dir.symlink_metadata().is_ok() && !dir.is_dir()).then_some(Self::NotAFolder)
    }

    fn obstructed(error: &io::Error) -> Option<Self> {
        use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
        matches!(error.kind(), AlreadyExists | IsADirectory | NotADirectory).then_some(Self::Obstructed)
    }

    /// Checks whether `dir`, which need not exist yet, can be written. Changes nothing there.
    pub fn look(dir: &Path) -> Option<Self> {
        if let Some(trouble) = Self::not_a_folder(dir) {
            return Some(trouble);
        }
        let existing = dir.ancestors().find(|dir| dir.exists())?;
        write_unnamed(existing).unwrap_or_else(|| by_figures(existing))
    }
}

/// Writes a file without a name, which the system removes at once; `None` if the file system does not support such
/// files.
#[cfg(target_os = "linux")]
fn write_unnamed(dir: &Path) -> Option<Option<StorageTrouble>> {
    use std::fs::File;
    use std::io::Write;

    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file,
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => return None,
        Err(error) => return Some(StorageTrouble::of(&error.into())),
    };
    let written = File::from(file).write_all(&vec![0; NEEDED]);
    Some(written.err().and_then(|error| StorageTrouble::of(&error)))
}

#[cfg(not(target_os = "linux"))]
fn write_unnamed(_dir: &Path) -> Option<Option<StorageTrouble>> {
    None
}

/// Decides by the figures of the file system, which do not include a user's quota.
fn by_figures(dir: &Path) -> Option<StorageTrouble> {
    if let Ok(figures) = rustix::fs::statvfs(dir) {
        if figures.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Some(StorageTrouble::ReadOnly);
        }
        if figures.f_bavail.saturating_mul(figures.f_frsize) < NEEDED as u64 {
            return Some(StorageTrouble::Full);
        }
    }
    let writable = rustix::fs::accessat(CWD, dir, Access::WRITE_OK, AtFlags::EACCESS);
    writable.err().and_then(|error| StorageTrouble::of(&error.into()))
}

// The database of a hook: opened when the first job needs it, then shared by the following jobs.
//
// Opening costs more than a small statement, and most hook calls do not need the database.

/// A database that is opened at its first use.
#[derive(Debug, Default)]
pub(crate) struct SharedStore(OnceCell<Rc<Store>>);

impl SharedStore {
    /// Returns the database. `open` opens it if it is not open yet. After an error, the next call tries again.
    pub(crate) fn get_or_open(&self, open: impl FnOnce() -> Result<Store, Error>) -> Result<Rc<Store>, Error> {
        self.0.get_or_try_init(|| open().map(Rc::new)).map(Rc::clone)
    }

    /// Closes the database when no job uses it any more. The next call of [`SharedStore::get_or_open`] opens it again,
    /// which may be another file by then.
    pub(crate) fn close(&mut self) {
        self.0.take();
    }
}

// Notifies the user, once per session, that nothing can be stored.

impl<E: HookEvent<'static>> Hook<E> {
    /// Notifies the user if the data folder is the cause of an error.
    ///
    /// The notice is recorded by an empty file, for which there is often space on a full disk. If the file cannot be
    /// created, as on a read-only disk, only the start of a session shows the notice, because every other hook would
    /// repeat it.
    pub(crate) fn report_storage(&mut self, error: &Error) {
        let can_show = matches!(E::NAME, EventName::SessionStart | EventName::UserPromptSubmit);
        let Some(trouble) =
            StorageTrouble::behind(error, &self.home).filter(|_| can_show && !self.has_reported_storage)
        else {
            return;
        };
        self.has_reported_storage = true;
        let mark = self.home.session_file(&self.event.common().session, "unstored");
        let is_first = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(mark) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(_) => E::NAME == EventName::SessionStart,
        };
        if is_first {
            let (what, advice) = (trouble.describe(self.home.dir()), trouble.advice());
            self.notify(&format!("longhaul: this session is not recorded: {what}; {advice}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use longhaul_store::Store;

    use super::{SharedStore, StorageTrouble, by_figures};
    use crate::Error;

    #[test]
    fn a_file_and_a_link_that_leads_nowhere_are_no_folders() {
        let dir = tempfile::tempdir().unwrap();
        let [file, dangling, looped] = ["file", "dangling", "looped"].map(|name| dir.path().join(name));
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        std::os::unix::fs::symlink("looped", &looped).unwrap();
        for path in [file, dangling, looped] {
            assert_eq!(StorageTrouble::look(&path), Some(StorageTrouble::NotAFolder), "{}", path.display());
        }
    }

    #[test]
    fn an_ordinary_folder_can_be_written_to_and_stays_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(StorageTrouble::look(dir.path()), None);
        assert_eq!(StorageTrouble::look(&dir.path().join("not/there/yet")), None);
        assert_eq!(by_figures(dir.path()), None);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_database_is_opened_once_and_again_after_it_was_closed() {
        let folder = tempfile::TempDir::new().unwrap();
        let (mut shared, opened) = (SharedStore::default(), Cell::new(0));
        let open = || {
            opened.set(opened.get() + 1);
            Store::open(&folder.path().join("longhaul.db"), Duration::from_secs(5)).map_err(Error::from)
        };
        assert!(matches!(shared.get_or_open(|| Err(Error::Busy)), Err(Error::Busy)));
        let first = shared.get_or_open(open).unwrap();
        assert!(std::rc::Rc::ptr_eq(&first, &shared.get_or_open(open).unwrap()));
        assert_eq!(opened.get(), 1);
        drop(first);
        shared.close();
        shared.get_or_open(open).unwrap();
        assert_eq!(opened.get(), 2);
    }
}
