//! Checks whether the data folder can be written and has enough free space. Its texts are shown by hooks and by the
//! doctor.

use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags};

use crate::{Error, Home};

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

    /// Returns advice for the user.
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

#[cfg(test)]
mod tests {
    use super::{StorageTrouble, by_figures};

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
}
