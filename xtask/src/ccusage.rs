//! Installs ccusage, with which a test compares the sums of `longhaul cost`.

use std::io::{self, Write};

use anyhow::Result;

use crate::run;
use crate::workspace::Workspace;

/// The packages: the last version of ccusage that is JavaScript only, and the node that it needs.
const PACKAGES: [&str; 2] = ["ccusage@19.0.3", "node@22"];

/// Installs it below `target` if it is not there; otherwise reports that a test is skipped.
pub fn offer(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root.join("target/ccusage");
    if folder.join("node_modules/ccusage/dist/cli.js").is_file() {
        return Ok(());
    }
    let installed = match run::find("npm") {
        Some(_) => {
            let mut npm = run::program("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&folder).args(PACKAGES);
            run::aloud(&mut npm)
        }
        None => Err(anyhow::anyhow!("npm is not installed")),
    };
    if let Err(error) = installed {
        writeln!(io::stderr(), "the comparison with ccusage is skipped ({error:#})")?;
    }
    Ok(())
}
