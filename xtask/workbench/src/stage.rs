//! A private tmux server with the stand-in for Claude Code, for the demo, the benchmark and the scenarios.

mod interrupt;
mod log;
mod standin;
mod tmux;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use xtask::codegen::hooks;

pub(crate) use self::interrupt::{check as check_interrupts, watch as watch_interrupts};
pub(crate) use self::log::ActivityLog;
pub(crate) use self::standin::{Role, Standin};
pub(crate) use self::tmux::Tmux;

/// Interval between two checks.
const LOOK: Duration = Duration::from_millis(5);

/// Calls `look` until it returns something, and returns that; fails after `patience` or when the user interrupts.
pub(crate) fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + patience;
    loop {
        check_interrupts()?;
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("waited {} s for {what}", patience.as_secs());
        }
        thread::sleep(LOOK);
    }
}

/// Creates a folder laid out like an installed plugin below `home`, with the executables of `bin`, and returns it.
pub(crate) fn plugin_folder(home: &Path, bin: &Path) -> Result<PathBuf> {
    let plugin = home.join("plugin");
    fs::create_dir_all(plugin.join("hooks")).with_context(|| format!("cannot create {}", plugin.display()))?;
    fs::write(plugin.join("hooks/hooks.json"), hooks::json(None)?).context("cannot write hooks.json")?;
    symlink(bin, plugin.join("bin")).context("cannot link to the executables")?;
    Ok(plugin)
}
