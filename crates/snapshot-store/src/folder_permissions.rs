//! Changes the permissions of folders of the work tree, before and after a restore.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, RawMode};

use crate::disk::Files;
use crate::restore_folders::OWNER;

impl Files {
    /// Lets the owner change what is in the folders whose permissions change. Returns those that another program has changed
    /// meanwhile: they are left alone.
    pub(crate) fn open_folders(&self) -> Vec<Vec<u8>> {
        let mut conflicts = Vec::new();
        // A folder comes after those above it.
        for (path, before) in &self.folders_before {
            let Ok((folder, mode)) = self.folder_with_mode(path) else { continue };
            let after = self.folder_modes.get(path).copied().unwrap_or(*before);
            if ![*before, before | OWNER, after, after | OWNER].contains(&mode) {
                conflicts.push(path.clone());
            } else if mode & OWNER != OWNER {
                // If that is not permitted, the change in it fails and says why.
                let _ = set_mode(&folder, mode | OWNER);
            }
        }
        conflicts
    }

    /// Gives folders their permissions, after everything in them is written: a folder comes before those above it, which may
    /// become closed.
    pub(crate) fn set_folder_permissions(&self, left_alone: &[Vec<u8>]) {
        for (path, mode) in self.folder_modes.iter().rev().filter(|(path, _)| !left_alone.contains(path)) {
            if let Ok((folder, now)) = self.folder_with_mode(path)
                && now != *mode
            {
                let _ = set_mode(&folder, *mode);
            }
        }
    }

    fn folder_with_mode(&self, path: &[u8]) -> io::Result<(OwnedFd, u32)> {
        let folder = self.open_folder(path)?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        let mode = rustix::fs::fstat(&folder)?.st_mode as u32 & 0o7777;
        Ok((folder, mode))
    }
}

fn set_mode(folder: &OwnedFd, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(folder, Mode::from_raw_mode(mode as RawMode))?)
}
