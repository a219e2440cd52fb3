//! From a stranger's shell to a working plugin, and back: what would change, the changing, and whether all is well.
//!
//! [`Found`] is what is there now, [`install::plan`] and [`uninstall::plan`] say what is to be done about it, and
//! [`perform`] does one step of that.

mod bundle;
mod client;
mod codex;
mod current_state;
pub mod doctor;
mod error;
pub mod install;
mod installed_files;
pub mod keybindings;
mod manifest;
mod paths;
mod perform;
pub mod settings;
mod step;
pub mod tmux_conf;
pub mod uninstall;

pub use crate::bundle::Bundle;
pub use crate::client::Plugin;
pub use crate::codex::Codex;
pub use crate::current_state::{Found, Link, TmuxServer};
pub use crate::error::{Error, Result};
pub use crate::manifest::{Manifest, Way};
pub use crate::paths::{Places, lasting};
pub use crate::perform::{Turn, check, perform, wait_for_turn};
pub use crate::step::{Edit, Step, WhenEmpty};

#[cfg(test)]
mod tests;

/// The plugin's name, and that of the command line.
pub const PLUGIN: &str = "longhaul";

/// The marketplace's name: what follows the `@` in `claude plugin install`.
pub const MARKETPLACE: &str = "longhaul";

/// The whole plugin, as the client names it.
pub const ID: &str = "longhaul@longhaul";

/// The command line, as a word of a shell.
pub const PROGRAM: &str = "~/.local/bin/longhaul";
