//! Replaces launchers by the executables for this machine, so that later sessions start those directly.

use std::fs;

use longhaul_core::event::SessionStart;

use crate::native_links::replace_launchers;
use crate::{Error, Flow, Hook, bounded_read, files};

/// Replaces the launchers of this bundle. A problem is logged once, until it changes or is gone.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    let Ok(exe) = std::env::current_exe() else { return Ok(Flow::Next) };
    let record = hook.home.launcher_problem();
    match replace_launchers(&exe, hook.deadline) {
        Ok(false) => {}
        // There is no record, unless there was a problem before.
        Ok(true) => drop(fs::remove_file(record)),
        Err(error) => {
            let problem = error.chain();
            if bounded_read::text(&record, bounded_read::SMALL).is_ok_and(|logged| logged == problem) {
                return Ok(Flow::Next);
            }
            hook.log.write(&format!("the hooks still start through launchers: {problem}"));
            files::replace(&record, problem.as_bytes())?;
        }
    }
    Ok(Flow::Next)
}
