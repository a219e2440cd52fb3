//! Runs hooks the way the client does: all of an event at once, payload on stdin, answer on stdout.

use std::env;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use longhaul_core::catalog::{REGISTRATIONS, Registration};
use serde::Deserialize;
use serde_json::Value;

/// How long the client waits for a stdout that outlives its hook.
const ORPHANED_STDOUT: Duration = Duration::from_millis(500);
/// How often a running hook is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Where hooks come from.
pub(crate) enum Source {
    /// `STANDIN_HOOKS`: a file like the plugin's hooks.json.
    File(HooksFile),
    /// `STANDIN_BIN_DIR`: Longhaul's executables.
    Directory(PathBuf),
    /// Neither is set: nothing fires.
    None,
}

/// hooks.json, as far as it matters here.
#[derive(Deserialize)]
pub(crate) struct HooksFile {
    hooks: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: String,
    hooks: Vec<Hook>,
}

/// One program to run.
#[derive(Deserialize, Clone, PartialEq)]
pub(crate) struct Hook {
    command: String,
    /// Present in the exec form; without it `command` is a line for the shell.
    args: Option<Vec<String>>,
    #[serde(default = "default_timeout")]
    timeout: u64,
}

fn default_timeout() -> u64 {
    60
}

/// What one hook did.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct Outcome {
    /// The program.
    pub(crate) command: String,
    /// Its exit status; `None` if it was killed, by the time limit or otherwise, or could not be started.
    pub(crate) status: Option<i32>,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
    /// How long the client had to wait for it.
    pub(crate) ms: u64,
}

impl Outcome {
    /// Returns the answer, if stdout is JSON.
    pub(crate) fn reply(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or(Value::Null)
    }

    /// Says whether the answer is `decision: block`.
    pub(crate) fn blocks(&self) -> bool {
        self.reply()["decision"] == "block"
    }

    /// Returns the reason that the answer gives.
    pub(crate) fn reason(&self) -> String {
        self.reply()["reason"].as_str().unwrap_or_default().to_owned()
    }
}

impl Source {
    /// Reads the environment.
    pub(crate) fn from_env() -> io::Result<Self> {
        if let Some(path) = env::var_os("STANDIN_HOOKS") {
            return Ok(Self::File(serde_json::from_str(&fs::read_to_string(path)?)?));
        }
        Ok(env::var_os("STANDIN_BIN_DIR").map_or(Self::None, |dir| Self::Directory(dir.into())))
    }

    /// Returns the hooks of `event` whose matcher takes `subject`, each once.
    pub(crate) fn hooks(&self, event: &str, subject: &str) -> Vec<Hook> {
        match self {
            Self::File(file) => {
                let groups: Vec<Group> =
                    file.hooks.get(event).and_then(|groups| Group::list(groups).ok()).unwrap_or_default();
                let mut found: Vec<Hook> = Vec::new();
                for hook in groups.into_iter().filter(|group| group.takes(subject)).flat_map(|group| group.hooks) {
                    if !found.contains(&hook) {
                        found.push(hook);
                    }
                }
                found
            }
            Self::Directory(dir) => {
                let registered = REGISTRATIONS.iter().filter(|hook| hook.event.as_str() == event);
                let hook = |hook: &Registration| Hook {
                    command: dir.join(hook.executable).to_string_lossy().into_owned(),
                    args: Some(hook.arguments.iter().map(|argument| (*argument).to_owned()).collect()),
                    timeout: 10,
                };
                registered.map(hook).collect()
            }
            Self::None => Vec::new(),
        }
    }
}

impl Group {
    fn list(groups: &Value) -> serde_json::Result<Vec<Self>> {
        Vec::deserialize(groups)
    }

    /// Says whether the matcher takes `subject`; alternatives are compared whole, as no more is used by plugins here.
    fn takes(&self, subject: &str) -> bool {
        matches!(self.matcher.as_str(), "" | "*") || self.matcher.split('|').any(|name| name == subject)
    }
}

/// Runs `hooks` side by side and returns what they did, in their order.
pub(crate) fn run(hooks: &[Hook], payload: &Value, session_id: &str, cwd: &Path) -> Vec<Outcome> {
    thread::scope(|scope| {
        let running: Vec<_> =
            hooks.iter().map(|hook| scope.spawn(move || hook.run(payload, session_id, cwd))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

impl Hook {
    /// Returns the hook that runs the program at `path` and nothing else.
    pub(crate) fn program(path: &str) -> Self {
        Self { command: path.to_owned(), args: Some(Vec::new()), timeout: default_timeout() }
    }

    fn run(&self, payload: &Value, session_id: &str, cwd: &Path) -> Outcome {
        let began = Instant::now();
        let spawned = self
            .command()
            .current_dir(cwd)
            .env("CLAUDE_PID", std::process::id().to_string())
            .env("CLAUDE_CODE_SESSION_ID", session_id)
            .env("CLAUDE_PROJECT_DIR", cwd)
            .env("CLAUDECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut outcome = match spawned {
            Ok(child) => wait(child, payload.to_string(), began + Duration::from_secs(self.timeout)),
            Err(error) => Outcome { stderr: format!("cannot start {}: {error}", self.command), ..Outcome::default() },
        };
        outcome.command = self.command.clone();
        outcome.ms = began.elapsed().as_millis() as u64;
        outcome
    }

    fn command(&self) -> Command {
        let root = env::var("CLAUDE_PLUGIN_ROOT").unwrap_or_default();
        let fill = |text: &str| text.replace("${CLAUDE_PLUGIN_ROOT}", &root);
        match &self.args {
            Some(args) => {
                let mut command = Command::new(fill(&self.command));
                command.args(args.iter().map(|arg| fill(arg)));
                command
            }
            None => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(fill(&self.command));
                command
            }
        }
    }
}

fn wait(mut child: Child, payload: String, deadline: Instant) -> Outcome {
    if let Some(mut stdin) = child.stdin.take() {
        // A hook may end, or wait, without reading: neither must hold us up.
        thread::spawn(move || stdin.write_all(payload.as_bytes()));
    }
    let stdout = Aside::read(child.stdout.take());
    let stderr = Aside::read(child.stderr.take());
    let mut outcome = Outcome::default();
    let mut closed = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                outcome.status = status.code();
                break;
            }
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break;
            }
        }
        if closed {
            thread::sleep(Duration::from_micros(200));
        } else {
            closed = stdout.is_closed_within(LOOK);
        }
    }
    if !closed {
        stdout.is_closed_within(ORPHANED_STDOUT);
    }
    stderr.is_closed_within(LOOK);
    outcome.stdout = stdout.text();
    outcome.stderr = stderr.text();
    outcome
}

/// A pipe that is read on a thread of its own.
struct Aside {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Aside {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (send, end) = channel();
        let shared = Arc::clone(&bytes);
        thread::spawn(move || {
            let Some(mut pipe) = pipe else { return };
            let mut chunk = [0; 8192];
            while let Ok(length @ 1..) = pipe.read(&mut chunk) {
                lock(&shared).extend_from_slice(&chunk[..length]);
            }
            let _ = send.send(());
        });
        Self { bytes, end }
    }

    fn is_closed_within(&self, patience: Duration) -> bool {
        !matches!(self.end.recv_timeout(patience), Err(RecvTimeoutError::Timeout))
    }

    /// Returns what has come so far.
    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
