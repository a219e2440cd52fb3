//! Writes a file so that it is there as a whole or not at all, also after a power failure.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use longhaul_runtime::bounded_read;

/// What the name of an unfinished file begins with. Other hosts ignore it.
pub(super) const UNFINISHED: &str = ".unfinished-";

/// Writes a file under a temporary name, syncs it, renames it, and syncs its folder, which is created if missing.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = dir.join(format!("{UNFINISHED}{}-{name}", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // Some file systems cannot sync a folder. The file itself is synced.
    let _ = bounded_read::open_dir(dir).and_then(|dir| dir.sync_all());
    Ok(())
}
