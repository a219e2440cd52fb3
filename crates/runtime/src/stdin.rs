//! Reads the payload from standard input, with a deadline of its own.
//!
//! Claude Code's timeout does not end a hook that waits for its input, and the input may never be closed.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

/// How long to wait for more input, when the payload of a hook looks complete but the input is not closed.
const INPUT_QUIET: Duration = Duration::from_millis(50);

/// Maximum size of a payload.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Minimum free capacity of the buffer before a read.
const SMALLEST_READ: usize = 1024;

/// Number of bytes by which the buffer grows.
const LARGEST_READ: usize = 1024 * 1024;

/// A first read of at least this size shows that the pipe was full.
const FULL_PIPE: usize = 16 * 1024;

/// Maximum size of a pipe without special privileges.
#[cfg(target_os = "linux")]
const WIDE_PIPE: usize = 1024 * 1024;

/// Why the payload could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StdinError {
    #[error("no payload came in time")]
    TimedOut,
    #[error("payload is larger than {} MB", MAX_BYTES >> 20)]
    TooLarge,
    #[error("cannot read standard input: {0}")]
    Failed(Errno),
}

/// Reads standard input to its end, or until it contains a complete object and no more data arrives.
pub fn read(deadline: Duration) -> Result<Vec<u8>, StdinError> {
    let stdin = rustix::stdio::stdin();
    let started = Instant::now();
    let mut bytes = Vec::with_capacity(16 * 1024);
    loop {
        let complete = looks_complete(&bytes);
        let left = deadline.saturating_sub(started.elapsed());
        if left.is_zero() && !complete {
            return Err(StdinError::TimedOut);
        }
        if !readable(if complete { left.min(INPUT_QUIET) } else { left })? {
            let parses = || serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_ok();
            if complete && parses() {
                return Ok(bytes);
            }
            if started.elapsed() >= deadline {
                return Err(StdinError::TimedOut);
            }
            continue;
        }
        if bytes.capacity() - bytes.len() < SMALLEST_READ {
            // Growing by less than the size of the pipe would only cause more calls. Unused capacity costs nothing.
            bytes.reserve(LARGEST_READ);
        }
        match rustix::io::read(stdin, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(read) if read == bytes.len() && read >= FULL_PIPE => widen(),
            Ok(_) if bytes.len() > MAX_BYTES => return Err(StdinError::TooLarge),
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(StdinError::Failed(errno)),
        }
    }
}

/// Enlarges the pipe, so that the writer can write more at a time. With a large payload, most of the time is spent
/// waiting for the writer.
fn widen() {
    // If it is not a pipe, or the system refuses, reading continues as before.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(rustix::stdio::stdin(), WIDE_PIPE);
}

/// Returns whether the input may be complete. Checks only the last bytes, because it runs after every read.
fn looks_complete(bytes: &[u8]) -> bool {
    let end = &bytes[bytes.len().saturating_sub(64)..];
    end.trim_ascii_end().last() == Some(&b'}')
}

fn readable(wait: Duration) -> Result<bool, StdinError> {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(StdinError::Failed(errno)),
    }
}
