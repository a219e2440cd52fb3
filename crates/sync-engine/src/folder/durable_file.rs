//! Writes a file so that it is there as a whole or not at all, also after a power failure.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use longhaul_runtime::{bounded_read, files};
use rustix::fs::OFlags;

/// What the name of an unfinished file begins with. Other hosts ignore it.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// Writes a file under a temporary name, syncs it, renames it, and syncs its folder, which is created if missing.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir)?;
    // Others may write to the folder: a name that they know could be a link to a file of this user.
    let random = files::random::<8>().map_err(|error| io::Error::other(error.to_string()))?;
    let temporary = dir.join(format!("{UNFINISHED}{:016x}", u64::from_be_bytes(random)));
    // Fails if anything has this name, also a link.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(content).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // Some file systems cannot sync a folder. The file itself is synced.
    let _ = bounded_read::open_dir(dir).and_then(|dir| dir.sync_all());
    Ok(())
}

/// Opens a file in order to lock it, and creates it if it is missing. A link is not followed, and a pipe is not waited for.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags.bits() as i32).open(path)
}
