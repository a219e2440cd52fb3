//! The way `command`: a program of the user, with the values as arguments.

use std::path::Path;

use longhaul_core::Env;
use longhaul_core::config::Notify;
use longhaul_inject::TerminalCommand;
use longhaul_runtime::waiting_times::NOTIFICATION_WAY;
use longhaul_runtime::{Shell, is_executable, run_silently};

use crate::outgoing::{Outgoing, SendError};

/// Runs the program. No shell is involved, and its output is not read.
pub(crate) fn send(outgoing: &Outgoing, config: &Notify, env: &Env) -> Result<(), SendError> {
    let (program, arguments) = config.command.0.split_first().ok_or(SendError::NotSet("notify.command"))?;
    let path = find(program, env.home_dir.as_deref()).ok_or_else(|| SendError::NoProgram(program.clone()))?;
    let argv = [path].into_iter().chain(arguments.iter().cloned()).chain(outgoing.values()).collect();
    Ok(run_silently(&TerminalCommand { argv, stdin: None }, NOTIFICATION_WAY)?)
}

/// Returns the path of a program that is named by its absolute path, by one below the home, or by its name on the path.
///
/// A relative path is not looked up: this process runs in the folder of the session, whose files may be hostile.
pub(crate) fn find(program: &str, home: Option<&Path>) -> Option<String> {
    let path = match program.strip_prefix("~/") {
        Some(below) => home?.join(below),
        None if program.starts_with('/') => program.into(),
        None if program.contains('/') => return None,
        None => Shell::read().find(program).into_iter().next()?,
    };
    is_executable(&path).then(|| path.to_str().map(str::to_owned)).flatten()
}
