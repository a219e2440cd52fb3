//! Changing a file that belongs to somebody, while others may be changing it too.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::places::Places;
use crate::{Error, Result};

/// How often a change is tried when others write in between.
const TRIES: usize = 20;

/// Whether the file may be written by its owner.
const OWNER_WRITES: u32 = 0o200;

/// Whether what was there before is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backup {
    /// Beside the file, unless a copy from an earlier change is there.
    Keep,
    /// What is taken out is ours.
    None,
}

/// Changes a file by what `change` makes of its text; `None` leaves it as it is, an empty text removes it.
///
/// A link is followed, and the mode is kept. The new text is written whole to a file beside it, which takes its place only if the text is still the one that `change` was given;
/// else it begins anew. Returns whether anything was changed.
pub(crate) fn change(
    path: &Path,
    backup: Backup,
    change: impl Fn(Option<&str>) -> Result<Option<String>>,
) -> Result<bool> {
    for _ in 0..TRIES {
        let path = target(path)?;
        let old = read(&path)?;
        let Some(new) = change(old.as_deref())? else { return Ok(false) };
        if put(&path, backup, old.as_deref(), &new)? {
            return Ok(true);
        }
    }
    Err(Error::Contended { path: path.to_owned() })
}

/// Returns a file's text, `None` where there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| Error::NotText { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Returns what a link leads to, the path itself where it is none.
fn target(path: &Path) -> Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            Ok(path.to_owned())
        }
        // A link that leads nowhere is not for us to mend.
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Puts `new` in the place of `old`; `false` where somebody else was faster.
fn put(path: &Path, backup: Backup, old: Option<&str>, new: &str) -> Result<bool> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let mode = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => 0o600,
    };
    if mode & OWNER_WRITES == 0 {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    let temporary = path.with_file_name(format!(".longhaul-{}.tmp", std::process::id()));
    fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    let written = write_new(&temporary, new, mode).and_then(|()| {
        if let Some(old) = old.filter(|_| backup == Backup::Keep && !Places::backup(path).exists()) {
            write_new(&Places::backup(path), old, mode)?;
        }
        // Between this look and the renaming there is no room for anything but bad luck.
        if fs::read(path).ok().as_deref() != old.map(str::as_bytes) {
            return Ok(false);
        }
        if new.is_empty() {
            fs::remove_file(path)?
        } else {
            fs::rename(&temporary, path)?
        }
        Ok(true)
    });
    // Gone already where it has taken the file's place.
    let _ = fs::remove_file(&temporary);
    written.map_err(failed)
}

/// Writes a file that is not there yet, down to the disk.
fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
