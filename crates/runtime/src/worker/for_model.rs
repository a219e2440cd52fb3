//! The worker as a hook starts it, for a model to put into words what the hook has stored.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use fs2::FileExt;
use longhaul_core::Millis;

use super::{Claim, EXECUTABLE, ModelPause};
use crate::{Error, Home, files, process};

/// The argument of a worker that a hook has started.
pub const FOR_MODEL: &str = "--for-model";

/// Starts the worker in a process of its own, unless one runs or a failure has put it off; returns whether it did.
///
/// Whoever starts it takes its lock first and hands it over as the worker's standard input. So of any number of hooks that
/// fire at once, one starts a process, and there is no moment in which another could.
pub fn start_for_model(home: &Home, now: Millis) -> Result<bool, Error> {
    if ModelPause::in_force(home, now).is_some() {
        return Ok(false);
    }
    let lock = files::open_append(&home.worker_lock())?;
    if lock.try_lock_exclusive().is_err() {
        return Ok(false);
    }
    process::spawn_apart(EXECUTABLE, &["--detached", FOR_MODEL], lock, home.dir())?;
    Ok(true)
}

impl Claim {
    /// Takes over the right from whoever has started this process; `None` where another worker has it.
    pub fn take_over(home: &Home) -> Result<Option<Self>, Error> {
        match handed_over(home) {
            Ok(Some(lock)) => Ok(Some(Self { home: home.clone(), lock })),
            // Somebody has started it by hand.
            Ok(None) | Err(_) => Self::take(home),
        }
    }
}

/// Returns the locked file that is the standard input, where it is the worker's lock.
fn handed_over(home: &Home) -> io::Result<Option<File>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (given, own) = (file.metadata()?, fs::metadata(home.worker_lock())?);
    let is_own = (given.dev(), given.ino()) == (own.dev(), own.ino());
    Ok((is_own && file.try_lock_exclusive().is_ok()).then_some(file))
}
