//! The same work in bash with sqlite3 and tmux commands, for comparison.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::run;

/// Writes the script and its database to `data`; returns the script.
pub(crate) fn install(data: &Path, session: &str) -> Result<PathBuf> {
    let script = data.join("reference-hook.sh");
    fs::write(&script, include_str!("reference-hook.sh")).context("cannot write the reference hook")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).context("cannot make the reference hook run")?;
    let schema = format!(
        "PRAGMA journal_mode = wal;
         CREATE TABLE agents (session_id TEXT PRIMARY KEY, status TEXT, updated_at INTEGER);
         INSERT INTO agents VALUES ('{session}', 'working', 0);"
    );
    let made = sqlite3(data, &schema).output().context("cannot start sqlite3")?;
    ensure!(made.status.success(), "sqlite3 could not create the reference database");
    Ok(script)
}

/// Writes the script in node to `data`; returns it.
pub(crate) fn install_node(data: &Path) -> Result<PathBuf> {
    let script = data.join("reference-hook.mjs");
    fs::write(&script, include_str!("reference-hook.mjs")).context("cannot write the reference hook")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).context("cannot make the reference hook run")?;
    Ok(script)
}

/// Returns the command that sets the session's status back to working.
pub(crate) fn reset(data: &Path) -> Command {
    sqlite3(data, "UPDATE agents SET status = 'working';")
}

fn sqlite3(data: &Path, statement: &str) -> Command {
    let mut command = run::program(Path::new("sqlite3"));
    command.arg(data.join("reference.db")).arg(statement);
    command
}
