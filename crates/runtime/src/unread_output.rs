//! Runs programs whose output this process does not read.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use longhaul_inject::TerminalCommand;

use crate::Error;
use crate::process::{command_of, kill_group};

/// How often the end of a program is checked.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a command to its end without its output, which a program in the background of the command may keep open.
///
/// A program that does not end in time is killed, with the programs that it has started.
pub fn run_silently(step: &TerminalCommand, limit: Duration) -> Result<(), Error> {
    let (mut command, program) = command_of(step)?;
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    match wait(command, program, limit, kill_group)? {
        status if status.success() => Ok(()),
        status => Err(Error::Program { program: program.to_owned(), message: status.to_string() }),
    }
}

/// Runs a command to its end; its output is that of this process. Returns whether it succeeded.
///
/// A program that does not end in time is killed.
pub fn run_shown(step: &TerminalCommand, limit: Duration) -> Result<bool, Error> {
    let (mut command, program) = command_of(step)?;
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    // It stays in the group of this process, so that Ctrl-C ends both.
    Ok(wait(command, program, limit, |child| drop(child.kill()))?.success())
}

/// Starts a command and waits for its end. Calls `kill` if it does not end in time.
fn wait(mut command: Command, program: &str, limit: Duration, kill: impl Fn(&mut Child)) -> Result<ExitStatus, Error> {
    let failed = |source| Error::Start { program: program.to_owned(), source };
    let deadline = Instant::now() + limit;
    let mut child = command.spawn().map_err(failed)?;
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => return Ok(status),
            None if Instant::now() >= deadline => {
                kill(&mut child);
                let _ = child.wait();
                return Err(Error::TimedOut { program: program.to_owned(), ms: limit.as_millis() as u64 });
            }
            None => std::thread::sleep(PAUSE),
        }
    }
}
