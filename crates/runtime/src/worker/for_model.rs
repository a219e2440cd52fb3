//! Starts the worker from a hook, so that a model writes summaries of what the hook has stored.

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

/// Starts the worker in the background, unless one runs or it is paused after a failure. Returns whether it was
/// started.
///
/// The hook takes the worker's lock and passes it on as the worker's standard input. Thus only one of any number of
/// concurrent hooks starts a worker, and the lock is never free in between.
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
    /// Takes the permission over from the hook that started this process; `None` if another worker has it.
    pub fn take_over(home: &Home) -> Result<Option<Self>, Error> {
        match handed_over(home) {
            Ok(Some(lock)) => Ok(Some(Self { home: home.clone(), lock })),
            // The user started it with this argument.
            Ok(None) | Err(_) => Self::take(home),
        }
    }
}

/// Returns standard input if it is the locked file of the worker.
fn handed_over(home: &Home) -> io::Result<Option<File>> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (given, own) = (file.metadata()?, fs::metadata(home.worker_lock())?);
    let is_own = (given.dev(), given.ino()) == (own.dev(), own.ino());
    Ok((is_own && file.try_lock_exclusive().is_ok()).then_some(file))
}
