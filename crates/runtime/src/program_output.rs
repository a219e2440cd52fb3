//! Programs whose output is read line by line, or not at all.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use longhaul_inject::TerminalCommand;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::Error;
use crate::process::{self, command_of, kill_group};

/// The usual maximum number of bytes that are read without the end of a line.
const MAX_LINE: usize = 4 * 1024;

/// A running program. It is killed when this value is dropped.
#[derive(Debug)]
pub struct ProgramLines {
    child: Child,
    out: ChildStdout,
    read: Vec<u8>,
    max_line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextLine {
    /// A line, without its end.
    Line(String),
    /// Nothing: the time is over, and the program still runs.
    TimeOver,
    /// Nothing: the program has ended. Holds whether it reports success.
    Ended { success: bool },
}

impl ProgramLines {
    pub fn start(step: &TerminalCommand) -> Result<Self, Error> {
        let (command, program) = process::command_of(step)?;
        Self::spawn(command, program, MAX_LINE)
    }

    /// Starts a program in the folder `dir`, and writes its input, which stays open: many a program that answers requests
    /// ends with its input, without an answer. A line of its output may have `max_line` bytes.
    pub fn start_in(dir: &Path, step: &TerminalCommand, max_line: usize) -> Result<Self, Error> {
        let (mut command, program) = process::command_of(step)?;
        command.current_dir(dir);
        let mut started = Self::spawn(command, program, max_line)?;
        if let (Some(pipe), Some(text)) = (&mut started.child.stdin, &step.stdin) {
            // A program that does not read its input prints no answer.
            let _ = pipe.write_all(text.as_bytes());
        }
        Ok(started)
    }

    fn spawn(mut command: Command, program: &str, max_line: usize) -> Result<Self, Error> {
        let failed = |source| Error::Start { program: program.to_owned(), source };
        let mut child = command.stderr(Stdio::null()).spawn().map_err(failed)?;
        let no_output = || failed(std::io::Error::other("it has no output"));
        let out = child.stdout.take().ok_or_else(no_output)?;
        Ok(Self { child, out, read: Vec::new(), max_line })
    }

    /// Waits for the next line, at most `limit`.
    pub fn next_line(&mut self, limit: Duration) -> NextLine {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return NextLine::Line(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::new(&self.out, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return NextLine::TimeOver,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return self.ended(),
            }
            let mut buffer = [0; 512];
            match self.out.read(&mut buffer) {
                Ok(count) if count > 0 && self.read.len() < self.max_line => self.read.extend(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return self.ended(),
            }
        }
    }

    /// Waits for the program, which has closed its output or prints something unexpected.
    fn ended(&mut self) -> NextLine {
        let _ = self.child.kill();
        NextLine::Ended { success: self.child.wait().is_ok_and(|status| status.success()) }
    }
}

impl Drop for ProgramLines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// Programs whose output this process does not read.

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
