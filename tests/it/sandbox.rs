//! A home for one test, and the executables that run in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

use longhaul_core::catalog::{self, COMMAND_LINE, HOOK_EXECUTABLE, REGISTRATIONS};
use longhaul_core::event::EventName;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::poll::DEADLINE;

/// Temporary directories and the environment that executables of a test get. Gone when dropped.
pub(crate) struct Sandbox {
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    /// Makes an empty home. Nothing of the user's environment comes in: of the programs, only those of [`programs`].
    pub(crate) fn new() -> Self {
        // Short, because sockets live below it and their paths may have about a hundred characters.
        let root = tempfile::Builder::new().prefix("lh-").tempdir().expect("cannot make a temporary directory");
        let sandbox = Self { variables: Vec::new(), root };
        for dir in [sandbox.home(), sandbox.project(), sandbox.path("tmp")] {
            fs::create_dir_all(dir).expect("cannot make a directory in the sandbox");
        }
        let text = |path: PathBuf| path.to_str().expect("temporary paths are UTF-8").to_owned();
        let path = text(programs().to_owned());
        let home = text(sandbox.home());
        let data = text(sandbox.data_dir());
        let tmp = text(sandbox.path("tmp"));
        sandbox
            .with_env("PATH", path)
            .with_env("HOME", home)
            .with_env("LONGHAUL_HOME", data)
            .with_env("TMPDIR", tmp)
            .with_env("LANG", "C.UTF-8")
            .with_env("LONGHAUL_PATIENCE", "10")
    }

    /// Gives hooks no more time than they have in a client. Otherwise, no test depends on how far they get in it.
    pub(crate) fn impatient(self) -> Self {
        self.with_env("LONGHAUL_PATIENCE", "1")
    }

    /// Sets a variable for everything started from here on.
    pub(crate) fn with_env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.retain(|(existing, _)| existing != name);
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Puts a folder of programs first on the `PATH`.
    pub(crate) fn with_programs(self, folder: &Path) -> Self {
        let (_, path) = self.variables.iter().find(|(name, _)| name == "PATH").expect("there is a PATH");
        let path = format!("{}:{path}", folder.display());
        self.with_env("PATH", path)
    }

    /// Stops the clock at `ms`.
    pub(crate) fn at(self, ms: u64) -> Self {
        self.with_env("LONGHAUL_NOW_MS", ms.to_string())
    }

    /// Returns a path below the sandbox's root.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Returns `HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns `LONGHAUL_HOME`, which does not exist before an executable makes it.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("data")
    }

    /// Returns the directory in which everything is run.
    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Returns the environment of everything started here.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// Returns a command for any program, in this environment and no other.
    pub(crate) fn program(&self, program: impl AsRef<Path>) -> Command {
        let mut command = tool(program);
        command.envs(self.variables.iter().cloned()).current_dir(self.project());
        command
    }

    /// Returns a command for one of our parts; see [`part`].
    pub(crate) fn executable(&self, name: &str) -> Command {
        let (executable, arguments) = part(name);
        let mut command = self.program(bin_dir().join(executable));
        command.args(arguments);
        command
    }

    /// Returns a command that runs another one as the arguments of `program`, in this environment.
    pub(crate) fn wrapped(&self, program: &str, args: &[&str], command: &Command) -> Command {
        let mut wrapping = self.program(program);
        wrapping.args(args).arg(command.get_program()).args(command.get_args());
        wrapping
    }

    /// Runs the executable of a hook with `payload` on stdin.
    pub(crate) fn hook(&self, executable: &str, payload: impl AsRef<[u8]>) -> Outcome {
        Outcome::of(&mut self.executable(executable), payload.as_ref())
    }

    /// Runs the command line tool.
    pub(crate) fn longhaul(&self, args: &[&str]) -> Outcome {
        Outcome::of(self.executable("longhaul").args(args), b"")
    }

    /// Writes the config file.
    pub(crate) fn write_config(&self, json: &str) {
        fs::create_dir_all(self.data_dir()).expect("cannot make the data directory");
        fs::write(self.data_dir().join("config.json"), json).expect("cannot write the config");
    }

    /// Returns the lines of a session's activity log; none if there is no log.
    pub(crate) fn log_lines(&self, session: &str) -> Vec<String> {
        let path = self.data_dir().join("sessions").join(format!("{session}.log"));
        String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).lines().map(str::to_owned).collect()
    }

    /// Returns how many lines of a session's activity log begin with `letter`.
    pub(crate) fn count_lines(&self, session: &str, letter: &str) -> usize {
        self.log_lines(session).iter().filter(|line| line.split(' ').next() == Some(letter)).count()
    }

    /// Opens the database beside the executables.
    pub(crate) fn database(&self) -> Connection {
        let database = Connection::open(self.data_dir().join("longhaul.db")).unwrap();
        database.busy_timeout(DEADLINE).unwrap();
        database
    }

    /// Returns the first column of a query.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        let database = self.database();
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// Returns the error log; empty if nothing went wrong.
    pub(crate) fn error_log(&self) -> String {
        fs::read_to_string(self.data_dir().join("longhaul.log")).unwrap_or_default()
    }

    /// Fails if anything went wrong but that a hook gave up waiting for the database, as it does beside many others or on a
    /// busy machine; the next one does what is left.
    pub(crate) fn expect_only_waits(&self) {
        let log = self.error_log();
        assert!(log.lines().all(|line| line.ends_with("database is locked")), "{log}");
    }
}

