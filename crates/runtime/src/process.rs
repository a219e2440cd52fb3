//! Starts processes, waits for them, and finds running ones.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use longhaul_core::catalog::COMMAND_LINE;
use longhaul_inject::TerminalCommand;
use longhaul_tracker::{Process, Script, agent_below, is_below};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::time::Timespec;

use crate::Error;
use crate::clock_and_env::patient;
use crate::tied_child::NOT_PASSED_ON;
use crate::tmux::check_socket;

/// How long to wait for `ps`, where there is no `/proc`.
const PS: Duration = Duration::from_millis(500);

/// The search path for programs if `PATH` contains no absolute folder.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Maximum depth of the process tree that is searched.
const MAX_DEPTH: usize = 64;

/// Returns a command for `program`.
///
/// The program, and every program that it starts, is searched only in the absolute folders of `PATH`. A hook runs in
/// the session's folder: with `.` or `./bin` in `PATH`, a file of the project could be started instead of the program.
#[expect(clippy::disallowed_methods, reason = "only this module starts processes")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some(path) = std::env::var_os("PATH").as_deref().and_then(without_relative_folders) {
        command.env("PATH", path);
    }
    command
}

/// Returns `PATH` without its relative folders.
#[expect(clippy::disallowed_methods, reason = "the search path for started programs")]
pub(crate) fn absolute_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    without_relative_folders(&path).unwrap_or(path)
}

/// Returns `path` without its relative folders; `None` if it has none.
fn without_relative_folders(path: &OsStr) -> Option<OsString> {
    if std::env::split_paths(path).all(|dir| dir.is_absolute()) {
        return None;
    }
    let absolute = std::env::join_paths(std::env::split_paths(path).filter(|dir| dir.is_absolute())).ok();
    // An empty PATH would mean the current folder.
    Some(absolute.filter(|path| !path.is_empty()).unwrap_or_else(|| USUAL_PATH.into()))
}

/// Runs a command to its end and returns its output.
///
/// A program that does not end in time is killed, so that a tmux server that hangs cannot block the hook.
pub fn run(step: &TerminalCommand, limit: Duration) -> Result<String, Error> {
    start(step, limit)?.output()
}

/// Starts a command. It runs while the caller does something else.
pub(crate) fn start(step: &TerminalCommand, limit: Duration) -> Result<Started, Error> {
    let (command, program) = command_of(step)?;
    start_command(command, program, step, limit)
}

/// Runs a command like [`run`], in the folder `dir`.
pub fn run_in(dir: &Path, step: &TerminalCommand, limit: Duration) -> Result<String, Error> {
    let (mut command, program) = command_of(step)?;
    command.current_dir(dir);
    start_command(command, program, step, limit)?.output()
}

fn start_command(command: Command, program: &str, step: &TerminalCommand, limit: Duration) -> Result<Started, Error> {
    let mut started = Started::new(command, program, limit)?;
    if let Some(text) = &step.stdin {
        started.send(text);
    }
    Ok(started)
}

/// Runs a command to its end and returns the first `most` bytes of its output. A command that prints more, or that does not
/// end in time, is killed, and that is an error. Its output and its errors are not trusted.
pub fn run_bounded(step: &TerminalCommand, most: usize, limit: Duration) -> Result<Vec<u8>, Error> {
    let (mut command, program) = command_of(step)?;
    // Its own group: a Ctrl-C in the terminal is for this process only.
    command.process_group(0);
    let first = finish_bounded(command, program, most, limit)?;
    let failed = |message: String| Error::Program { program: program.to_owned(), message };
    match first.status {
        Some(status) if status.success() => Ok(first.out),
        Some(_) => Err(failed(longhaul_inject::printable(String::from_utf8_lossy(&first.err).trim()))),
        None => Err(failed(format!("it printed more than {most} bytes"))),
    }
}

/// Kills a child that leads its own process group, with every program of the group.
pub(crate) fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let killed = group.is_some_and(|group| rustix::process::kill_process_group(group, Signal::KILL).is_ok());
    if !killed {
        let _ = child.kill();
    }
}

/// Runs a command in this terminal to its end: it reads the keys, and draws. Returns whether it succeeded.
pub fn run_in_terminal(step: &TerminalCommand) -> Result<bool, Error> {
    let (mut command, program) = command_of(step)?;
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let status = command.status().map_err(|source| Error::Start { program: program.to_owned(), source })?;
    Ok(status.success())
}

