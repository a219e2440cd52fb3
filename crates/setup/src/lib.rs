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

pub use crate::agents::{AgentSetup, plan_hooks, plan_install, plan_uninstall};
pub use crate::bundle::Bundle;
pub use crate::claude_command::Plugin;
pub use crate::current_state::{CurrentState, InstallMode, InstallPaths, Link, Manifest, TmuxServer, stable_path};
pub use crate::settings::NotifyChoice;
pub use crate::step::{Edit, InstallLock, InstallStep, check, lock_installation, perform};

use std::io;
use std::path::{Path, PathBuf};

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
    #[error("no home directory: set HOME")]
    NoHome,
    #[error("{} does not exist: start codex once, or set CODEX_HOME to the folder of its settings", folder.display())]
    NoCodex { folder: PathBuf },
    #[error("{} does not exist: start {program} once, so that {agent} creates it", folder.display())]
    NoAgent { agent: &'static str, program: &'static str, folder: PathBuf },
    #[error(
        "{} is not part of a bundle: run `cargo xtask install`, or bin/longhaul of an unpacked archive",
        exe.display()
    )]
    NoBundle { exe: PathBuf },
    #[error("{} holds no bundle: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from", folder.display())]
    NoSource { folder: PathBuf },
    #[error(
        "it is not known which folder to update from: name the folder of an unpacked archive, or of `cargo xtask dist`, with --from"
    )]
    UnknownSource,
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot remove {}", path.display())]
    Remove { path: PathBuf, source: io::Error },
    #[error("{} {refusal}; it was not changed", path.display())]
    Refused { path: PathBuf, refusal: Refusal },
    #[error("`{command}` failed: {message}")]
    Client { command: String, message: String },
    #[error(transparent)]
    Runtime(#[from] longhaul_runtime::Error),
}

impl Error {
    fn writing(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