impl Sandbox {
    /// Returns the processes that run in it, or those with this argument; none where there is no /proc.
    pub(crate) fn processes(&self, argument: Option<&str>) -> Vec<Pid> {
        let home = format!("LONGHAUL_HOME={}", self.data_dir().display());
        let has = |process: &fs::DirEntry, file: &str, word: &str| {
            let text = fs::read(process.path().join(file)).unwrap_or_default();
            text.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
        };
        let is_wanted = |process: &fs::DirEntry| {
            argument.is_none_or(|argument| has(process, "cmdline", argument)) && has(process, "environ", &home)
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_wanted);
        processes.filter_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?)).collect()
    }
}

impl Drop for Sandbox {
    /// Ends what still runs in it: a detached process would write into folders that are about to be gone.
    fn drop(&mut self) {
        // Where there is no /proc, they end by themselves.
        for pid in self.processes(None) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit status; `None` after a signal.
    pub(crate) status: Option<i32>,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

impl Outcome {
    /// Runs `command` with `stdin` as its whole input.
    pub(crate) fn of(command: &mut Command, stdin: &[u8]) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let mut pipe = child.stdin.take().expect("stdin is a pipe");
        let input = stdin.to_vec();
        // A program may end without reading its input; that is not for the harness to judge.
        let writer = thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.wait_with_output().expect("cannot wait for a child");
        writer.join().expect("the writer does not panic");
        Self {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Returns stdout as the one JSON object that it must be.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }
}

/// The folders of programs that belong to the system, not to the user.
const SYSTEM_FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Programs that a user may have in another folder: of Homebrew, or of a version manager of Node.
const MAY_BE_ELSEWHERE: [&str; 11] =
    ["tmux", "screen", "git", "git-lfs", "node", "tsc", "chromium", "chromedriver", "dunst", "notify-send", "openssl"];

/// Returns whether a program must be one that the test has made, even if a package has put one into a system folder.
fn is_users_own(name: &str) -> bool {
    name == "claude" || name.starts_with("longhaul") || longhaul_agents::find(name).is_some()
}

/// Returns the folder with links to the programs that tests may find, which is their whole `PATH`.
pub(crate) fn programs() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found =
            |name: &&str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
        let elsewhere: Vec<PathBuf> = MAY_BE_ELSEWHERE.iter().filter_map(found).collect();
        // Made once, and again after a program was installed.
        let mut hasher = DefaultHasher::new();
        let changed = |folder: &&str| fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
        (&elsewhere, SYSTEM_FOLDERS.iter().map(changed).collect::<Vec<_>>()).hash(&mut hasher);
        let below = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = below.join(format!("programs-{:016x}", hasher.finish()));
        if folder.is_dir() {
            return folder;
        }
        let entries = SYSTEM_FOLDERS.iter().rev().flat_map(fs::read_dir).flatten().flatten().map(|entry| entry.path());
        let named = |path: PathBuf| path.file_name().map(|name| (name.to_owned(), path.clone()));
        let links: BTreeMap<OsString, PathBuf> = elsewhere.into_iter().chain(entries).filter_map(named).collect();
        fs::create_dir_all(below).expect("cannot make a folder below target");
        let unfinished = tempfile::tempdir_in(below).expect("cannot make a folder below target");
        for (name, program) in links.iter().filter(|(name, _)| !name.to_str().is_some_and(is_users_own)) {
            symlink(program, unfinished.path().join(name)).expect("cannot link to a program");
        }
        // Another test may have made it meanwhile.
        if fs::rename(unfinished.path(), &folder).is_ok() {
            let _ = unfinished.keep();
        }
        folder
    });
    &FOLDER
}