/// Returns the command and its program. Refuses tmux at a socket on which another user may listen.
pub(crate) fn command_of(step: &TerminalCommand) -> Result<(Command, &str), Error> {
    step.tmux_socket().map_or(Ok(()), check_socket)?;
    let (program, args) = step.argv.split_first().map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut command = command(program);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if step.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    Ok((command, program))
}

/// Starts a command of `longhaul` in the background.
///
/// A child that kept the hook's standard output open would block Claude Code. The child calls [`leave_session`].
pub fn spawn_own(name: &str, args: &[String]) -> Result<Child, Error> {
    spawn(&mut own_command(name, args)?, name)
}

/// Starts a command of `longhaul` in the background, with a short text as its standard input. It calls
/// [`leave_session`].
pub(crate) fn spawn_own_with(name: &str, args: &[String], input: &str) -> Result<(), Error> {
    let mut child = spawn(own_command(name, args)?.stdin(Stdio::piped()), name)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has ended already needs no input.
        let _ = stdin.write_all(input.as_bytes());
    }
    Ok(())
}

/// Starts a command of `longhaul` in the background, in the folder `dir`. It calls [`leave_session`].
pub(crate) fn spawn_own_in(name: &str, args: &[String], dir: &Path) -> Result<(), Error> {
    spawn(set_folder(&mut own_command(name, args)?, dir), name).map(drop)
}

/// Starts a command of `longhaul` in the background, in the folder `dir`, with these variables of a terminal; `None`
/// unsets one. It calls [`leave_session`].
pub(crate) fn spawn_own_in_terminal(
    name: &str,
    args: &[String],
    dir: &Path,
    terminal: &[(&str, Option<&str>)],
) -> Result<(), Error> {
    let mut command = own_command(name, args)?;
    set_folder(&mut command, dir);
    for (variable, value) in terminal {
        match value {
            Some(value) => command.env(variable, value),
            None => command.env_remove(variable),
        };
    }
    spawn(&mut command, name).map(drop)
}

/// Runs a command of `longhaul` in the folder `dir` and returns what it prints; `None` if it takes too long. It
/// then goes on by itself, because it may be in the middle of a change.
pub(crate) fn ask_own(name: &str, args: &[String], dir: &Path, limit: Duration) -> Result<Option<String>, Error> {
    let mut command = own_command(name, args)?;
    // Its own group, so that it does not end with the hook.
    set_folder(&mut command, dir).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let printed = Started::new(command, name, limit)?.finish_or_leave();
    Ok(printed.map(|both| both.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()))
}

/// Starts a command of `longhaul` in the background, in the folder `dir`, with `stdin` as its standard input.
///
/// It gets none of the variables of the session and terminal of this hook. It calls [`leave_session`].
pub(crate) fn spawn_apart(name: &str, args: &[&str], stdin: impl Into<Stdio>, dir: &Path) -> Result<(), Error> {
    let mut command = own_command(name, args)?;
    set_folder(&mut command, dir).stdin(stdin);
    for variable in NOT_PASSED_ON {
        command.env_remove(variable);
    }
    spawn(&mut command, name).map(drop)
}

/// Makes a command run in the folder `dir`.
///
/// Nothing is set if this process already runs there, as most hooks do: in a statically linked executable, the standard library
/// starts a command with a folder of its own by `fork`, which copies the page tables of this process.
fn set_folder<'c>(command: &'c mut Command, dir: &Path) -> &'c mut Command {
    if std::env::current_dir().is_ok_and(|here| here == dir) { command } else { command.current_dir(dir) }
}

