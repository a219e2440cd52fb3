//! Reads what a child process prints, until a deadline.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::kill_group;
use crate::Error;

/// The exit status of a program, its standard output and its standard error.
pub(crate) type Finished = (ExitStatus, Vec<u8>, Vec<u8>);

/// The first bytes of a program's output.
pub(crate) struct FirstOutput {
    /// `None` if the program was killed because it wrote more.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

/// Runs a command to its end and returns its exit status, its standard output and its standard error.
///
/// Only streams that `command` connects to pipes are read. A command that does not end in time is killed.
pub(crate) fn finish(command: Command, program: &str, limit: Duration) -> Result<Finished, Error> {
    Started::new(command, program, limit)?.finish()
}

/// Runs a command like [`finish`], with an input of any size, which is written while the output is read.
pub(crate) fn finish_with_input(
    mut command: Command,
    program: &str,
    input: &[u8],
    limit: Duration,
) -> Result<Finished, Error> {
    command.stdin(Stdio::piped());
    let mut started = Started::new(command, program, limit)?;
    let stdin = started.child.stdin.take();
    std::thread::scope(|scope| {
        // A program that ends early or is killed closes its input. Its exit status says why.
        scope.spawn(move || stdin.map(|mut pipe| drop(pipe.write_all(input))));
        started.finish()
    })
}

/// Runs a command like [`finish`], and returns at most the first `most` bytes of its output. It must lead its own process
/// group, which is killed with it.
pub(crate) fn finish_bounded(
    command: Command,
    program: &str,
    most: usize,
    limit: Duration,
) -> Result<FirstOutput, Error> {
    Started::new(command, program, limit)?.first(most)
}

/// A command that was started, and must end in time.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    program: String,
    limit: Duration,
    deadline: Instant,
}

impl Started {
    /// Starts a command.
    pub(crate) fn new(mut command: Command, program: &str, limit: Duration) -> Result<Self, Error> {
        let child = command.spawn().map_err(|source| Error::Start { program: program.to_owned(), source })?;
        Ok(Self { child, program: program.to_owned(), limit, deadline: Instant::now() + limit })
    }

    /// Writes a text to its standard input and closes that. The text must fit into the buffer of a pipe.
    pub(super) fn send(&mut self, text: &str) {
        if let Some(mut pipe) = self.child.stdin.take() {
            // The program need not read its input.
            let _ = pipe.write_all(text.as_bytes());
        }
    }

    /// Waits for its end and returns its output. An exit status other than 0 is an error.
    pub(crate) fn output(self) -> Result<String, Error> {
        let program = self.program.clone();
        let (status, out, err) = self.finish()?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&out).into_owned());
        }
        Err(Error::Program { program, message: String::from_utf8_lossy(&err).trim().to_owned() })
    }

    /// Waits for its end and returns its output, and its error message if it failed.
    pub(crate) fn output_and_problem(self) -> Result<(String, Option<String>), Error> {
        let (status, out, err) = self.finish()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(out), (!status.success()).then(|| text(err).trim().to_owned())))
    }

    /// Waits for its end. Kills it if it does not end in time.
    pub(crate) fn finish(mut self) -> Result<Finished, Error> {
        let Some([out, err]) = self.read(usize::MAX) else { return Err(self.kill()) };
        // It has closed its output, so it is about to end.
        Ok((self.wait()?, out, err))
    }

    /// Waits for its end, or for more than `most` bytes of output. Kills it in the second case, and if both take too long.
    fn first(mut self, most: usize) -> Result<FirstOutput, Error> {
        let Some([mut out, err]) = self.read(most) else {
            // Its own programs, too: ssh may have started a proxy.
            kill_group(&mut self.child);
            return Err(self.kill());
        };
        let is_whole = out.len() <= most && err.len() <= most;
        if !is_whole {
            kill_group(&mut self.child);
        }
        let status = self.wait()?;
        out.truncate(most);
        Ok(FirstOutput { status: is_whole.then_some(status), out, err })
    }

    /// Waits for its end and returns both of its outputs; `None` if it takes too long. It then goes on by itself.
    pub(super) fn finish_or_leave(mut self) -> Option<[Vec<u8>; 2]> {
        let read = self.read(usize::MAX)?;
        let _ = self.wait();
        Some(read)
    }

    fn read(&mut self, most: usize) -> Option<[Vec<u8>; 2]> {
        let pipes = [self.child.stdout.take().map(OwnedFd::from), self.child.stderr.take().map(OwnedFd::from)];
        drain(pipes, self.deadline, most)
    }

    fn wait(&mut self) -> Result<ExitStatus, Error> {
        self.child.wait().map_err(|source| Error::Start { program: self.program.clone(), source })
    }

    /// Kills it because its time is up.
    fn kill(mut self) -> Error {
        let _ = self.child.kill();
        let _ = self.child.wait();
        Error::TimedOut { program: self.program, ms: self.limit.as_millis() as u64 }
    }
}

/// Reads both pipes to their end, in the order in which data arrives; `None` when the time is up. Stops early when one of
/// them has delivered more than `most` bytes.
fn drain(pipes: [Option<OwnedFd>; 2], deadline: Instant, most: usize) -> Option<[Vec<u8>; 2]> {
    let mut read = [Vec::new(), Vec::new()];
    let mut open: Vec<(usize, OwnedFd)> =
        pipes.into_iter().enumerate().filter_map(|(at, pipe)| Some((at, pipe?))).collect();
    while !open.is_empty() && read.iter().all(|bytes| bytes.len() <= most) {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds: Vec<PollFd<'_>> = open.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        open.retain(|(at, fd)| {
            if !ready.next().unwrap_or_default() {
                return true;
            }
            read[*at].reserve(8 * 1024);
            match rustix::io::read(fd, rustix::buffer::spare_capacity(&mut read[*at])) {
                Ok(0) => false,
                Ok(_) | Err(Errno::INTR | Errno::AGAIN) => true,
                Err(_) => false,
            }
        });
    }
    Some(read)
}
