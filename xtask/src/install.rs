//! `cargo xtask install`: builds the plugin from a clone and installs it.

use anyhow::Result;

use crate::workspace::{PACKAGE, Profile, Workspace};
use crate::{dist, run};

/// Builds and lays out everything, then runs `longhaul install` of the new build.
pub fn run(workspace: &Workspace, profile: Profile, arguments: &[String]) -> Result<()> {
    dist::run(workspace, profile, None, dist::Packing::Nothing)?;
    let program = workspace.target.join("dist").join(PACKAGE).join("bin").join(PACKAGE);
    run::aloud(run::program(program).arg("install").args(arguments))
}