/// Returns the command `name` of `longhaul`, with all three streams connected to /dev/null.
fn own_command<S: AsRef<OsStr>>(name: &str, args: &[S]) -> Result<Command, Error> {
    let executable = std::env::current_exe().map_err(|source| Error::Start { program: name.to_owned(), source })?;
    let mut command = command(executable.with_file_name(COMMAND_LINE));
    command.arg(name).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

fn spawn(command: &mut Command, program: &str) -> Result<Child, Error> {
    command.spawn().map_err(|source| Error::Start { program: program.to_owned(), source })
}

/// Starts a program of the user's desktop in the background.
pub(crate) fn spawn_detached(program: &str, args: &[&str]) -> Result<(), Error> {
    let mut command = command(program);
    command.args(args).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    spawn(&mut command, program).map(drop)
}

/// Starts a new session, so that this process does not end with the session of the hook.
pub fn leave_session() {
    // It fails only if the process already leads a process group, which has the same effect.
    let _ = rustix::process::setsid();
}

/// Starts a script of the user in the background. The values are passed as arguments only.
pub(crate) fn spawn_script(script: &Script, values: &[&str]) -> Result<(), Error> {
    let detached = |program: &str, args: &[&str]| {
        let mut command = command(program);
        command.args(args).args(values).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        spawn(&mut command, program).map(drop)
    };
    match script {
        Script::Shell(text) => detached("sh", &["-c", text, "longhaul"]),
        Script::Program(path) => match detached(path, &[]) {
            // A shell does the same with a script without an interpreter line.
            Err(Error::Start { source, .. }) if source.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
                detached("sh", &[path])
            }
            result => result,
        },
    }
}

/// Returns whether the client runs below the process `root` of a pane.
///
/// If the client's pid is known, its ancestors are checked. Otherwise any client below the pane counts.
pub(crate) fn client_runs_below(root: u32, client: Option<u32>) -> bool {
    match client {
        Some(pid) if cfg!(target_os = "linux") => {
            let parent = |pid: &u32| stat(*pid).map(|process| process.parent);
            std::iter::successors(Some(pid), parent).take(MAX_DEPTH).any(|pid| pid == root)
        }
        Some(pid) => is_below(pid, root, &all()),
        None => agent_below(root, &all()).is_some(),
    }
}

/// Returns the terminal of a process, such as `/dev/pts/3`; `None` if it has none or it is not known.
pub fn tty(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let path = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
        return path.to_str().filter(|path| path.starts_with("/dev/")).map(str::to_owned);
    }
    let step = TerminalCommand::new(["ps", "-o", "tty=", "-p", &pid.to_string()]);
    let name = run(&step, patient(PS)).ok()?;
    Some(name.trim()).filter(|name| !name.is_empty() && !name.starts_with('?')).map(|name| format!("/dev/{name}"))
}

/// Returns the working directory of a process; `None` if the system does not report it.
pub(crate) fn current_dir(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns an environment variable of a process at its start; `None` if the system does not report it.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let assignments = bytes.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let mut values = assignments.filter_map(|entry| entry.strip_prefix(name)?.strip_prefix('='));
    values.find(|value| !value.is_empty()).map(str::to_owned)
}

/// Returns whether a process runs below a zellij server.
pub(crate) fn runs_in_zellij(pid: u32) -> bool {
    ancestors(pid).iter().any(|process| process.name.starts_with("zellij"))
}

/// Returns the processes above `pid`, the nearest first.
pub(crate) fn ancestors(pid: u32) -> Vec<Process> {
    if cfg!(target_os = "linux") {
        let above = |process: &Process| stat(process.parent);
        return stat(pid)
            .and_then(|own| above(&own))
            .into_iter()
            .flat_map(|parent| std::iter::successors(Some(parent), above).take(MAX_DEPTH))
            .collect();
    }
    let all = all();
    let find = |pid: u32| all.iter().find(|process| process.pid == pid);
    let above = |process: &&Process| find(process.parent);
    let parent = find(pid).and_then(|own| above(&own));
    std::iter::successors(parent, above).take(MAX_DEPTH).cloned().collect()
}

/// Returns the arguments of a process; empty if they are not known.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    if cfg!(target_os = "linux") {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        return bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    }
    let step = TerminalCommand::new(["ps", "-o", "args=", "-p", &pid.to_string()]);
    run(&step, patient(PS)).unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

/// Reads `/proc/<pid>/stat`; `None` for a zombie, which nobody may ever wait for. The name in it may contain spaces and
/// parentheses.
fn stat(pid: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    if has_ended(rest) {
        return None;
    }
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    // In newer versions of node, the process name is that of the main thread.
    let may_run_a_client = matches!(name, "node" | "bun" | "MainThread");
    let arguments = if may_run_a_client { arguments(pid) } else { String::new() };
    let mut process = Process::new(pid, parent, name);
    process.arguments = arguments;
    Some(process)
}

