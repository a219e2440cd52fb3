//! Runs git with a git folder and an object store of Longhaul, on the files of a user's work tree.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use longhaul_core::Env;

use crate::{Error, git, process};

/// The output of a command, and its messages.
pub type Printed = (Vec<u8>, Vec<u8>);

/// git with a git folder of our own.
///
/// It reads no configuration but that of the git folder, so that nothing of the repository is executed, and writes
/// objects only to the store. The objects of the repository are read as alternates.
#[derive(Debug, Clone)]
pub struct PrivateGit {
    /// The git folder: configuration, index, attributes, ignore rules.
    pub git_dir: PathBuf,
    /// The folder of the files.
    pub work_tree: PathBuf,
    /// The folder to which objects are written.
    pub objects: PathBuf,
    /// The folder of the repository's objects, which is only read; `None` to do without them.
    pub borrowed: Option<PathBuf>,
    /// The time by which every command must have ended.
    pub deadline: Instant,
}

impl PrivateGit {
    /// Runs git with `input` and returns its output. An exit status other than 0 is an error.
    pub fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Error> {
        self.run_with(args, &[], input)
    }

    /// Runs git like [`PrivateGit::run`], with more variables of its environment, such as `GIT_INDEX_FILE`.
    pub fn run_with(&self, args: &[&str], variables: &[(&str, &Path)], input: &[u8]) -> Result<Vec<u8>, Error> {
        let (status, out, err) = self.finish(args, variables, input)?;
        if status.success() { Ok(out) } else { Err(failure(&err)) }
    }

    /// Runs git like [`PrivateGit::run`], and returns its output also if it exits with status 1, which means `no` for some
    /// commands.
    pub fn run_or_no(&self, args: &[&str], variables: &[(&str, &Path)], input: &[u8]) -> Result<Vec<u8>, Error> {
        let (status, out, err) = self.finish(args, variables, input)?;
        if status.success() || status.code() == Some(1) { Ok(out) } else { Err(failure(&err)) }
    }

    /// Runs git with `paths` as its last arguments, and returns at most the first `most` bytes of its output, and whether
    /// that is all of it.
    pub fn run_bounded(&self, args: &[&str], paths: &[&[u8]], most: usize) -> Result<(Vec<u8>, bool), Error> {
        let mut command = self.command(args, &[]);
        command.args(paths.iter().map(|path| OsStr::from_bytes(path)));
        let first = process::finish_bounded(command, "git", most, self.left())?;
        match first.status {
            None => Ok((first.out, false)),
            Some(status) if status.success() => Ok((first.out, true)),
            Some(_) => Err(failure(&first.err)),
        }
    }

    /// Runs git like [`PrivateGit::run`], and returns its output and its messages, such as warnings.
    pub fn run_with_messages(&self, args: &[&str]) -> Result<Printed, Error> {
        let (status, out, err) = self.finish(args, &[], b"")?;
        if status.success() { Ok((out, err)) } else { Err(failure(&err)) }
    }

    /// Runs two commands at the same time. Returns the output of the first, and output and messages of the second.
    pub fn run_both(&self, first: &[&str], second: &[&str]) -> Result<(Vec<u8>, Printed), Error> {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| self.run_with_messages(second));
            let first = self.run(first, b"");
            let second = other.join().unwrap_or_else(|_| Err(failure(b"a thread has panicked")));
            Ok((first?, second?))
        })
    }

    /// Calls `take` with the content of each object, in order. An object that does not exist is an error.
    ///
    /// Each time that git is waited for, it may take as long as was left at the call: what `take` does with a content does not count.
    pub fn contents(
        &self,
        ids: &[String],
        mut take: impl FnMut(usize, u64, &mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        let start = |source| Error::Start { program: "git".to_owned(), source };
        let read = |source| Error::Read { path: self.objects.clone(), source };
        let mut command = self.command(&["cat-file", "--batch"], &[]);
        let limit = self.left();
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(start)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let taken = std::thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut pipe| drop(pipe.write_all(input.as_bytes()))));
            let stdout = stdout.ok_or_else(|| failure(b"no output"))?;
            let pipe = process::LimitedPipe::new(stdout, limit);
            pipe.enlarge();
            let mut output = BufReader::new(pipe);
            let mut each = |at: usize, id: &String, output: &mut BufReader<_>| {
                let mut head = String::new();
                output.read_line(&mut head).map_err(read)?;
                let size =
                    head.trim_end().strip_prefix(id.as_str()).and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
                let Some(size) = size else { return Err(Error::MissingObject { id: id.clone() }) };
                let mut content = output.by_ref().take(size);
                take(at, size, &mut content)?;
                io::copy(&mut content, &mut io::sink()).map_err(read)?;
                output.read_exact(&mut [0]).map_err(read)
            };
            let taken = ids.iter().enumerate().try_for_each(|(at, id)| each(at, id, &mut output));
            if taken.is_err() {
                // It may wait for its output to be read, and the thread for its input.
                let _ = child.kill();
            }
            match taken {
                Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                    Err(Error::TimedOut { program: "git".to_owned(), ms: limit.as_millis() as u64 })
                }
                taken => taken,
            }
        });
        let _ = child.wait();
        taken
    }

    /// Runs git for a person: its output goes to this process's standard output, with the user's colours and pager.
    pub fn show<'a>(&self, env: &Env, args: impl IntoIterator<Item = &'a OsStr>) -> Result<ExitStatus, Error> {
        let mut command = git::shown_command(&self.git_dir, env);
        self.add_objects(&mut command);
        command.args(args).status().map_err(|source| Error::Start { program: "git".to_owned(), source })
    }

    fn finish(
        &self,
        args: &[&str],
        variables: &[(&str, &Path)],
        input: &[u8],
    ) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), Error> {
        process::finish_with_input(self.command(args, variables), "git", input, self.left())
    }

    /// Returns the time until the deadline.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn command(&self, args: &[&str], variables: &[(&str, &Path)]) -> Command {
        let mut command = git::command(&self.git_dir, &self.work_tree);
        self.add_objects(&mut command);
        // Paths are passed as they are, never as patterns. One command does not support that.
        if args.first() != Some(&"check-ignore") {
            command.env("GIT_LITERAL_PATHSPECS", "1");
        }
        // It would read the whole index and use nothing of it.
        if args.first() == Some(&"diff-tree") {
            command.env("GIT_INDEX_FILE", self.git_dir.join("no-index"));
        }
        let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
        command.envs(who.map(|name| (name, "longhaul")));
        command.envs(variables.iter().copied()).args(args).stderr(Stdio::piped());
        command
    }

    fn add_objects(&self, command: &mut Command) {
        command.env("GIT_OBJECT_DIRECTORY", &self.objects);
        if let Some(borrowed) = &self.borrowed {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(borrowed));
        }
    }
}

/// Returns a path quoted as in C, because the list of alternates is divided by colons.
fn quoted(path: &Path) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

fn failure(message: &[u8]) -> Error {
    let text = String::from_utf8_lossy(message);
    Error::Program { program: "git".to_owned(), message: text.trim().to_owned() }
}
