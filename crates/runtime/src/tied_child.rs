//! A child process that is killed when its parent ends or no longer needs it.
//!
//! Between parent and child runs a guard, which is the worker with another argument. It reads from a pipe that
//! closes when the parent closes it or dies for any reason, and then kills the whole process group of the child. This
//! works even if the parent is killed by SIGKILL.

use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::{Error, process, worker};

/// How long to wait for a child process that is killed when its parent dies, until it is dead.
const TIED_CHILD_KILLED: Duration = Duration::from_secs(5);

const GUARD: &str = "guard";

/// Maximum number of bytes read from the output of a program.
const MAX_OUTPUT: u64 = 4 * 1024 * 1024;

/// Interval at which `is_wanted` is called.
const PAUSE: Duration = Duration::from_millis(50);

/// Variables of the session and the terminal from which this process was started. The program does not get them,
/// because it belongs to neither.
pub(crate) const NOT_PASSED_ON: [&str; 13] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "STY",
    "TERM_PROGRAM",
    "TMUX",
    "TMUX_PANE",
    "WINDOW",
];

/// The result of a program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The exit status; `None` after a signal.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Why a program did not end normally.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    #[error(transparent)]
    Start(#[from] Error),
    #[error("{program} did not answer within {seconds} s")]
    TimedOut { program: String, seconds: u64 },
    #[error("{program} was stopped with the worker")]
    NotWanted { program: String },
}

/// Runs a program in `dir`, with Longhaul's hooks switched off, until it ends, the time is up, or it is no longer
/// wanted.
///
/// The guard is this executable, as the worker: its `main` must call [`guard`] before anything else.
pub fn run_guarded(
    argv: &[String],
    dir: &Path,
    stdin: &str,
    limit: Duration,
    is_wanted: impl Fn() -> bool,
) -> Result<Ended, GuardError> {
    let program = argv.first().cloned().unwrap_or_default();
    let failed = |source| Error::Start { program: program.clone(), source };
    crate::files::create_dir(dir)?;
    let deadline = Instant::now() + limit;
    let mut guard = start(argv, dir).map_err(failed)?;
    let mut lifeline = guard.stdin.take();
    if let Some(pipe) = &mut lifeline {
        // If the guard has already ended, its exit status shows that.
        let _ = writeln!(pipe, "{}", stdin.len()).and_then(|()| pipe.write_all(stdin.as_bytes()));
    }
    let (to, from) = mpsc::channel();
    let (out, err) = (guard.stdout.take(), guard.stderr.take());
    thread::spawn(move || {
        let err = thread::spawn(move || read(err));
        let out = read(out);
        let _ = to.send((out, err.join().unwrap_or_default()));
    });
    let printed = loop {
        match from.recv_timeout(PAUSE) {
            Ok(printed) => break Ok(printed),
            Err(RecvTimeoutError::Timeout) if !is_wanted() => break Err(GuardError::NotWanted { program }),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => {
                break Err(GuardError::TimedOut { program, seconds: limit.as_secs() });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break Ok(Default::default()),
        }
    };
    drop(lifeline);
    let status = end(&mut guard);
    printed.map(|(stdout, stderr)| Ended { status, stdout, stderr })
}

fn start(argv: &[String], dir: &Path) -> io::Result<Child> {
    let mut command = process::command(std::env::current_exe()?);
    command.args([worker::COMMAND, GUARD]).args(argv).current_dir(dir).env("LONGHAUL_DISABLE", "1");
    for name in NOT_PASSED_ON {
        command.env_remove(name);
    }
    // A process group of its own: Ctrl-C in the worker's terminal reaches only the worker, which then closes the pipe.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
        // The rest is read as well, because a program whose output is not read would block.
        let _ = io::copy(&mut pipe, &mut io::sink());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn end(guard: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + TIED_CHILD_KILLED;
    while Instant::now() < deadline {
        match guard.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            Err(_) => return None,
        }
    }
    let _ = guard.kill();
    guard.wait().ok().and_then(|status| status.code())
}

/// Runs as the guard if the arguments of this process say so; otherwise returns `None`.
pub fn guard(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let mut args = args.into_iter();
    if args.next().as_deref() != Some(GUARD) {
        return None;
    }
    let argv: Vec<String> = args.collect();
    Some(stand_guard(&argv).unwrap_or_else(|error| {
        let program = argv.first().map_or("", String::as_str);
        let _ = writeln!(io::stderr(), "cannot start {program}: {error}");
        ExitCode::from(127)
    }))
}

fn stand_guard(argv: &[String]) -> io::Result<ExitCode> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let text = read_text()?;
    let mut child = process::command(program).args(args).process_group(0).stdin(Stdio::piped()).spawn()?;
    let group = Pid::from_child(&child);
    if let Some(mut pipe) = child.stdin.take() {
        thread::spawn(move || drop(pipe.write_all(&text)));
    }
    thread::spawn(move || {
        // No more data is written, so this ends when the last process with the other end of the pipe has closed it.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = kill_process_group(group, Signal::KILL);
    });
    // The child stays a zombie until its group was killed, so that its pid is not reused before that.
    while waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        .is_err_and(|error| error == rustix::io::Errno::INTR)
    {}
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Reads the input of the program: its length on a line of its own, then the text.
fn read_text() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let length = line.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut text = vec![0; length];
    stdin.read_exact(&mut text)?;
    Ok(text)
}