fn arguments(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Returns the start time of a process in clock ticks of the kernel.
pub fn start_ticks(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19).map(str::to_owned)
}

/// Returns whether a process is running. A zombie is not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Some(id) = rustix::process::Pid::from_raw(pid as i32) else { return false };
    // Without permission to signal a process, it exists as well.
    let is_there = !matches!(rustix::process::test_kill_process(id), Err(rustix::io::Errno::SRCH));
    is_there && !is_zombie(pid)
}

/// Returns whether the process with this pid and this start time is running: pids are reused. Without a start time, as on systems
/// without `/proc`, the pid alone decides.
pub fn is_same(pid: u32, started: Option<&str>) -> bool {
    is_alive(pid) && started.is_none_or(|started| start_ticks(pid).as_deref() == Some(started))
}

/// Returns whether a process has ended but was not waited for yet; `false` without `/proc`.
fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| has_ended(rest))
}

/// Returns whether the text that begins with the state of a process is that of one that has ended.
fn has_ended(state: &str) -> bool {
    state.trim_start().starts_with(['Z', 'X'])
}

/// Returns all processes that have not ended: from `/proc` on Linux, from one `ps` elsewhere.
pub(crate) fn all() -> Vec<Process> {
    if cfg!(target_os = "linux") {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        return entries.filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).collect();
    }
    let step = TerminalCommand::new(["ps", "-axo", "pid=,ppid=,stat=,args="]);
    let listing = run(&step, patient(PS)).unwrap_or_default();
    listing.lines().filter_map(process_of_ps).collect()
}

fn process_of_ps(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    words.next().filter(|state| !has_ended(state))?;
    let name = words.next()?.rsplit('/').next()?.to_owned();
    let mut process = Process::new(pid, parent, name);
    process.arguments = words.collect::<Vec<_>>().join(" ");
    Some(process)
}

// What a child process prints, read until a deadline.

/// The exit status of a program, its standard output and its standard error.
type Finished = (ExitStatus, Vec<u8>, Vec<u8>);

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
    pub(crate) fn new(mut command: Command, program: &str, limit: Duration) -> Result<Self, Error> {
        let child = command.spawn().map_err(|source| Error::Start { program: program.to_owned(), source })?;
        Ok(Self { child, program: program.to_owned(), limit, deadline: Instant::now() + limit })
    }

    /// Writes a text to its standard input and closes that. The text must fit into the buffer of a pipe.
    fn send(&mut self, text: &str) {
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
    fn finish_or_leave(mut self) -> Option<[Vec<u8>; 2]> {
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

/// As much as every user may give a pipe.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PIPE_BYTES: usize = 1 << 20;

/// A pipe from a program. A read fails with `TimedOut` if nothing arrives within a limit.
pub(crate) struct LimitedPipe {
    pipe: OwnedFd,
    limit: Duration,
}

impl LimitedPipe {
    pub(crate) fn new(pipe: impl Into<OwnedFd>, limit: Duration) -> Self {
        Self { pipe: pipe.into(), limit }
    }

    /// Lets the program work ahead while what it has written is used, where the system can: a pipe holds 64 KB otherwise.
    pub(crate) fn enlarge(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = rustix::pipe::fcntl_setpipe_size(&self.pipe, PIPE_BYTES);
    }
}

impl Read for LimitedPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&timespec(self.limit))) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => Ok(rustix::io::read(&self.pipe, buffer)?),
            Err(error) => Err(error.into()),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// Reads both pipes to their end, in the order in which data arrives; `None` when the time is up. Stops early when one of
/// them has delivered more than `most` bytes.
fn drain(pipes: [Option<OwnedFd>; 2], deadline: Instant, most: usize) -> Option<[Vec<u8>; 2]> {
    let mut read = [Vec::new(), Vec::new()];
    let mut open: Vec<(usize, OwnedFd)> =
        pipes.into_iter().enumerate().filter_map(|(at, pipe)| Some((at, pipe?))).collect();
    while !open.is_empty() && read.iter().all(|bytes| bytes.len() <= most) {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds: Vec<PollFd<'_>> = open.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timespec(left))) {
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