/// Returns a command for a program of [`programs`], or of any path, without anything of the user's environment.
pub(crate) fn tool(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.env_clear().env("PATH", programs());
    command
}

/// Returns the executable of a part, and the first arguments that it is started with.
///
/// `longhaul-stop` is the hook of Stop, `longhaul-codex` any hook of Codex and `longhaul-agent` one of another agent, whose
/// events follow; `longhaul-worker` is a process that hooks start. An executable itself has no arguments.
pub(crate) fn part(name: &str) -> (&'static str, Vec<String>) {
    if let Some(executable) = catalog::executables(None).find(|executable| *executable == name) {
        return (executable, Vec::new());
    }
    let short = name.strip_prefix("longhaul-").unwrap_or_else(|| panic!("{name} is no part of Longhaul"));
    match short {
        "agent" => (HOOK_EXECUTABLE, Vec::new()),
        "codex" => (HOOK_EXECUTABLE, vec![short.to_owned()]),
        _ if REGISTRATIONS.iter().any(|hook| hook.arguments == [short]) => (HOOK_EXECUTABLE, vec![short.to_owned()]),
        _ => (COMMAND_LINE, vec![format!("run-{short}")]),
    }
}

/// Returns the name of an event's part: `longhaul-stop` for Stop.
pub(crate) fn part_of_event(event: EventName) -> String {
    let registration = REGISTRATIONS.iter().find(|hook| hook.event == event).expect("the event is registered");
    registration.arguments.first().map_or(registration.executable.to_owned(), |name| format!("longhaul-{name}"))
}

/// Returns the name of the part that a recorded payload is for: `longhaul-session-end` for `SessionEnd-clear`.
pub(crate) fn part_of_payload(name: &str) -> String {
    let event = name.split('-').next().unwrap_or(name);
    event.chars().fold("longhaul".to_owned(), |part, c| match c.is_ascii_uppercase() {
        true => format!("{part}-{}", c.to_ascii_lowercase()),
        false => format!("{part}{c}"),
    })
}

/// Returns a part as a line for a shell.
pub(crate) fn shell_line(name: &str) -> String {
    let (executable, arguments) = part(name);
    [&[bin_dir().join(executable).display().to_string()], arguments.as_slice()].concat().join(" ")
}

/// Returns the directory in which all executables lie side by side.
pub(crate) fn bin_dir() -> PathBuf {
    let one = Path::new(env!("CARGO_BIN_EXE_longhaul"));
    one.parent().expect("an executable lies in a directory").to_owned()
}

/// Returns an object with the members of another one put into it.
pub(crate) fn with(mut object: Value, changes: &Value) -> Value {
    if let (Value::Object(object), Value::Object(changes)) = (&mut object, changes) {
        object.extend(changes.clone());
    }
    object
}

/// Returns the recorded payload `name`, with the members of `changes` put into it.
pub(crate) fn payload(name: &str, changes: Value) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/payloads").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    with(serde_json::from_str(&text).expect("recorded payloads are JSON"), &changes).to_string()
}
