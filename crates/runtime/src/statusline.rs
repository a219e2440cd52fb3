//! The status line: runs the user's own command, and passes its output on unchanged. What it gets as input is decided in
//! `bins/src/cli/statusline.rs`.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use longhaul_core::{Env, json_text};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::{Deadline, Error, bounded_read, process};

/// How long to wait for the output of the user's command after it has ended. A process that it left running may still hold
/// the pipe.
const USER_STATUS_LINE_OUTPUT: Duration = Duration::from_millis(50);

/// A running command.
#[derive(Debug)]
pub struct Relay {
    child: Child,
    output: Receiver<Vec<u8>>,
    deadline: Deadline,
}

impl Relay {
    /// Starts `argv` with `input` on its standard input. Standard error is discarded.
    ///
    /// No shell is involved. The command leads its own process group, which is killed if it takes longer than `limit`.
    pub fn start(argv: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Self, Error> {
        let (program, args) = argv.split_first().map_or((OsStr::new(""), &[][..]), |(program, args)| (program, args));
        let mut command = process::command(program);
        command.args(args).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|source| {
            let program = program.to_string_lossy().into_owned();
            Error::Start { program, source }
        })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // Separate threads, because a command need not read its input, nor close its output.
        std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let Some(mut pipe) = stdout else { return };
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, output, deadline: Deadline::after(limit) })
    }

    /// Returns the output when the command has ended or its time is up; `None` if it failed without output.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        let mut printed = Vec::new();
        let mut last_wait = false;
        loop {
            let left = if last_wait { USER_STATUS_LINE_OUTPUT } else { self.deadline.left() };
            // The end of the pipe shows the end of the command. The child is checked only if another process holds the
            // pipe.
            match self.output.recv_timeout(left.min(USER_STATUS_LINE_OUTPUT)) {
                Ok(bytes) => printed.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if last_wait || self.deadline.left().is_zero() => break,
                Err(RecvTimeoutError::Timeout) => last_wait = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)),
            }
        }
        let succeeded = self.end();
        (succeeded || !printed.is_empty()).then_some(printed)
    }

    /// Waits for the end of the command, and kills its group when the time is up. Returns whether it succeeded.
    fn end(&mut self) -> bool {
        // A command that has closed its output may need a moment to end.
        while !self.deadline.left().is_zero() {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return false,
            }
        }
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        false
    }
}

// Whether Claude Code shows Longhaul's status line.

/// The settings files of a project, in the order of their precedence.
const PROJECT_SETTINGS: [&str; 2] = [".claude/settings.local.json", ".claude/settings.json"];

/// Returns whether Claude Code shows `longhaul statusline` without a command of the user inside it.
///
/// As in Claude Code, a project's settings take precedence over the user's.
pub(crate) fn is_shown(env: &Env, project: &Path) -> bool {
    let project = PROJECT_SETTINGS.iter().map(|name| project.join(name));
    let user = env.client_dir.as_ref().map(|dir| dir.join("settings.json"));
    project.chain(user).find_map(|path| command(&path)).is_some_and(|command| is_ours(&command))
}

fn command(settings: &Path) -> Option<String> {
    let bytes = bounded_read::bytes(settings, bounded_read::LARGE).ok()?;
    let settings: Value = json_text::from_file(&bytes).ok()?;
    Some(settings.get("statusLine")?.get("command")?.as_str()?.to_owned())
}

/// Returns whether a command is Longhaul's status line only, with or without options. With a command after `--`, that command's
/// output is shown instead.
fn is_ours(command: &str) -> bool {
    let Some((program, rest)) = command.trim().split_once(" statusline") else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches(['\'', '"']);
    let is_whole_word = rest.is_empty() || rest.starts_with(char::is_whitespace);
    name == "longhaul" && is_whole_word && rest.split_whitespace().all(|word| word != "--")
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn only_our_line_alone_is_ours() {
        for ours in [
            "longhaul statusline",
            "~/.local/bin/longhaul statusline",
            "'/a b/longhaul' statusline ",
            "longhaul statusline --cost",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "my-line",
            "longhaul statusline -- sh -c 'x'",
            "longhaul statusline --cost -- sh -c 'x'",
            "/bin/other statusline --cost",
            "longhaul statuslines",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }
}
