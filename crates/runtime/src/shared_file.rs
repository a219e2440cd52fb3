//! Changing a file that belongs to somebody, while others may be changing it too.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::{Error, bounded_read};

/// How often a change is tried when others write in between.
const TRIES: usize = 20;

/// How long a file is given to become whole.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether the file may be written by its owner.
const OWNER_WRITES: u32 = 0o200;

/// Whether what was there before is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// Beside the file, unless a copy from an earlier change is there.
    Keep,
    /// Only what is ours is put in or taken out.
    None,
}

/// Who may read a file that was not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Its owner alone.
    Private,
    /// Others may read it, as far as the umask allows.
    Usual,
}

/// Returns the copy of a file as it was before we changed it first.
pub fn backup_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.before-longhaul"))
}

/// Changes a file by what `change` makes of its text; `None` leaves it as it is, an empty text removes it.
///
/// A link is followed, and the mode is kept. The new text is written whole to a file beside it, which takes its place only
/// if the text is still the one that `change` was given; else it begins anew. Returns whether anything was changed.
pub fn change<E: From<Error>>(
    path: &Path,
    (backup, new_file): (Backup, NewFile),
    change: impl Fn(Option<&str>) -> Result<Option<String>, E>,
) -> Result<bool, E> {
    for _ in 0..TRIES {
        let path = target(path)?;
        let old = read(&path)?;
        let new = match change(old.as_deref()) {
            Ok(Some(new)) => new,
            Ok(None) => return Ok(false),
            Err(refused) => {
                // A program that writes in place leaves half a file for a moment: what is refused must last.
                std::thread::sleep(PAUSE);
                if read(&path)? == old {
                    return Err(refused);
                }
                continue;
            }
        };
        if put(&path, (backup, new_file), old.as_deref(), &new)? {
            return Ok(true);
        }
    }
    Err(Error::Contended { path: path.to_owned() }.into())
}

/// Returns a file's text, `None` where there is no file.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    match bounded_read::bytes(path, bounded_read::LARGE) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| Error::NotText { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Returns what a link leads to, the path itself where it is none.
fn target(path: &Path) -> Result<PathBuf, Error> {
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
fn put(path: &Path, (backup, new_file): (Backup, NewFile), old: Option<&str>, new: &str) -> Result<bool, Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let mode = match (fs::metadata(path), new_file) {
        (Ok(metadata), _) => Some(metadata.permissions().mode() & 0o7777),
        (Err(_), NewFile::Private) => Some(0o600),
        (Err(_), NewFile::Usual) => None,
    };
    if mode.is_some_and(|mode| mode & OWNER_WRITES == 0) {
        return Err(Error::ReadOnly { path: path.to_owned() });
    }
    let temporary = path.with_file_name(format!(".longhaul-{}.tmp", std::process::id()));
    let folders = DirBuilder::new().recursive(true).mode(0o755).create(path.parent().unwrap_or(path));
    folders.map_err(failed)?;
    let written = write_new(&temporary, new, mode).and_then(|()| {
        if let Some(old) = old.filter(|_| backup == Backup::Keep && !backup_of(path).exists()) {
            write_new(&backup_of(path), old, mode)?;
        }
        if bounded_read::bytes(path, bounded_read::LARGE).ok().as_deref() != old.map(str::as_bytes) {
            return Ok(false);
        }
        take_place(&temporary, path, old)
    });
    // What has this name now is our text where somebody was faster, or else the text that ours has replaced.
    let _ = fs::remove_file(&temporary);
    if new.is_empty() && matches!(written, Ok(true)) {
        fs::remove_file(path).map_err(failed)?;
    }
    written.map_err(failed)
}

/// Writes a file that is not there yet, down to the disk; without a mode, others may read it as far as the umask allows.
fn write_new(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    let at_first = if mode.is_some() { 0o600 } else { 0o644 };
    // What has this name already may be a link, which must not be written through.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(at_first).open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.sync_all()
}

/// Puts the file `new` in the place of `path`, which holds `old`; `false` where it holds something else by now.
///
/// The two change places, and what comes out is looked at once more: so nothing that somebody wrote between the last look
/// and this moment is lost.
fn take_place(new: &Path, path: &Path, old: Option<&str>) -> io::Result<bool> {
    let Some(old) = old else {
        return match rename(new, path, RenameFlags::NOREPLACE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            renamed => renamed.map(|()| true),
        };
    };
    let (mut put_in, mut expected) = (bounded_read::bytes(new, bounded_read::LARGE)?, old.as_bytes().to_owned());
    let mut is_ours = true;
    loop {
        rename(new, path, RenameFlags::EXCHANGE)?;
        // Where the file system cannot exchange, the file has moved, and there is nothing to look at.
        let Ok(came_out) = bounded_read::bytes(new, bounded_read::LARGE) else { return Ok(true) };
        if came_out == expected {
            return Ok(is_ours);
        }
        // Somebody was faster. What has come out goes in again, and what has gone in must come out; if again something
        // else does, somebody was faster again.
        is_ours = false;
        expected = std::mem::replace(&mut put_in, came_out);
    }
}

/// Renames in the way that is asked for, or as every file system can.
fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests;
