//! Starting other programs, the workbench among them, reading environment variables, and ending with an exit code.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::arguments::WorkbenchTask;
use crate::workspace::{Profile, Workspace};

/// Returns the exit code of a task. Prints its error, if any.
pub fn exit_code(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns a command for `name`, a path or a program on `PATH`.
#[expect(clippy::disallowed_methods, reason = "xtask is a build tool: starting programs is what it is for")]
pub fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

/// Returns a command for the cargo that started xtask, without what that one has told xtask about its package: some build scripts
/// look at these variables, so that their crates, and all that need them, would be built again after each `cargo xtask`.
pub fn cargo() -> Command {
    let mut cargo = program(var("CARGO").unwrap_or_else(|| "cargo".into()));
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    for (name, _) in std::env::vars_os() {
        if of_package.iter().any(|beginning| name.to_string_lossy().starts_with(beginning)) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Returns what `cargo metadata` prints of the workspace with this manifest.
pub(crate) fn metadata(manifest: &Path, options: &[&str]) -> Result<Value> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1"]).args(options).arg("--manifest-path").arg(manifest);
    serde_json::from_str(&output(&mut metadata)?).context("cannot read cargo metadata")
}

/// Returns an environment variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "xtask is a build tool: it has no Env to be passed")]
pub fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

pub fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&var("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Prints a command, then runs it with the terminal's input and output.
pub fn aloud(command: &mut Command) -> Result<()> {
    writeln!(io::stderr(), "$ {}", line(command))?;
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output; its standard error goes into the error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}: {}", line(command), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote something that is not UTF-8", line(command)))
}

/// Runs a command with `input` on its standard input; returns its standard output.
pub fn feed(command: &mut Command, input: &[u8]) -> Result<String> {
    let mut answer = Vec::with_capacity(4096);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    match child.stdin.take().map(|mut stdin| stdin.write_all(input)) {
        // The empty program ends without reading its input.
        Some(Err(error)) if error.kind() != ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut answer)?;
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Runs a command with `input` on its standard input; returns its standard output, of any bytes.
pub fn filter(command: &mut Command, input: Vec<u8>) -> Result<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let stdin = child.stdin.take();
    // Both sides of the pipe may be full.
    let writer = thread::spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&input)));
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{} ended with {}", line(command), output.status);
    }
    writer.join().expect("writing does not panic")?;
    Ok(output.stdout)
}

/// Tells how far a task of some minutes is.
pub struct Progress {
    steps: usize,
    begun: usize,
    started: Instant,
}

impl Progress {
    /// Begins a task of so many steps.
    pub fn of(steps: usize) -> Self {
        Self { steps, begun: 0, started: Instant::now() }
    }

    /// Prints that the next step begins, and how long the steps before it took.
    pub fn step(&mut self, what: &str) -> Result<()> {
        self.begun += 1;
        let seconds = self.started.elapsed().as_secs();
        let so_far =
            if self.begun == 1 { String::new() } else { format!(", after {} min {} s", seconds / 60, seconds % 60) };
        Ok(writeln!(io::stderr(), "[{}/{}] {what}{so_far}", self.begun, self.steps)?)
    }
}

/// Runs a command without input and output, and kills it after `limit`.
pub fn within(command: &mut Command, limit: Duration) -> Result<()> {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = silent.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!("{} ended with {status}", line(command)),
            None if Instant::now() > deadline => {
                child.kill()?;
                child.wait()?;
                bail!("{} took more than {} s", line(command), limit.as_secs());
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Returns the command as a user would type it, without the program's folder.
fn line(command: &Command) -> String {
    let name = PathBuf::from(command.get_program()).file_name().unwrap_or_default().to_owned();
    let words = std::iter::once(name.as_os_str()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

// Builds and starts the package `xtask-workbench`, which has the tasks that need the runtime, a browser or Claude Code.
//
// It is a package of its own so that the other tasks, `install` first of all, need not wait until all of that is built.

/// The name of the package, and of its executable.
const WORKBENCH: &str = "xtask-workbench";

/// Becomes the workbench, with `arguments`, from which `task` was read; returns only if that fails.
///
/// The process is replaced, so that Ctrl-C reaches one process, and its exit status is that of the task.
pub fn workbench(workspace: &Workspace, task: &WorkbenchTask, arguments: impl Iterator<Item = OsString>) -> Result<()> {
    let folder = workspace.build(WORKBENCH, &["--bin", WORKBENCH], profile(task), None)?;
    let program = folder.join(WORKBENCH);
    let error = self::program(&program).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// Returns the profile that the workbench is built with: that of a release where it measures its own code.
fn profile(task: &WorkbenchTask) -> Profile {
    match task {
        WorkbenchTask::Bench { large: Some(_), quick: true, .. } => Profile::Install,
        WorkbenchTask::Bench { large: Some(_), quick: false, .. } => Profile::Release,
        WorkbenchTask::Bench { .. }
        | WorkbenchTask::Demo { .. }
        | WorkbenchTask::E2e(_)
        | WorkbenchTask::Fuzz { .. }
        | WorkbenchTask::Model(_)
        | WorkbenchTask::Pictures { .. }
        | WorkbenchTask::Recall { .. }
        | WorkbenchTask::Soak { .. } => Profile::Dev,
    }
}
