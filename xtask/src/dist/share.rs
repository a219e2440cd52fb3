//! What a shell and `man` read, made by the command line itself.

use std::path::Path;

use anyhow::{Context, Result};

use super::put;
use crate::run;
use crate::workspace::PACKAGE;

/// Shells, and the file in which each looks for completions.
const SHELLS: [(&str, &str); 3] = [("bash", "bash/longhaul"), ("fish", "fish/longhaul.fish"), ("zsh", "zsh/_longhaul")];

/// Writes completions and man pages to `folder`, by an executable that runs on this machine.
pub(crate) fn lay_out(command_line: &Path, folder: &Path) -> Result<()> {
    for (shell, file) in SHELLS {
        let script = run::output(run::program(command_line).args(["completions", shell]))
            .with_context(|| format!("completions for {shell}"))?;
        put(&folder.join("completions").join(file), &script)?;
    }
    let pages = folder.join("man/man1");
    run::output(run::program(command_line).arg("man").arg(&pages)).context("man pages")?;
    anyhow::ensure!(pages.join(format!("{PACKAGE}.1")).exists(), "{PACKAGE} man wrote no page of its own");
    Ok(())
}
