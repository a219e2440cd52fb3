//! Installs ccusage, with which a test compares the sums of `longhaul cost`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::run;
use crate::workspace::Workspace;

/// The packages: the last version of ccusage that is JavaScript only, and the node that it needs.
const PACKAGES: [&str; 2] = ["ccusage@19.0.3", "node@22"];

/// The time limit of npm, which otherwise waits for minutes for a registry that cannot be reached.
const LIMIT: Duration = Duration::from_secs(60);

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
            writeln!(io::stderr(), "installing ccusage with npm, for a minute at most")?;
            install(&mut npm, &folder, LIMIT)
        }
        None => Err(anyhow::anyhow!("npm is not installed")),
    };
    if let Err(error) = installed {
        writeln!(io::stderr(), "the comparison with ccusage is skipped ({error:#})")?;
    }
    Ok(())
}

/// Runs npm. What it leaves behind without success is removed: half of a package would count as installed.
fn install(npm: &mut Command, folder: &Path, limit: Duration) -> Result<()> {
    let result = run::within(npm, limit);
    if result.is_err() {
        let _ = fs::remove_dir_all(folder);
    }
    result
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::install;
    use crate::run;

    #[test]
    fn npm_that_waits_for_its_registry_is_ended_and_leaves_nothing() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("ccusage");
        fs::create_dir(&folder).unwrap();
        let started = Instant::now();
        let error = install(run::program("sleep").arg("600"), &folder, Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("sleep 600 took more than"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(60) && !folder.exists());
    }
}
