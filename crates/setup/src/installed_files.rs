//! Creates the folders and files of an installation. Only their owner can change them, whatever the umask is.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use longhaul_runtime::bounded_read;

/// The largest file of a bundle.
const MAX_FILE: u64 = 1 << 30;

/// The permission bits that group and others must not have.
const OTHERS_WRITE: u32 = 0o022;

/// Whether a file is executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It can be started.
    Executable,
    /// It is only read.
    Plain,
}

/// Creates a folder and its missing parents. Other users can read them but not write to them.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Creates a folder like [`create_dir`]. If it exists and other users can write to it, that permission is removed.
pub(crate) fn create_own_dir(path: &Path) -> io::Result<()> {
    create_dir(path)?;
    let mode = path.metadata()?.permissions().mode();
    if mode & OTHERS_WRITE == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS_WRITE))
}

/// Writes a new file, replacing an existing one.
pub(crate) fn write(path: &Path, bytes: &[u8], kind: Kind) -> io::Result<()> {
    let mode = match kind {
        Kind::Executable => 0o755,
        Kind::Plain => 0o644,
    };
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(bytes)
}

/// Returns the content of a bundle's file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded_read::bytes(path, MAX_FILE)
}
