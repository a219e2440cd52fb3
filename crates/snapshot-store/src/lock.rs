//! The lock of a work tree: one process at a time takes or restores a snapshot of it.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_runtime::files;
use rustix::io::FdFlags;

use crate::Error;

/// Interval at which a lock that another process holds is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The lock of a work tree. Released when dropped, or when this process and every git that it has started have ended.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock; returns `None` if another process holds it.
    pub(crate) fn try_take(dir: &Path) -> Result<Option<Self>, Error> {
        let file = files::open_append(&dir.join("lock"))?;
        if file.try_lock_exclusive().is_err() {
            return Ok(None);
        }
        // A git that outlives this process may still write, so it inherits the lock.
        let _ = rustix::io::fcntl_setfd(&file, FdFlags::empty());
        Ok(Some(Self { file }))
    }

    /// Takes the lock; waits for another process at most `patience`.
    pub(crate) fn take(dir: &Path, patience: Duration) -> Result<Self, Error> {
        let started = Instant::now();
        loop {
            match Self::try_take(dir)? {
                Some(lock) => return Ok(lock),
                None if started.elapsed() >= patience => return Err(Error::Locked),
                None => std::thread::sleep(PAUSE),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = FileExt::unlock(&self.file);
    }
}
