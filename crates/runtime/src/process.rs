//! Other programs: started, waited for, and found.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use longhaul_inject::Step;
use longhaul_tracker::{Process, agent_below, is_below};

use crate::Error;

/// How deep the tree of processes below a pane is searched.
const MAX_DEPTH: usize = 64;

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
fn command(program: &str) -> Command {
    Command::new(program)
}

/// Runs a step to its end and returns what it printed.
///
/// A program that does not end in time is killed: a tmux server that hangs must not take the hook with it.
pub(crate) fn run(step: &Step, limit: Duration) -> Result<String, Error> {
    let (program, args) = step.argv.split_first().map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
    let mut command = command(program);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if step.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    run_command(command, program, step.stdin.as_deref(), limit)
}

/// Runs `git` in a folder and returns what it printed.
pub(crate) fn git(dir: &Path, args: &[&str], limit: Duration) -> Result<String, Error> {
    let mut command = command("git");
    command.arg("-C").arg(dir).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A background query must not take the lock that the user's own git wants.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    run_command(command, "git", None, limit)
}

fn run_command(mut command: Command, program: &str, stdin: Option<&str>, limit: Duration) -> Result<String, Error> {
    let mut child = command.spawn().map_err(|source| Error::Start { program: program.to_owned(), source })?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), stdin) {
        // What the program does not want to read, it does not need.
        let _ = pipe.write_all(text.as_bytes());
    }
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || drain(out));
    let errors = std::thread::spawn(move || drain(err));
    let started = Instant::now();
    let mut pause = Duration::from_micros(200);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < limit => std::thread::sleep(pause),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::TimedOut { program: program.to_owned(), ms: limit.as_millis() as u64 });
            }
        }
        pause = (pause * 2).min(Duration::from_millis(5));
    };
    let (out, err) = (reader.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if status.success() {
        return Ok(out);
    }
    Err(Error::Program { program: program.to_owned(), message: err.trim().to_owned() })
}

fn drain(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Starts one of our own executables and leaves it to itself, with all three streams on /dev/null.
///
/// A child that kept the hook's stdout open would hold up the session. It calls [`leave_session`] itself.
pub(crate) fn spawn_sibling(name: &str, args: &[String]) -> Result<(), Error> {
    let failed = |source| Error::Start { program: name.to_owned(), source };
    let program = sibling(name).map_err(failed)?;
    let mut command = command(&program.to_string_lossy());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(failed)
}

/// Returns the executable `name` that lies beside this one.
fn sibling(name: &str) -> std::io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// Begins a session of its own, so that nothing that ends the hook's ends this process too.
pub(crate) fn leave_session() {
    // It fails only where the process leads a group already, which is as good.
    let _ = rustix::process::setsid();
}

/// Runs the user's own script, detached; the values are only ever its positional arguments.
pub(crate) fn spawn_script(script: &str, values: &[&str]) -> Result<(), Error> {
    let mut command = command("sh");
    command.args(["-c", script, "longhaul"]).args(values).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|source| Error::Start { program: "sh".to_owned(), source })
}

/// Returns whether the client runs below the process `root` of a pane.
///
/// With the client's own pid, its ancestors are followed; without, any agent below the pane will do.
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

/// Reads `/proc/<pid>/stat`; the name in it may itself hold blanks and parentheses.
fn stat(pid: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let arguments = if name == "node" { arguments(pid) } else { String::new() };
    Some(Process { pid, parent, name: name.to_owned(), arguments })
}

fn arguments(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Returns when a process started, in the kernel's own clock ticks.
pub(crate) fn start_ticks(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19).map(str::to_owned)
}

/// Returns whether a process runs.
pub(crate) fn is_alive(pid: u32) -> bool {
    rustix::process::Pid::from_raw(pid as i32).is_some_and(|pid| {
        // One that belongs to somebody else lives, too.
        !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    })
}

/// Returns every process: from `/proc` on Linux, from one `ps` elsewhere.
pub(crate) fn all() -> Vec<Process> {
    if cfg!(target_os = "linux") {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        return entries.filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).collect();
    }
    let step = Step { argv: ["ps", "-axo", "pid=,ppid=,args="].map(str::to_owned).to_vec(), stdin: None };
    let listing = run(&step, Duration::from_millis(500)).unwrap_or_default();
    listing.lines().filter_map(process_of_ps).collect()
}

fn process_of_ps(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let name = words.next()?.rsplit('/').next()?.to_owned();
    Some(Process { pid, parent, name, arguments: words.collect::<Vec<_>>().join(" ") })
}
