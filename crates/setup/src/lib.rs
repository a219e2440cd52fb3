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
mod error;
pub mod install;
mod installed_files;
mod json_comments;
pub mod keybindings;
mod manifest;
pub mod notify_config;
mod paths;
mod perform;
pub mod settings;
mod step;
pub mod tmux_conf;
pub mod tmux_server;
pub mod uninstall;

pub use crate::agents::{AgentSetup, hooks_switched_off, plan_hooks, plan_install, plan_uninstall};
pub use crate::bundle::Bundle;
pub use crate::claude_command::Plugin;
pub use crate::current_state::{CurrentState, Link, TmuxServer};
pub use crate::error::{Error, Result};
pub use crate::manifest::{InstallMode, Manifest};
pub use crate::notify_config::NotifyChoice;
pub use crate::paths::{InstallPaths, stable_path};
pub use crate::perform::{InstallLock, check, lock_installation, perform};
pub use crate::step::{Edit, InstallStep, WhenEmpty};

use longhaul_core::catalog::MARKETPLACE;

#[cfg(test)]
mod tests;

/// The name of the plugin and of the command line.
pub const PLUGIN: &str = "longhaul";

/// The plugin with all jobs, as Claude Code names it.
pub const ID: &str = "longhaul@longhaul";

/// The path of the command line, as a shell reads it.
pub const PROGRAM: &str = "~/.local/bin/longhaul";
