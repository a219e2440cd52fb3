//! Changes a file of the user that other programs may change at the same time, and keeps a copy of it from before
//! Longhaul's first change, `NAME.before-longhaul`.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::{Error, bounded_read, process};

/// Maximum number of attempts if other programs write in between.
const TRIES: usize = 20;

/// Time that a file is given to become complete.
const PAUSE: Duration = Duration::from_millis(20);

/// The name of a temporary file, around the number of the process.
const TEMPORARY: &str = ".longhaul-";
const EXTENSION: &str = ".tmp";

/// The age at which a temporary file was left by a process that has ended.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// The mode bit that lets the owner write.
const OWNER_WRITES: u32 = 0o200;

/// Whether a copy of the previous content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// It is kept beside the file, unless there is a copy from an earlier change.
    Keep,
    /// No copy: only Longhaul's own part is added or removed.
    None,
}

/// Who may read a new file, and the folder that is created for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFile {
    /// Only its owner.
    Private,
    /// Other users as well, as far as the umask allows.
    Usual,
}

/// Returns the path of the copy from before Longhaul's first change.
pub fn backup_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.before-longhaul"))
}

/// Changes a file. `change` gets its text and returns the new one; `None` leaves the file as it is, an empty text
/// removes it.
///
/// A symbolic link is followed, and the mode is kept. The new text is written to a temporary file, which replaces the
/// file only if that still contains the text that `change` got; otherwise the change is repeated. Returns whether the
/// file was changed.
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
                // A program that writes in place leaves a partial file for a moment, so a refusal must be confirmed.
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

/// Returns the text of a file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    match bounded_read::bytes(path, bounded_read::LARGE) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| Error::NotText { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Returns the target of a symbolic link, or the path itself if it is not a link.
fn target(path: &Path) -> Result<PathBuf, Error> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            Ok(path.to_owned())
        }
        // A dangling link is an error: its target is not created.
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Replaces `old` by `new`. Returns `false` if another program has changed the file.
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
    let folder = path.parent().unwrap_or(path);
    let folder_mode = if new_file == NewFile::Private { 0o700 } else { 0o755 };
    DirBuilder::new().recursive(true).mode(folder_mode).create(folder).map_err(failed)?;
    remove_leftovers(folder);
    let temporary = path.with_file_name(format!("{TEMPORARY}{}{EXTENSION}", std::process::id()));
    let written = write_new(&temporary, new, mode).and_then(|()| {
        if let Some(old) = old.filter(|_| backup == Backup::Keep && !backup_of(path).exists()) {
            write_new(&backup_of(path), old, mode)?;
        }
        if bounded_read::bytes(path, bounded_read::LARGE).ok().as_deref() != old.map(str::as_bytes) {
            return Ok(false);
        }
        if new.is_empty() { take_away(&temporary, path, old) } else { take_place(&temporary, path, old) }
    });
    // This name is now that of the new text, if another program was faster, or that of the replaced text. If a file could not
    // be put back, it is the only one.
    if written.is_ok() || !new.is_empty() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed)
}

/// Removes temporary files of processes that were killed.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)?.strip_suffix(EXTENSION));
        let is_left = number.and_then(|pid| pid.parse().ok()).is_some_and(|pid| !process::is_alive(pid));
        // The process may run in a container that shares this folder.
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_left && age().is_some_and(|age| age > LEFT_AFTER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a new file and syncs it to disk. Without a mode, other users may read it as far as the umask allows.
fn write_new(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    let at_first = if mode.is_some() { 0o600 } else { 0o644 };
    // An existing entry of this name may be a link, which must not be followed.
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

/// Replaces `path`, which contains `old`, by the file `new`. Returns `false` if `path` contains something else by now.
///
/// The two files are exchanged, and the replaced one is checked once more, so that a write between the last check and
/// the exchange is not lost.
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
        // If the file system cannot exchange, the file was renamed, and there is nothing to check.
        let Ok(came_out) = bounded_read::bytes(new, bounded_read::LARGE) else { return Ok(true) };
        if came_out == expected {
            return Ok(is_ours);
        }
        // Another program was faster. Its text is exchanged back, and our text must come out. If something else comes
        // out, another program was faster again.
        is_ours = false;
        expected = std::mem::replace(&mut put_in, came_out);
    }
}

/// Removes `path`, which contains `old`. Returns `false` if `path` contains something else by now.
///
/// It is renamed to `temporary` and checked then, so that no program reads an empty file, and a write since the last check
/// is not lost. The caller removes `temporary`.
fn take_away(temporary: &Path, path: &Path, old: Option<&str>) -> io::Result<bool> {
    let Some(old) = old else { return Ok(true) };
    match fs::rename(path, temporary) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        renamed => renamed?,
    }
    if bounded_read::bytes(temporary, bounded_read::LARGE).is_ok_and(|bytes| bytes == old.as_bytes()) {
        return Ok(true);
    }
    match rename(temporary, path, RenameFlags::NOREPLACE) {
        // Another program has written the file again meanwhile: its text is newer.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        renamed => renamed.map(|()| false),
    }
}

/// Renames with `flags`, or without them if the file system does not support them.
fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => fs::rename(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests;
