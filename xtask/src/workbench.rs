//! Builds and starts the package `xtask-workbench`, which has the tasks that need the runtime, a browser or Claude Code.
//!
//! It is a package of its own so that the other tasks, `install` first of all, need not wait until all of that is built.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::{Context, Result};

use crate::arguments::WorkbenchTask;
use crate::run;
use crate::workspace::{Profile, Workspace};

/// The name of the package, and of its executable.
const WORKBENCH: &str = "xtask-workbench";

/// Becomes the workbench, with `arguments`, from which `task` was read; returns only if that fails.
///
/// The process is replaced, so that Ctrl-C reaches one process, and its exit status is that of the task.
pub fn run(workspace: &Workspace, task: &WorkbenchTask, arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let folder = workspace.build(WORKBENCH, &[], profile(task), None)?;
    let program = folder.join(WORKBENCH);
    let error = run::program(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// Returns the profile that the workbench is built with: that of a release where it measures its own code.
fn profile(task: &WorkbenchTask) -> Profile {
    match task {
        WorkbenchTask::Bench { large: Some(_), quick: true, .. } => Profile::Install,
        WorkbenchTask::Bench { large: Some(_), quick: false, .. } => Profile::Release,
        WorkbenchTask::Bench { .. }
        | WorkbenchTask::Demo { .. }
        | WorkbenchTask::E2e(_)
        | WorkbenchTask::Fuzz { .. }
        | WorkbenchTask::Model(_)
        | WorkbenchTask::Pictures { .. }
        | WorkbenchTask::Recall { .. }
        | WorkbenchTask::Soak { .. } => Profile::Dev,
    }
}
