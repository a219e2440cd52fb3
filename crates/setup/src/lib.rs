//! Installs, updates, uninstalls and checks the plugin.
//!
//! [`CurrentState`] describes what is installed. [`install::plan`] and [`uninstall::plan`] turn it into a list of
//! [`InstallStep`]s, and [`perform`] does one of them. [`doctor`] checks an installation.

mod agents;
mod bundle;
mod claude_command;
mod codex;
mod current_state;
pub mod doctor;
pub mod install;
mod json_comments;
pub mod keybindings;
pub mod settings;
mod step;
pub mod tmux;
pub mod uninstall;

pub use crate::agents::{AgentSetup, hooks_switched_off, plan_hooks, plan_install, plan_uninstall};
pub use crate::bundle::Bundle;
pub use crate::claude_command::Plugin;
pub use crate::current_state::{CurrentState, InstallMode, InstallPaths, Link, Manifest, TmuxServer, stable_path};
pub use crate::settings::NotifyChoice;
pub use crate::step::{Edit, InstallLock, InstallStep, WhenEmpty, check, lock_installation, perform};

use std::io;
use std::path::PathBuf;

use longhaul_core::catalog::MARKETPLACE;

use crate::settings::Refusal;

#[cfg(test)]
mod tests;

/// The name of the plugin and of the command line.
pub const PLUGIN: &str = "longhaul";

/// The plugin with all jobs, as Claude Code names it.
pub const ID: &str = "longhaul@longhaul";

/// The path of the command line, as a shell reads it.
pub const PROGRAM: &str = "~/.local/bin/longhaul";

/// Why an installation could not be changed or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `HOME` is not set.
    #[error("no home directory: set HOME")]
    NoHome,
    /// The folder of Codex's settings does not exist.
    #[error("{} does not exist: start codex once, or set CODEX_HOME to the folder of its settings", folder.display())]
    NoCodex { folder: PathBuf },
    /// The folder of an agent's settings does not exist.
    #[error("{} does not exist: start {program} once, so that {agent} creates it", folder.display())]
    NoAgent { agent: &'static str, program: &'static str, folder: PathBuf },
    /// This executable is not in a bundle.
    #[error(
        "{} is not part of a bundle: run `cargo xtask install`, or bin/longhaul of an unpacked archive",
        exe.display()
    )]
    NoBundle { exe: PathBuf },
    /// The given folder is not a bundle.
    #[error("{} holds no bundle: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from", folder.display())]
    NoSource { folder: PathBuf },
    /// It is not recorded which folder the installed version came from.
    #[error(
        "it is not known which folder to update from: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from"
    )]
    UnknownSource,
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file or folder could not be removed.
    #[error("cannot remove {}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    /// A file of the user cannot be changed safely.
    #[error("{} {refusal}; it was not changed", path.display())]
    Refused { path: PathBuf, refusal: Refusal },
    /// Claude Code returned an error, or could not be run.
    #[error("`{command}` failed: {message}")]
    Client { command: String, message: String },
    /// An error of the runtime.
    #[error(transparent)]
    Runtime(#[from] longhaul_runtime::Error),
}

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
