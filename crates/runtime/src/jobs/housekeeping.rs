//! Tasks of no other job: configuration warnings, and removing old files.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::Millis;
use longhaul_core::event::{SessionStart, StartSource};

use crate::{Error, Flow, Hook, bounded_read, files};

/// Session files that were not changed for this long are removed.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The same for the files of handoffs, which are only for people; the database keeps the handoffs.
const KEEP_HANDOFFS: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Shows the user the problems of the configuration file.
pub fn show_config_warnings(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.config_warnings.is_empty() && hook.event.source != StartSource::Compact {
        let list = hook.config_warnings.join("; ");
        hook.log.write(&list);
        hook.notify(&format!("longhaul: {list}"));
    }
    Ok(Flow::Next)
}

/// Removes the files of sessions that have been over for a week, and the files of old handoffs.
pub fn remove_old_files(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let home = &hook.home;
    let week = [home.sessions(), home.locks(), home.clients()].map(|dir| (dir, KEEP));
    let dirs = week.into_iter().chain([(home.handoffs(), KEEP_HANDOFFS)]);
    for (dir, keep) in dirs {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if is_old(&entry.path(), keep, hook.env.now) && !is_locked(&entry.path()) {
                // The start of another session may be removing it at the same time.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    Ok(Flow::Next)
}

/// Returns whether a file is locked. The age of a lock file does not change while it is held.
fn is_locked(path: &Path) -> bool {
    bounded_read::open(path).is_ok_and(|file| file.try_lock_exclusive().is_err())
}

fn is_old(path: &Path, keep: Duration, now: Millis) -> bool {
    files::modified(path).is_some_and(|at| Duration::from_millis(now.since(at)) > keep)
}
