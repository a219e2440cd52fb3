//! `cargo xtask install`: from a fresh clone to a plugin that works.

use anyhow::Result;

use crate::workspace::{PACKAGE, Profile, Workspace};
use crate::{dist, run};

/// Builds and lays out everything, and lets the new executable install itself.
pub(crate) fn run(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    dist::run(workspace, profile, None, dist::Packing::Nothing)?;
    let program = workspace.target.join("dist").join(PACKAGE).join("bin").join(PACKAGE);
    run::aloud(run::program(program).arg("install").args(arguments))
}
